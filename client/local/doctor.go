package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"waymark/client"
	"waymark/internal/temporal/embedded"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/worker/storage"
)

// Doctor checks whether runs can work with these options, and returns what it looked at, in the order in which it did. It leaves nothing
// behind: a server or connection that a check needs is closed again. It does not fail; what it could not find out, also because ctx ended, is a Check as
// well.
func (o Options) Doctor(ctx context.Context) []client.Check {
	return o.checks(ctx, false)
}

// Repair does what Doctor does, and cures what it can: it registers the search attributes that the cluster's namespace does not have.
func (o Options) Repair(ctx context.Context) []client.Check { return o.checks(ctx, true) }

func (o Options) checks(ctx context.Context, repair bool) []client.Check {
	o = o.filled()
	d := doctor{Options: &o, repair: repair}
	checks := d.look(ctx, []look{
		{"program", d.program}, {"state folder", d.state}, {"disk space", d.disk}, {"sqlite", d.sqlite},
		{"locks", d.locks}, {"record", d.record}, {"database", d.database}, {"log", d.log}, {"clock", d.clock}, {"temporal", d.temporal},
	}, []look{
		{"program", d.program}, {"temporal", d.cluster}, {"workers", d.workers}, {"files", d.files}, {"search attributes", d.attributes},
		{"record", d.landscape}, {"database", d.database}, {"log", d.log}, {"payloads", d.payloads}, {"clock", d.clock},
	})
	for _, more := range []*client.Check{d.orders(ctx), d.outputs(ctx), d.archives(ctx), d.triggers(ctx)} {
		if more != nil {
			checks = append(checks, *more)
		}
	}
	return checks
}

// doctor looks at what the options name.
type doctor struct {
	*Options
	repair bool
}

// look is a check by its name.
type look struct {
	name string
	look func(context.Context) client.Check
}

// look makes the checks of a state folder, or of a cluster.
func (d doctor) look(ctx context.Context, here, cluster []look) []client.Check {
	looks := here
	if d.Cluster != nil {
		looks = cluster
	}
	checks := make([]client.Check, len(looks))
	for i, l := range looks {
		if ctx.Err() == nil {
			checks[i] = l.look(ctx)
		}
		if ctx.Err() != nil && checks[i].State != client.Healthy {
			checks[i] = client.Warning("", "interrupted before it was found out: %v", context.Cause(ctx))
		}
		checks[i].Name = l.name
	}
	return checks
}

func (d doctor) program(context.Context) client.Check { return client.Good("%s", d.build()) }

// existing returns the state folder, or the nearest folder above it that is there.
func (d doctor) existing() string {
	folder, err := filepath.Abs(string(d.State))
	for err == nil && !exists(folder) && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder)
	}
	return folder
}

// exists reports whether there is anything at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (d doctor) state(ctx context.Context) client.Check {
	if err := d.State.TooDeep(); err != nil {
		return client.Failure(client.OtherState, "%v", err)
	}
	folder := d.existing()
	probe, err := os.CreateTemp(folder, ".doctor-*")
	if err != nil {
		return client.Failure(client.MakeWritable, "nothing can be written in %s: %v", folder, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return client.Failure(client.FixDisk, "%v", err)
	}
	if !exists(string(d.State)) {
		return client.Good("%s is not there yet; the first run makes it", d.State)
	}
	if path, err := d.unwritable(ctx); err != nil {
		return client.Failure(client.MakeWritable, "%s %s: %v", path, whyUnwritable(err), err)
	}
	return client.Good("%s is writable", d.State)
}

// Free space below which a run is likely to end for want of it, and below which that is worth a word.
const (
	littleBytes = 100 << 20
	scarceBytes = 1 << 30
)

func (d doctor) disk(context.Context) client.Check {
	var disk syscall.Statfs_t
	folder := d.existing()
	if err := syscall.Statfs(folder, &disk); err != nil {
		return client.Warning(client.FixDisk, "free space of %s is unknown: %v", folder, err)
	}
	free := disk.Bavail * uint64(disk.Bsize)
	found := fmt.Sprintf("%d MB free for %s", free/1_000_000, folder)
	switch {
	case free < littleBytes:
		return client.Failure(client.FreeSpace, "%s", found)
	case free < scarceBytes:
		return client.Warning(client.FreeSpace, "%s", found)
	}
	return client.Good("%s", found)
}

func (doctor) sqlite(ctx context.Context) client.Check {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return client.Failure(client.Report, "%v", err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, "select sqlite_version()").Scan(&version); err != nil {
		return client.Failure(client.Report, "%v", err)
	}
	return client.Good("version %s, part of the program", version)
}

