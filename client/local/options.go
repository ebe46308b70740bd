package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"waymark/activities"
	"waymark/audit/retain"
	"waymark/client"
	"waymark/internal/version"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/worker"
	"waymark/worker/storage"
)

// Options say where runs leave what they do, who executes them, and what their documents may use. The zero value is a good one.
type Options struct {
	State     Folder // empty for DefaultFolder
	Landscape string // URL; empty for the one in the state folder
	Payloads  string // URL; empty for the store in the state folder
	Existing  bool   // make nothing before a run is started: it is an error if there is no landscape
	Unchanged bool   // leave the schema of a landscape in a file as it is, also if it is not the newest

	Cluster *client.Cluster // whose workers execute runs; nil if this process does

	Allow    []string // folders, besides the document's own, that documents may use
	Networks []string // networks, besides the public web, that documents may lead to, such as "10.0.0.0/8"
	Secrets  string   // folder with one file for each secret; empty for none
	Profile  string   // of the AWS SDK, with which documents reach buckets; empty for the keys that Env has, or else those of the process
	KeyFile  string   // with the key by which records tell that a secret changed, if workers share one
	Key      string   // the same key; without it and KeyFile it is the state folder's own

	// Confine leaves documents what the operator of a process that serves others names, as daemon.Config does; nil for
	// documents of the caller.
	Confine func(*worker.Planner)

	// Retention are the periods after which servers and workers delete what is due, as far as this process knows:
	// documents may only lengthen them.
	Retention retain.Periods

	Keys       string   // folder of the keys that sign the landscape's log; empty for the one in the state folder, where they are made
	Approvers  string   // file that says whose SSH keys may sign off runs; empty for the one in the state folder, if it is there
	LogAnchors []string // folders and URLs of buckets and witnesses, besides the folder's own, to which the heads of that log go

	Actor   string               // who does what no request says; empty for the user of the process
	Trigger string               // the door through which that is done; empty for activities.TriggerLibrary
	Clock   func() time.Time     // of the landscape, by which what is due is due; nil: time.Now
	Version string               // of the program, for the record; empty for what the Go toolchain wrote into it
	Logger  *slog.Logger         // nil: nothing is logged
	Env     client.Lookup        // where variables of the environment are looked up; nil for nowhere
	Warn    func(message string) // tells people what deserves a look; nil for the Logger

	// Turn is how runs that this process executes wait for other processes that execute runs in the state folder. By
	// default they do not.
	Turn Turn

	// LimitMemory has the garbage collector work harder while this process executes runs, so that its memory stays near what that takes. For
	// programs that do nothing else; a GOMEMLIMIT that is set takes precedence.
	LimitMemory bool
}

// filled returns the options with the defaults in the place of what is empty.
func (o Options) filled() Options {
	o.State = cmp.Or(o.State, DefaultFolder)
	o.Landscape, o.Payloads = cmp.Or(o.Landscape, o.State.Landscape()), cmp.Or(o.Payloads, o.State.Payloads())
	o.Actor, o.Trigger = cmp.Or(o.Actor, User()), cmp.Or(o.Trigger, activities.TriggerLibrary)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Warn == nil {
		o.Warn = func(message string) { o.Logger.Warn(message) }
	}
	return o
}

// User names the user of this process, or its number if nothing does, as in a container that runs as some number.
//
// Temporal's server asks package os/user as well, and does not start without an answer. That package remembers the
// first one, so this function, which is called before, has it see a name in the environment.
func User() string {
	number := fmt.Sprintf("uid %d", os.Getuid())
	if os.Getenv("USER") == "" && os.Setenv("USER", number) == nil {
		defer func() { _ = os.Unsetenv("USER") }()
	}
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return number
}

// identity is the name by which a Temporal server knows this process.
func (o *Options) identity() string {
	return activities.Identity(o.Trigger, o.Actor, client.HostName())
}

// build is the program that does all this.
func (o *Options) build() version.Build { return version.This(o.Version) }

// storage says what the URLs name.
func (o *Options) storage(create bool) storage.Options {
	open := SQLite
	if o.Unchanged {
		open = unchanged
	}
	return storage.Options{Landscape: o.Landscape, Payloads: o.Payloads, Create: create, Logger: o.Logger, Clock: o.Clock, SQLite: open}
}

// SQLite opens a landscape in a file, as storage.Options wants it, and brings its schema up to date.
func SQLite(ctx context.Context, path string, create bool) (landscape.Driver, error) {
	return openSQLite(ctx, path, sqlitestore.Options{Create: create})
}

func unchanged(ctx context.Context, path string, create bool) (landscape.Driver, error) {
	return openSQLite(ctx, path, sqlitestore.Options{Create: create, Keep: true})
}

