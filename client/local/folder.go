package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/sqlitefile"
	"waymark/internal/temporal/attributes"
	"waymark/internal/temporal/embedded"
	"waymark/worker"
	"waymark/worker/spans"
	"waymark/worker/storage"
)

// Folder is the path of a state folder: what runs leave behind. One process at a time executes runs in it.
type Folder string

// DefaultFolder is where runs leave what they do if nobody says where.
const DefaultFolder Folder = ".waymark"

// File returns the path of a file in the folder; of the folder itself for an empty name.
func (f Folder) File(name string) string { return filepath.Join(string(f), name) }

// Landscape returns the URL of the folder's own landscape.
func (f Folder) Landscape() string { return "sqlite:" + f.File("landscape.db") }

// Payloads returns the URL of the folder's own payload store.
func (f Folder) Payloads() string { return "file:" + f.File("payloads") }

// Temporal returns the path of the database of the folder's Temporal server.
func (f Folder) Temporal() string { return f.File("temporal.db") }

// Keys returns the folder of the keys that sign the log of the folder's landscape.
func (f Folder) Keys() string { return f.File("keys") }

// Spans returns the folder in which spans of the processes that work here wait for their collector.
func (f Folder) Spans() spans.Folder { return spans.Folder(f.File("spans")) }

// Approvers returns the path of the file that says whose SSH keys may sign off runs.
func (f Folder) Approvers() string { return f.File("approvers") }

// Anchor returns the folder's own anchor of that log. It lies beside the record: others are worth more.
func (f Folder) Anchor() string { return f.File("log") }

// Witness returns the folder with the last head of each log that a witness cosigned.
func (f Folder) Witness() string { return f.File("witness") }

// Make makes the folder if it is not there, unless SQLite could open nothing in it. What it has is for its owner alone,
// also what was there.
func (f Folder) Make() error {
	if err := f.make(); err != nil {
		return err
	}
	f.close()
	return nil
}

// make is Make, and leaves what was there as it is, as long as nobody knows whether that is a state folder.
func (f Folder) make() error {
	refused := &client.Error{Kind: client.Invalid, Code: client.InvalidStateFolder}
	if refused.Err = f.TooDeep(); refused.Err != nil {
		refused.Message = fmt.Sprintf("state folder: %v", refused.Err)
		return refused
	}
	err := os.MkdirAll(string(f), 0o700)
	switch {
	case err == nil:
		return nil
	case activities.Full(err):
		return client.UnlessAway(fmt.Errorf("state folder: %w", err))
	case readOnly(err):
		return unwritableState("state folder", err)
	}
	why := err
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		why = path.Err
	}
	refused.Err, refused.Cure, refused.Message = err, client.OtherState, fmt.Sprintf("state folder %s cannot be made: %v", f, why)
	return refused
}

// close takes what is the folder's own from everybody but its owner: the record, what rows were, and keys; and the
// folder, if nothing else is in it. Who owns none of it, or cannot write, leaves it as it is.
func (f Folder) close() {
	within, err := os.ReadDir(string(f))
	if err != nil {
		return
	}
	foreign := false
	for _, entry := range within {
		if f.owns(entry.Name()) {
			ownerOnly(f.File(entry.Name()))
		} else {
			foreign = true
		}
	}
	f.closeDeeper()
	if !foreign {
		ownerOnly(string(f))
	}
}

// closeDeeper is close for what is in folders of the folder: others could read some of the log. What is in those and is
// for its owner alone has been closed with all that it has: it can be much, and each command comes here. A key that
// others can read stays as it is, and is refused.
func (f Folder) closeDeeper() {
	for _, folder := range []string{f.Anchor(), f.Witness(), f.File("payloads")} {
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() { // a link leads to what may be of others
			continue
		}
		within, _ := os.ReadDir(folder)
		for _, entry := range within {
			if info, err := entry.Info(); err == nil && info.Mode().Perm()&others != 0 {
				allOwnerOnly(filepath.Join(folder, entry.Name()))
			}
		}
	}
}

// allOwnerOnly is ownerOnly for a file, or a folder with all that it has. The folder itself comes last: until then it
// is seen that this has not been done.
func allOwnerOnly(path string) {
	_ = filepath.WalkDir(path, func(within string, _ fs.DirEntry, err error) error {
		if err == nil && within != path {
			ownerOnly(within)
		}
		return nil
	})
	ownerOnly(path)
}

// others are the rights of everybody but the owner.
const others fs.FileMode = 0o077

// owns reports whether something of this name in the folder is its own.
func (f Folder) owns(name string) bool {
	path := f.File(name)
	database := func(of string) bool { return strings.HasPrefix(path, of) }
	own := []string{
		f.File("payloads"), f.Keys(), f.Anchor(), f.Witness(), f.Approvers(), f.File(KeyFile), f.File("stdio"),
	}
	return slices.Contains(own, path) || database(f.File("landscape.db")) || database(f.Temporal())
}

// ownerOnly lets nobody but its owner use a file or a folder, and leaves all else alone.
func ownerOnly(path string) {
	info, err := os.Lstat(path)
	if err == nil && (info.IsDir() || info.Mode().IsRegular()) && info.Mode().Perm()&others != 0 {
		_ = os.Chmod(path, info.Mode().Perm()&^others)
	}
}

