package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
)

// grade is how a check of doctor came out.
type grade string

const (
	gradeOK   grade = "ok"
	gradeWarn grade = "warn" // runs work, and something deserves a look
	gradeFail grade = "fail" // runs will not work
)

// check is one thing that doctor looked at.
type check struct {
	Check  string `json:"check"`
	Grade  grade  `json:"status"`
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"`
}

func ok(format string, args ...any) check {
	return check{Grade: gradeOK, Detail: fmt.Sprintf(format, args...)}
}

func warn(cure, format string, args ...any) check {
	return check{Grade: gradeWarn, Cure: cure, Detail: fmt.Sprintf(format, args...)}
}

func fail(cure, format string, args ...any) check {
	return check{Grade: gradeFail, Cure: cure, Detail: fmt.Sprintf(format, args...)}
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check that runs can work here, and say how to cure what is wrong",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := a.examine(cmd.Context())
			code := exitDone
			lines := make([][]string, len(checks))
			for i, c := range checks {
				if c.Grade == gradeFail {
					code = exitFailed
				}
				lines[i] = []string{string(c.Grade), c.Check, c.Detail, c.Cure}
			}
			return endWith(code, printList(a, checks, func(w io.Writer) error { return table(w, lines...) }))
		},
	}
}

// look is a check by its name.
type look struct {
	name string
	look func(context.Context) check
}

// examine makes every check. It leaves nothing behind.
func (a *app) examine(ctx context.Context) []check {
	looks := []look{
		{"program", a.checkProgram}, {"state folder", a.checkState}, {"disk space", a.checkDisk}, {"sqlite", a.checkSQLite},
		{"locks", a.checkLocks}, {"record", a.checkRecord}, {"clock", a.checkClock}, {"temporal", a.checkTemporal},
	}
	if a.onCluster() {
		looks = []look{
			{"program", a.checkProgram}, {"temporal", a.checkCluster}, {"workers", a.checkWorkers}, {"files", a.checkFiles},
			{"record", a.checkLandscape}, {"payloads", a.checkPayloads}, {"clock", a.checkClock},
		}
	}
	var checks []check
	for _, l := range looks {
		result := l.look(ctx)
		result.Check = l.name
		checks = append(checks, result)
	}
	return checks
}

func (*app) checkProgram(context.Context) check { return ok("%s", thisBuild()) }

// existing returns the state folder, or the nearest folder above it that is there.
func (a *app) existing() string {
	folder, err := filepath.Abs(a.state)
	for err == nil && !exists(folder) && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder)
	}
	return folder
}

