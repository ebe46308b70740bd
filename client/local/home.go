// Package local executes runs in this process: Temporal's server, the landscape and the payload store live in a state folder. It is what
// `waymark run` uses, and what a Go program uses that wants the same:
//
//	home, err := local.Open(ctx, local.Options{State: ".waymark"})
//	…
//	defer home.Close()
//	execution, err := home.Start(ctx, client.StartRequest{File: "pipeline.yaml"})
//	…
//	status, err := execution.Wait(ctx)
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"path/filepath"
	"sync"

	"waymark/activities"
	"waymark/audit"
	"waymark/client"
	"waymark/internal/version"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/worker"
	"waymark/worker/storage"
)

// Options say where runs leave what they do, and what their documents may use.
type Options struct {
	State     Folder   // empty for DefaultFolder; it is made if it is not there
	Landscape string   // URL; empty for the one in the state folder
	Payloads  string   // URL; empty for the store in the state folder
	Allow     []string // folders, besides the document's own, that documents may use
	Networks  []string // networks, besides the public web, that documents may lead to, such as "10.0.0.0/8"
	Secrets   string   // folder with one file for each secret; empty for none
	Actor     string   // who does what no request says; empty for the user of the process
	Logger    *slog.Logger
}

// Home is a state folder and what it needs to execute runs. Its methods may be called concurrently. Until the first run is started or
// resumed, other processes may execute runs in the folder; from then on, until Close, this one does.
type Home struct {
	*client.Client
	options Options
	folder  Folder
	stores  *storage.Storage
	planner worker.Planner

	active     sync.Map // ids of runs that are executed
	mu         sync.Mutex
	connection *client.Connection // nil until the first session
	stop       func() error
}

// Open opens the state folder, and makes what is missing in it. Close the Home when its runs have ended.
func Open(ctx context.Context, o Options) (*Home, error) {
	o.State = cmp.Or(o.State, DefaultFolder)
	o.Landscape, o.Payloads = cmp.Or(o.Landscape, o.State.Landscape()), cmp.Or(o.Payloads, o.State.Payloads())
	o.Actor = cmp.Or(o.Actor, userName())
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.State.Make(); err != nil {
		return nil, err
	}
	opening := storage.Options{Landscape: o.Landscape, Payloads: o.Payloads, Create: true, Logger: o.Logger, SQLite: openSQLite}
	planner, err := o.planner(opening)
	if err != nil {
		return nil, err
	}
	stores, err := storage.Open(ctx, opening)
	if err != nil {
		return nil, err
	}
	h := &Home{options: o, folder: o.State, stores: stores, planner: planner}
	h.Client = client.New(stores.Log, stores.Place, h)
	h.Actor = o.Actor
	return h, nil
}

func openSQLite(ctx context.Context, path string, create bool) (landscape.Driver, error) {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Create: create})
	if err != nil {
		return nil, err // not a nil *Store in an interface
	}
	return store, nil
}

func (o Options) planner(stores storage.Options) (worker.Planner, error) {
	key, err := o.State.LastingKey()
	if err != nil {
		return worker.Planner{}, fmt.Errorf("key of the fingerprints: %w", err)
	}
	state, err := filepath.Abs(string(o.State))
	if err != nil {
		return worker.Planner{}, err
	}
	planner := worker.Planner{
		Allow: o.Allow, SecretsDir: o.Secrets, FingerprintKey: key, Stdio: state, Reserved: o.State.Reserved(stores),
	}
	for _, network := range o.Networks {
		if err := planner.AllowNetworks.Set(network); err != nil {
			return planner, &client.Error{Kind: client.Invalid, Message: fmt.Sprintf("network %q: %v", network, err), Err: err}
		}
	}
	return planner, nil
}

// Reserved returns the places in which no document reads or writes: those of the stores, and what else is the folder's own.
func (f Folder) Reserved(stores storage.Options) worker.Reserved {
	all := worker.Reserved(stores.Reserved())
	all.Files = append(all.Files, storage.Database(f.Temporal())...)
	all.Files = append(all.Files, f.Temporal()+".lock", f.File(KeyFile), f.File("stdio"))
	return all
}

func userName() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return "unknown"
}

// Auditor answers questions about rows, and verifies runs.
func (h *Home) Auditor() *audit.Auditor {
	return audit.New(h.stores.Log.Reader, h.stores.Payloads, h.planner)
}

// Close stops the Temporal server and closes the stores. Runs that are still executed are stopped where they are, as by a kill; they can be
// resumed.
func (h *Home) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if h.stop != nil {
		err, h.stop, h.connection = h.stop(), nil, nil
	}
	return errors.Join(err, h.stores.Close())
}

// Executes does what client.Host says. The lock of the state folder says nothing about the runs of a landscape elsewhere.
func (h *Home) Executes(context.Context, string) *bool {
	if !h.private() {
		return nil
	}
	return h.folder.Held()
}

// private reports whether the landscape is the state folder's own.
func (h *Home) private() bool { return h.options.Landscape == h.folder.Landscape() }

// Reach does what client.Host says.
func (h *Home) Reach(ctx context.Context) (*client.Executor, error) {
	return h.folder.Reach(ctx, h.databases())
}

func (h *Home) databases() []string { return Databases(h.folder, h.options.Landscape) }

// Databases returns the files that runs of a state folder write besides their payloads and outputs. landscape is the URL of theirs.
func Databases(folder Folder, landscape string) []string {
	files := []string{folder.Temporal()}
	if path, err := storage.LandscapePath(landscape); err == nil {
		files = append(files, path)
	}
	return files
}

// Session does what client.Host says.
func (h *Home) Session(ctx context.Context, _ client.Purpose) (*client.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.connection == nil {
		identity := activities.Identity(activities.TriggerLibrary, h.options.Actor, client.HostName())
		connection, stop, err := h.folder.Serve(ctx, identity, h.options.Logger)
		if err != nil {
			return nil, err
		}
		h.connection, h.stop = connection, stop
	}
	return &client.Session{
		Connection: h.connection, Log: h.stores.Log, Planner: h.planner, Code: version.This("").Code(), Place: h.stores.Place,
		State: h.folder.File(""), Databases: h.databases(), Private: h.private(), Actor: h.options.Actor,
		Warn:     func(message string) { h.options.Logger.Warn(message) },
		Active:   &h.active,
		Payloads: func(context.Context) (*payload.Store, error) { return h.stores.Payloads, nil },
		Release:  func() error { return nil },
	}, nil
}
