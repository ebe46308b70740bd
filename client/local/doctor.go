package local

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/internal/temporal/embedded"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/worker/storage"
)

// Doctor checks whether runs can work with these options, and returns what it looked at, in the order of its list. It leaves nothing
// behind: a server or connection that a check needs is closed again. It does not fail; what it could not find out, also because ctx ended, is a Check as
// well. A service that does not answer is waited for no longer than patience says, by each check on its own.
func (o Options) Doctor(ctx context.Context) []client.Check {
	o = o.filled()
	return doctor{Options: &o, patience: patience}.look(ctx)
}

// Repair does what Doctor does, and cures what it can: it registers the search attributes that the cluster's namespace does not have.
func (o Options) Repair(ctx context.Context) []client.Check {
	o = o.filled()
	return doctor{Options: &o, patience: patience + registered, repair: true}.look(ctx)
}

// How long a check may take: one that asks services, and one that starts Temporal's server here.
const (
	patience      = 8 * time.Second
	startPatience = time.Minute
)

// doctor looks at what the options name.
type doctor struct {
	*Options
	patience time.Duration
	repair   bool
}

// A look is a check by its name.
type look struct {
	name string
	look func(context.Context) client.Check // without a State if there is nothing to say
	late client.Check                       // what is said if it does not answer in time; its Detail says in which
	time time.Duration                      // that it has; 0 for patience
}

// needed is what runs cannot work without, and what cures that.
func needed(name string, cure client.Cure, l func(context.Context) client.Check) look {
	return look{name: name, look: l, late: client.Check{State: client.Unhealthy, Cure: cure}}
}

// useful is what runs can work without, or cannot if something else does not answer either.
func useful(name string, l func(context.Context) client.Check) look {
	return look{name: name, look: l, late: client.Check{State: client.Doubtful, Cure: client.CureOther}}
}

// lateHere advises patience where files of this machine are late: they were not looked for in the wrong place.
func (d doctor) lateHere(looks []look) []look {
	onDisk := []string{"state folder", "disk space", "sqlite", "locks"}
	if strings.HasPrefix(d.Landscape, "sqlite:") {
		onDisk = append(onDisk, "record", "size", "database", "log", "clock")
	}
	for i := range looks {
		if slices.Contains(onDisk, looks[i].name) {
			looks[i].late.Cure = client.LookAgain
		}
	}
	return looks
}

// looks are the checks of a state folder, or of a cluster.
func (d doctor) looks() []look {
	checks := []look{
		useful("program", d.program), needed("temporal", client.NameCluster, d.cluster), useful("workers", d.workers), useful("queues", d.queues), {name: "stuck runs", look: d.stuck}, useful("files", d.files),
		useful("search attributes", d.attributes), useful("codec keys", d.codec), needed("record", client.NameLandscape, d.landscape), useful("size", d.size), useful("database", d.database),
		useful("disk space", d.disk), useful("log", d.log), needed("payloads", client.CheckPayloads, d.payloads), useful("clock", d.clock),
	}
	if d.Cluster == nil {
		starts := needed("temporal", client.ReadLog, d.temporal)
		starts.time = startPatience
		checks = []look{
			useful("program", d.program), useful("state folder", d.state), useful("disk space", d.disk), useful("sqlite", d.sqlite), useful("locks", d.locks),
			needed("record", client.FindLandscape, d.record), useful("size", d.size), useful("database", d.database),
			useful("log", d.log), useful("clock", d.clock), starts,
		}
	}
	return append(d.lateHere(checks),
		look{name: "approvals", look: d.orders},
		look{name: "outputs", look: d.outputs},
		look{name: "archives", look: d.archives},
		look{name: "retention", look: d.retention},
		look{name: "triggers", look: d.triggers},
		look{name: "spans", look: d.spans},
	)
}

// look makes all checks: those of a cluster at once, so that none waits for another, and those of a state folder one after the other, because they look for who holds locks.
func (d doctor) look(ctx context.Context) []client.Check {
	looks := d.looks()
	checks := make([]client.Check, len(looks))
	var all sync.WaitGroup
	for i, l := range looks {
		all.Go(defect.Guard("doctor", func() { checks[i] = d.at(ctx, l) }))
		if d.Cluster == nil {
			all.Wait()
		}
	}
	all.Wait()
	return slices.DeleteFunc(checks, func(c client.Check) bool { return c.State == "" })
}