func (d doctor) locks(context.Context) client.Check {
	if held := client.Locked(d.databases()); held != "" {
		return client.Warning(client.EndHolder, "%s", held)
	}
	return client.Good("nobody keeps the record or Temporal's database locked")
}

func (d doctor) record(ctx context.Context) client.Check {
	runs, _, place, err := d.runs(ctx)
	switch {
	case d.removed() != nil:
		return client.Failure(client.CureOther, "none at %s, where there was one: see log", pathIn(d.Landscape))
	case err != nil:
		return client.Failure(cureOfRecord(err), "%v", err)
	case place == "":
		return client.Good("none yet; the first run makes it")
	}
	if err := d.withPayloads(ctx, func(*storage.Storage) error { return nil }); err != nil {
		return client.Failure(unlessTold(err, client.FindPayloads), "%s at %s, and of the payloads: %v", text.Count(int64(runs), "run"), place, err)
	}
	return client.Good("%s at %s", text.Count(int64(runs), "run"), place)
}

// cureOfRecord is the cure of a landscape that cannot be opened or asked.
func cureOfRecord(err error) client.Cure {
	if sqlitestore.IsDamage(err) {
		return client.RestoreFile
	}
	return unlessTold(err, client.FindLandscape)
}

// withLandscape opens the landscape, does something with it, and closes it.
func (d doctor) withLandscape(ctx context.Context, do func(*storage.Storage) error) error {
	stores, err := d.openLandscape(ctx)
	if err != nil {
		return err
	}
	err = do(stores)
	if closed := stores.Close(); err == nil {
		err = closed
	}
	return err
}

// withPayloads opens the landscape and the payload store, does something with them, and closes both.
func (d doctor) withPayloads(ctx context.Context, do func(*storage.Storage) error) error {
	return d.withLandscape(ctx, func(stores *storage.Storage) error {
		if err := d.openPayloads(ctx, stores, false); err != nil {
			return err
		}
		return do(stores)
	})
}

// runs returns how many runs are recorded, the last that started, if any, and the place of the landscape, which is empty if there is
// none yet.
func (d doctor) runs(ctx context.Context) (runs int, last []landscape.RunHead, place string, err error) {
	path, elsewhere := storage.LandscapePath(d.Landscape)
	if elsewhere == nil && !exists(path) {
		return 0, nil, "", nil
	}
	err = d.withLandscape(ctx, func(stores *storage.Storage) error {
		place = stores.Place
		if runs, err = stores.Log.CountRuns(ctx); err == nil {
			last, err = stores.Log.RecentRuns(ctx, nil, 1)
		}
		return err
	})
	if elsewhere == nil {
		place = d.Landscape
	}
	return runs, last, place, err
}

// clock compares the clock with the newest recorded time.
func (d doctor) clock(ctx context.Context) client.Check {
	now := time.Now().UTC()
	_, last, _, err := d.runs(ctx)
	if err != nil {
		return client.Warning(client.CureOther, "%s; the record cannot be asked", now.Format(time.RFC3339))
	}
	for _, run := range last {
		if started := run.Started.Time(); started.After(now) {
			return client.Warning(client.SetClock, "it is %s, and run %s began later, at %s", now.Format(time.RFC3339), run.ID, started.Format(time.RFC3339))
		}
	}
	return client.Good("%s", now.Format(time.RFC3339))
}

// temporal starts the embedded server, on the state folder's database if there is one, and stops it.
func (d doctor) temporal(ctx context.Context) client.Check {
	path := d.State.Temporal()
	if !exists(path) {
		folder, err := os.MkdirTemp("", "waymark-doctor-*")
		if err != nil {
			return client.Failure(client.WriteTemporary, "%v", err)
		}
		defer func() { _ = os.RemoveAll(folder) }() // what stays behind is among temporary files
		path = filepath.Join(folder, "temporal.db")
	}
	started := time.Now()
	server, err := embedded.Start(ctx, embedded.Options{DatabasePath: path, Logger: d.Logger})
	if inUse, ok := errors.AsType[*embedded.InUseError](err); ok {
		return client.Warning(client.StopOther, "process %d uses the state folder", inUse.PID)
	}
	if err != nil {
		return client.Failure(client.ReadLog, "does not start: %v", err)
	}
	took := time.Since(started)
	if err := server.Stop(); err != nil {
		return client.Warning(client.ReadLog, "starts, and does not stop cleanly: %v", err)
	}
	return client.Good("starts in %.1f s; nobody else uses the state folder", took.Seconds())
}