func (a *app) checkState(ctx context.Context) check {
	if err := a.folder().TooDeep(); err != nil {
		return fail("name another with --state", "%v", err)
	}
	folder := a.existing()
	probe, err := os.CreateTemp(folder, ".doctor-*")
	if err != nil {
		return fail("make it writable, or name another with --state", "nothing can be written in %s: %v", folder, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fail("look at the disk", "%v", err)
	}
	if !exists(a.state) {
		return ok("%s is not there yet; the first run makes it", a.state)
	}
	if path, err := a.unwritable(ctx); err != nil {
		return fail("make it writable for the user that runs waymark, or name another with --state", "%s %s: %v", path, whyUnwritable(err), err)
	}
	return ok("%s is writable", a.state)
}

// Free space below which a run is likely to end for want of it, and below which that is worth a word.
const (
	littleBytes = 100 << 20
	scarceBytes = 1 << 30
)

func (a *app) checkDisk(context.Context) check {
	var disk syscall.Statfs_t
	folder := a.existing()
	if err := syscall.Statfs(folder, &disk); err != nil {
		return warn("look at the disk", "free space of %s is unknown: %v", folder, err)
	}
	free := disk.Bavail * uint64(disk.Bsize)
	text := fmt.Sprintf("%d MB free for %s", free/1_000_000, folder)
	switch {
	case free < littleBytes:
		return fail("free some, or name another folder with --state", "%s", text)
	case free < scarceBytes:
		return warn("free some, or name another folder with --state", "%s", text)
	}
	return ok("%s", text)
}

func (*app) checkSQLite(ctx context.Context) check {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return fail("report this", "%v", err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, "select sqlite_version()").Scan(&version); err != nil {
		return fail("report this", "%v", err)
	}
	return ok("version %s, part of the program", version)
}

func (a *app) checkLocks(context.Context) check {
	if held := client.Locked(a.databases()); held != "" {
		return warn("let it finish, or end it", "%s", held)
	}
	return ok("nobody keeps the record or Temporal's database locked")
}

func (a *app) checkRecord(ctx context.Context) check {
	runs, place, err := a.runsOnRecord(ctx)
	switch {
	case err != nil:
		return fail(unlessTold(err, "say where the record is with --landscape"), "%v", err)
	case place == "":
		return ok("none yet; the first run makes it")
	}
	if err := a.payloadsThere(ctx); err != nil {
		return fail(unlessTold(err, "say where the payloads are with --payloads"), "%s at %s, and of the payloads: %v", many(int64(len(runs)), "run"), place, err)
	}
	return ok("%s at %s", many(int64(len(runs)), "run"), place)
}

// payloadsThere opens the payloads of the record, and closes both.
func (a *app) payloadsThere(ctx context.Context) error {
	record, err := a.openRecord(ctx)
	if err != nil {
		return err
	}
	return closing(a.openPayloads(ctx, record), record.close)
}

// runsOnRecord returns the runs and the place of the record, which is empty if there is none yet.
func (a *app) runsOnRecord(ctx context.Context) (runs []landscape.RunHead, place string, err error) {
	if path, err := a.landscapePath(); err == nil && !exists(path) {
		return nil, "", nil
	}
	record, err := a.openRecord(ctx)
	if err != nil {
		return nil, "", err
	}
	runs, err = record.log.Runs(ctx)
	place = record.place
	if _, err := a.landscapePath(); err == nil {
		place = a.landscapeURL()
	}
	return runs, place, closing(err, record.close)
}

// checkClock compares the clock with the newest recorded time.
func (a *app) checkClock(ctx context.Context) check {
	now := time.Now().UTC()
	runs, _, err := a.runsOnRecord(ctx)
	if err != nil {
		return warn("cure the record first", "%s; the record cannot be asked", now.Format(time.RFC3339))
	}
	for _, run := range runs {
		if started := run.Started.Time(); started.After(now) {
			return warn("set the clock: times on record would contradict their order",
				"it is %s, and run %s began later, at %s", now.Format(time.RFC3339), run.ID, started.Format(time.RFC3339))
		}
	}
	return ok("%s", now.Format(time.RFC3339))
}

// checkTemporal starts the embedded server, on the state folder's database if there is one, and stops it.
func (a *app) checkTemporal(ctx context.Context) check {
	path := a.folder().Temporal()
	if !exists(path) {
		folder, err := os.MkdirTemp("", "waymark-doctor-*")
		if err != nil {
			return fail("make the folder for temporary files writable", "%v", err)
		}
		defer func() { _ = os.RemoveAll(folder) }() // what stays behind is among temporary files
		path = filepath.Join(folder, "temporal.db")
	}
	started := time.Now()
	server, err := embedded.Start(ctx, embedded.Options{DatabasePath: path, Logger: a.logger()})
	if inUse, ok := errors.AsType[*embedded.InUseError](err); ok {
		return warn("wait for it or stop it before the next run", "process %d uses the state folder", inUse.PID)
	}
	if err != nil {
		return fail("waymark doctor -v shows what it says", "does not start: %v", err)
	}
	took := time.Since(started)
	if err := server.Stop(); err != nil {
		return warn("waymark doctor -v shows what it says", "starts, and does not stop cleanly: %v", err)
	}
	return ok("starts in %.1f s; nobody else uses the state folder", took.Seconds())
}