func openSQLite(ctx context.Context, path string, o sqlitestore.Options) (landscape.Driver, error) {
	store, err := sqlitestore.Open(ctx, path, o)
	if err != nil {
		return nil, err // not a nil *Store in an interface
	}
	return store, nil
}

// openLandscape opens the landscape that is there.
func (o *Options) openLandscape(ctx context.Context) (*storage.Storage, error) {
	stores, err := storage.OpenLandscape(ctx, o.storage(false))
	return stores, o.worded(ctx, err)
}

// openPayloads opens the payload store of a landscape that is open.
func (o *Options) openPayloads(ctx context.Context, stores *storage.Storage, create bool) error {
	return o.worded(ctx, stores.OpenPayloads(ctx, o.storage(create)))
}

// worded says of what could not be opened whose fault that is.
func (o *Options) worded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return client.UnlessStopped(ctx, err)
	}
	_, service := errors.AsType[*storage.ServiceError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrNoLandscape):
		if removed := o.removed(); removed != nil {
			return removed
		}
		return &client.Error{Kind: client.NotFound, Code: client.LandscapeNotFound, Message: "no record at " + pathIn(o.Landscape), Cure: client.FindLandscape, Err: err}
	case errors.Is(err, storage.ErrNoPayloads):
		return &client.Error{Kind: client.NotFound, Code: client.PayloadsNotFound, Message: "no payloads at " + pathIn(o.Payloads), Cure: client.FindPayloads, Err: err}
	case service && !errors.Is(err, landscape.ErrNotFound):
		return &client.Error{Kind: client.Unavailable, Code: client.StorageUnavailable, Message: err.Error(), Cure: client.Diagnose, Err: err}
	case activities.Full(err):
		return client.UnlessAway(err)
	case readOnly(err):
		return &client.Error{Kind: client.Unavailable, Code: client.StorageUnavailable, Message: err.Error(), Cure: client.MakeWritable, Err: err}
	default:
		return &client.Error{Kind: client.Invalid, Code: client.InvalidLandscape, Message: err.Error(), Err: err}
	}
}

// pathIn returns the path in the URL of a file.
func pathIn(url string) string {
	_, path, _ := strings.Cut(url, ":")
	return path
}

// Planner returns what compiles documents with this machine's environment and secrets. To start runs, the state folder must be there: a key
// is made in it, if it has none.
func (o Options) Planner(purpose client.Purpose) (worker.Planner, error) {
	o = o.filled()
	key, err := o.fingerprintKey(purpose)
	if err != nil {
		return worker.Planner{}, fmt.Errorf("key of the fingerprints: %w", err)
	}
	stdio := ""
	if o.Cluster == nil { // its workers have no standard input and output
		if stdio, err = filepath.Abs(string(o.State)); err != nil {
			return worker.Planner{}, err
		}
	}
	credentials, err := worker.DocumentCredentials(o.Profile, o.Env)
	if err != nil {
		return worker.Planner{}, &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: err.Error(), Err: err}
	}
	planner := worker.Planner{
		Allow: o.Allow, SecretsDir: o.Secrets, FingerprintKey: key, Stdio: stdio, Credentials: credentials,
		Reserved: o.State.Reserved(o.storage(false)), Periods: o.Retention,
	}
	for _, network := range o.Networks {
		if err := planner.AllowNetworks.Set(network); err != nil {
			return planner, &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: fmt.Sprintf("network %q: %v", network, err), Err: err}
		}
	}
	if o.Confine != nil {
		o.Confine(&planner)
	}
	return planner, nil
}

// fingerprintKey returns the key that workers share, if one was given, or else that of the state folder.
func (o *Options) fingerprintKey(purpose client.Purpose) ([]byte, error) {
	key, err := worker.FingerprintKey(o.KeyFile, o.Key)
	switch {
	case err != nil:
		return nil, &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: err.Error(), Err: err}
	case key != nil:
		return key, nil
	case purpose == client.ToStart && o.Cluster == nil:
		key, err := o.State.LastingKey()
		if readOnly(err) {
			err = unwritableState("state folder", err)
		}
		return key, err
	default:
		return o.State.Key()
	}
}

// private reports whether the landscape is the state folder's own: then the folder's lock tells who executes its runs.
func (o *Options) private() bool {
	path, err := storage.LandscapePath(o.Landscape)
	return err == nil && filepath.Dir(path) == filepath.Clean(string(o.State))
}

// databases returns the files that runs of the state folder write besides their payloads and outputs; none on a cluster.
func (o *Options) databases() []string {
	if o.Cluster != nil {
		return nil
	}
	files := []string{o.State.Temporal()}
	if path, err := storage.LandscapePath(o.Landscape); err == nil {
		files = append(files, path)
	}
	return files
}