// at makes one check, as far as that is done in time. One that does not come to an end is left behind, and ends when what it asks does.
func (d doctor) at(ctx context.Context, l look) (check client.Check) {
	defer func() { check.Name = l.name }()
	limit := cmp.Or(l.time, d.patience)
	within, done := context.WithTimeout(ctx, limit)
	defer done()
	type looked struct {
		client.Check
		failed error
	}
	found := make(chan looked, 1)
	go func() {
		var now looked
		now.failed = defect.Catch("doctor", func() error { now.Check = l.look(within); return nil })
		found <- now
	}()
	select {
	case now := <-found:
		if check = now.Check; now.failed != nil {
			return client.Failure(client.Report, "%v", now.failed)
		}
	case <-within.Done():
	}
	switch {
	case within.Err() == nil || check.State == client.Healthy:
		return check
	case ctx.Err() != nil:
		return client.Warning("", "interrupted before it was found out: %v", context.Cause(ctx))
	}
	l.late.Detail = fmt.Sprintf("no answer within %s", limit)
	return l.late
}

func (d doctor) program(context.Context) client.Check { return client.Good("%s", d.build()) }

// existing returns a folder, or the nearest folder above it that is there.
func existing(path string) string {
	folder, err := filepath.Abs(path)
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
	folder := existing(string(d.State))
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

// disk looks at the free space of the disks that runs write to: that of the state folder, and those of the landscape and the payload store, if they are of this machine.
func (d doctor) disk(context.Context) client.Check {
	folders := d.folders()
	if len(folders) == 0 {
		return client.Good("neither the record nor the payloads are on a disk of this machine")
	}
	var least uint64
	var scarcest string
	for _, folder := range folders {
		var disk syscall.Statfs_t
		if err := syscall.Statfs(folder, &disk); err != nil {
			return client.Warning(client.FixDisk, "free space of %s is unknown: %v", folder, err)
		}
		if free := disk.Bavail * uint64(disk.Bsize); scarcest == "" || free < least {
			least, scarcest = free, folder
		}
	}
	found := fmt.Sprintf("%d MB free for %s", least/1_000_000, scarcest)
	switch {
	case least < littleBytes:
		return client.Failure(client.FreeSpace, "%s", found)
	case least < scarceBytes:
		return client.Warning(client.FreeSpace, "%s", found)
	}
	return client.Good("%s", found)
}

// folders are those of this machine that runs write to, or the nearest above them that are there.
func (d doctor) folders() (folders []string) {
	if d.Cluster == nil {
		folders = []string{existing(string(d.State))}
	}
	if path, err := storage.LandscapePath(d.Landscape); err == nil {
		folders = append(folders, existing(filepath.Dir(path)))
	}
	if path, err := storage.PayloadsPath(d.Payloads); err == nil {
		folders = append(folders, existing(path))
	}
	return folders
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
		return client.Failure(client.RestoreLog, "none at %s, where there was one", pathIn(d.Landscape))
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
	switch {
	case sqlitestore.IsDamage(err):
		return client.RestoreFile
	case readOnly(err):
		return client.MakeWritable
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

// now is the time of the landscape's clock.
func (o *Options) now() time.Time {
	if o.Clock != nil {
		return o.Clock().UTC()
	}
	return time.Now().UTC()
}

// clock compares the clock with the newest recorded time.
func (d doctor) clock(ctx context.Context) client.Check {
	_, last, _, err := d.runs(ctx)
	now := d.now() // after the record: meanwhile runs begin
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
	switch {
	case readOnly(err):
		return client.Failure(client.MakeWritable, "does not start: %v", err)
	case err != nil:
		return client.Failure(client.ReadLog, "does not start: %v", err)
	}
	took := time.Since(started)
	if err := server.Stop(); err != nil {
		return client.Warning(client.ReadLog, "starts, and does not stop cleanly: %v", err)
	}
	return client.Good("starts in %.1f s; nobody else uses the state folder", took.Seconds())
}
