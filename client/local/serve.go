package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sdkworker "go.temporal.io/sdk/worker"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/internal/temporal/embedded"
	"waymark/internal/temporal/webui"
	"waymark/worker/daemon"
	"waymark/worker/storage"
)

// Serving says what a process serves on a state folder.
type Serving struct {
	Port   int           // of Temporal on 127.0.0.1; 0 for any free one
	Pages  string        // HOST:PORT of Temporal's web pages; empty for none
	Worker daemon.Config // of the worker; Temporal is set by Serve, and what is empty of the storages is the folder's own
	daemon.Program
	Turn // how it waits for the runs of other processes in the folder; not for a process that serves there

	// Began is called when everything listens, before the worker works, with Temporal's address.
	Began func(temporal string)

	// Beside does something else beside the worker, until ctx ends; nil for nothing. Its error ends the process.
	Beside Beside
}

// Beside is what a process does beside a worker, as that is configured, until ctx ends.
type Beside func(ctx context.Context, worker daemon.Config, logger *slog.Logger) error

// RunBeside works as daemon.Run does, and does something else beside that. The one ends with the other; the error is that of the first.
func RunBeside(ctx context.Context, c daemon.Config, p daemon.Program, beside Beside) error {
	if beside == nil {
		return daemon.Run(ctx, c, p)
	}
	logger, err := daemon.Logger(c, p)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	failed := make(chan error, 1)
	go defect.Guard("api", func() {
		err := defect.Catch("api", func() error { return beside(ctx, c, logger) })
		if err != nil {
			fail(err)
		}
		failed <- err
	})()
	err = daemon.Run(ctx, c, p)
	fail(nil)
	return cmp.Or(<-failed, err)
}

// Serve runs a Temporal server, its web pages and a worker until ctx ends; then the worker lets what it has in hand
// come to its end. Other processes that use the folder start their runs there meanwhile. The error is an *Error of kind
// Busy if another process executes runs in the folder, and does so for longer than it waits, or serves there, and a
// *daemon.UsageError if what a person wrote cannot work.
func (f Folder) Serve(ctx context.Context, s Serving) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	if err := f.make(); err != nil {
		return err
	}
	if err := s.look(ctx, f); err != nil {
		return err
	}
	f.close()
	if s.Worker.OwnKey, err = f.LastingKey(); err != nil {
		return err
	}
	s.Worker.Keys, s.Worker.MakeKeys = cmp.Or(s.Worker.Keys, f.Keys()), true
	s.Worker.Spans = cmp.Or(s.Worker.Spans, string(f.Spans()))
	s.Worker.LogAnchors = append(s.Worker.LogAnchors, f.Anchor())
	s.Worker.Alone = s.Worker.Landscape == f.Landscape()
	// The server has workers of its own. Without a name for the program the SDK would read all of it, to name it.
	sdkworker.SetBinaryChecksum(s.Code)
	turn, err := f.take(ctx, s.Turn)
	switch {
	case err != nil && ctx.Err() != nil: // it was told to end
		return &client.Error{
			Kind: client.Interrupted, Code: client.Stopped, Err: err,
			Message: "stopped before its turn came; nothing was served",
		}
	case err != nil:
		return err
	}
	var past answers
	server, err := f.start(ctx, embedded.Options{
		DatabasePath: f.Temporal(), Lock: turn, Port: s.Port, Schedules: true, Queue: s.Worker.Queue, Asked: past.asked,
	})
	if errors.Is(err, embedded.ErrPortTaken) {
		return &client.Error{Kind: client.Unavailable, Code: client.TemporalUnavailable, Cure: client.OtherPort, Message: err.Error(), Err: err}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	defer past.close()
	if err := past.connect(ctx, server); err != nil {
		return err
	}
	if s.Pages != "" {
		stop, err := webui.Start(ctx, s.Pages, server.Address())
		if err != nil {
			return &client.Error{
				Kind: client.Unavailable, Code: client.PagesUnavailable, Cure: client.OtherPages, Message: fmt.Sprintf("temporal's web pages at %s: %v", s.Pages, err), Err: err,
			}
		}
		defer stop()
	}
	s.Listening = func() { s.Began(server.Address()) }
	s.Worker.Temporal = server.Address()
	ctx, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(defect.Guard("lock", func() { keepLock(ctx, turn, end) }))
	err = RunBeside(ctx, s.Worker, s.Program, s.Beside)
	if other, is := errors.AsType[*client.Error](context.Cause(ctx)); is {
		err = other
	}
	end(nil)
	watch.Wait()
	return err
}

// keepEvery is the time between two looks at the file of the lock.
const keepEvery = 2 * time.Second

// keepLock ends a process that serves, if another one began to because the file of the lock was removed: two servers on
// one database take it from each other all the time, and no run gets on.
func keepLock(ctx context.Context, lock *embedded.Lock, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepEvery):
		}
		if inUse, is := errors.AsType[*embedded.InUseError](lock.Keep()); is {
			end(&client.Error{
				Kind: client.Busy, Code: client.StateFolderBusy, Cure: client.StopOther, Err: inUse,
				Message: inUse.Error() + ": the file of the lock was removed while this one served; this one ends",
			})
			return
		}
	}
}

// look refuses a landscape in a file that is there and cannot be used, before anything starts. The worker looks at one
// in a database, and may wait for it.
func (s *Serving) look(ctx context.Context, f Folder) error {
	if _, err := storage.LandscapePath(s.Worker.Landscape); err != nil {
		return nil //nolint:nilerr // it is in no file
	}
	o := Options{State: f, Landscape: s.Worker.Landscape}
	stores, err := o.openLandscape(ctx)
	if errors.Is(err, storage.ErrNoLandscape) {
		return nil
	}
	if err != nil {
		return err
	}
	return stores.Close()
}

// check refuses what cannot work on any machine, before anything starts.
func (s *Serving) check() error {
	if s.Pages != "" {
		if err := webui.Check(s.Pages); err != nil {
			return &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Cure: client.OtherPages, Message: fmt.Sprintf("temporal's web pages: %v", err), Err: err}
		}
	}
	return daemon.Check(s.Worker, s.Program)
}