// unwritableState says what of the state folder this process may not write.
func unwritableState(what string, err error) error {
	return &client.Error{
		Kind: client.Unavailable, Code: client.StateUnwritable, Cure: client.MakeWritable, Err: err,
		Message: fmt.Sprintf("%s: %v", what, err),
	}
}

// TooDeep says that SQLite opens no database in the folder, because its path is too long.
func (f Folder) TooDeep() error {
	_, err := sqlitefile.Path(f.File("landscape.db"))
	return err
}

// Reach connects to the process that executes runs in the folder; nil if none does. The caller closes the Executor. databases are the
// files that runs write there, besides their payloads and outputs.
func (f Folder) Reach(ctx context.Context, databases []string) (*client.Executor, error) {
	process, held, err := embedded.Holder(f.Temporal())
	if err != nil || !held {
		return nil, err
	}
	found := &client.Executor{Process: process.PID, State: f.File(""), Databases: databases, Gone: func() bool {
		now, held, err := embedded.Holder(f.Temporal())
		return err == nil && (!held || process.Address != "" && now != process)
	}}
	if process.Address == "" {
		return found, nil // it has just begun
	}
	ctx, done := context.WithTimeout(ctx, client.AnswerTimeout)
	defer done()
	c, err := embedded.Dial(ctx, process.Address, sdk.Options{})
	if err != nil {
		return nil, fmt.Errorf("process %d uses the state folder and does not answer at %s: %w", process.PID, process.Address, err)
	}
	found.Connection = client.Connect(c, sdk.Options{}, found.Name())
	return found, nil
}

// connect starts the folder's Temporal server in this process, and returns a connection to it and what ends both. turn
// is what take returned, and is released after an error; identity is the name by which the server knows this process; fill adds to
// the options of the connection.
func (f Folder) connect(
	ctx context.Context, turn *embedded.Lock, identity string, logger *slog.Logger, fill func(*sdk.Options),
) (_ *client.Connection, stop func() error, err error) {
	server, err := f.start(ctx, embedded.Options{DatabasePath: f.Temporal(), Lock: turn, Logger: logger})
	if err != nil {
		return nil, nil, err
	}
	o := sdk.Options{Logger: sdklog.NewStructuredLogger(logger), Identity: identity}
	fill(&o)
	c, err := server.Client(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, server.Stop())
	}
	return client.Connect(c, o, "the Temporal server in this process"), func() error {
		c.Close()
		return server.Stop()
	}, nil
}

// start starts the folder's Temporal server.
func (f Folder) start(ctx context.Context, o embedded.Options) (*embedded.Server, error) {
	o.Attributes = attributes.Types()
	server, err := embedded.Start(ctx, o)
	f.close()
	return server, err
}

// Forever is the patience of who waits as long as it takes.
const Forever = embedded.Forever

// Turn says how this process waits for others to execute runs in a state folder. They take turns in the order in which
// they came.
type Turn struct {
	Does     string               // what this process does, for those who wait for it; empty for the program's name
	Patience time.Duration        // how long to wait for others; 0 not at all, and Forever as long as it takes
	Tell     func(message string) // is told once for whom it waits; nil for nothing
}

// take lets this process alone execute runs in the folder. The error is an *Error of kind Busy if another process does,
// and the patience is over, or that executes the runs of others.
func (f Folder) take(ctx context.Context, turn Turn) (*embedded.Lock, error) {
	lock, err := embedded.Take(ctx, f.Temporal(), embedded.Turn{
		Does: cmp.Or(turn.Does, filepath.Base(os.Args[0])), Patience: turn.Patience,
		Waits: func(holder embedded.Process) {
			if turn.Tell != nil {
				turn.Tell(fmt.Sprintf("waiting for %v, which uses %s", holder, f))
			}
		},
	})
	inUse, ok := errors.AsType[*embedded.InUseError](err)
	if !ok {
		return lock, err
	}
	cure := client.StopOther
	if inUse.PID == os.Getpid() {
		cure = client.OtherState
	}
	return nil, &client.Error{Kind: client.Busy, Code: client.StateFolderBusy, Message: inUse.Error(), Cure: cure, Err: inUse}
}

// Server returns where the process that executes runs in the folder executes those of others as well, and from which task queue: one that
// serves. The address is empty if there is none.
func (f Folder) Server() (address, queue string) {
	process, held, err := embedded.Holder(f.Temporal())
	if err != nil || !held || process.Queue == "" {
		return "", ""
	}
	return process.Address, process.Queue
}

// gonePatience is how long a process that serves may be away before it is gone: it may be started again.
const gonePatience = 10 * time.Second

// Gone returns what reports whether the process that serves on the folder ended, and nobody serves there again.
func (f Folder) Gone() func() bool {
	var since time.Time // zero while it serves
	return func() bool {
		now, held, err := embedded.Holder(f.Temporal())
		switch {
		case err != nil || held && (now.Address == "" || now.Queue != ""):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		default:
			return time.Since(since) >= gonePatience
		}
		return false
	}
}

// Reserved returns the places in which no document reads or writes: those of the stores, and what else is the folder's own.
func (f Folder) Reserved(stores storage.Options) worker.Reserved {
	all := worker.Reserved(stores.Reserved())
	all.Files = append(all.Files, storage.Database(f.Temporal())...)
	all.Files = append(all.Files, f.Temporal()+".lock", f.File(KeyFile), f.File("stdio"), string(f.Spans()), f.Keys(), f.Anchor())
	return all
}
