package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"waymark/audit"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/worker/storage"
)

// record is the landscape and the payload store of one invocation.
type record struct {
	place    string // of the landscape, for people
	log      *landscape.Log
	client   *client.Client // that reads it
	payloads *payload.Store // nil unless it was asked for: most questions and all orders work while it is away
	opened   *storage.Storage
	close    func() error
}

func (c *config) landscapeURL() string {
	return cmp.Or(c.landscape, c.folder().Landscape())
}

func (c *config) payloadsURL() string {
	return cmp.Or(c.payloads, c.folder().Payloads())
}

// landscapePath returns the file that the landscape's URL names; the error says that it names none.
func (c *config) landscapePath() (string, error) {
	path, err := storage.LandscapePath(c.landscapeURL())
	return path, misused(err)
}

// payloadsPath returns the folder that the payload store's URL names; the error says that it names none.
func (c *config) payloadsPath() (string, error) {
	path, err := storage.PayloadsPath(c.payloadsURL())
	return path, misused(err)
}

// misused marks the error as wrong use, unless there is none, or a service is at fault.
func misused(err error) error {
	_, service := errors.AsType[*storage.ServiceError](err)
	if err == nil || service && !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	return wrongUse(err)
}

// storage says what the URLs name.
func (a *app) storage(create bool) storage.Options {
	return storage.Options{
		Landscape: a.landscapeURL(), Payloads: a.payloadsURL(), Create: create, Logger: a.logger(), SQLite: openSQLite(false),
	}
}

// openSQLite returns what opens a landscape in a file, and brings its schema up to date, unless it is to be kept as it is.
func openSQLite(keep bool) func(ctx context.Context, path string, create bool) (landscape.Driver, error) {
	return func(ctx context.Context, path string, create bool) (landscape.Driver, error) {
		store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Create: create, Keep: keep})
		if err != nil {
			return nil, err // not a nil *Store in an interface
		}
		return store, nil
	}
}

// openRecord opens what is there, without the payloads. It creates nothing: no record where one is expected is wrong use.
func (a *app) openRecord(ctx context.Context) (*record, error) {
	return a.openedRecord(storage.OpenLandscape(ctx, a.storage(false)))
}

// openPayloads opens the payloads of a record that was opened without them.
func (a *app) openPayloads(ctx context.Context, r *record) error {
	if r.payloads != nil {
		return nil
	}
	if err := r.opened.OpenPayloads(ctx, a.storage(false)); err != nil {
		return a.misplaced(err)
	}
	r.payloads = r.opened.Payloads
	return nil
}

// createRecord opens the record, and makes what is missing. A process that works for runs itself must be allowed to write it.
func (a *app) createRecord(ctx context.Context) (*record, error) {
	opened, err := storage.Open(ctx, a.storage(true))
	if err == nil {
		if err = a.mayWork(ctx, opened); err != nil {
			err = errors.Join(err, opened.Close())
		}
	}
	return a.openedRecord(opened, err)
}

// mayWork refuses a record that this process may not write, if it works for runs itself. It tells the owner of the record that he
// need not.
func (a *app) mayWork(ctx context.Context, opened *storage.Storage) error {
	if a.onCluster() {
		return nil
	}
	if err := opened.MayWrite(ctx); err != nil {
		return err
	}
	warning, err := opened.OwnerWarning(ctx)
	if warning != "" {
		a.note("%s", warning)
	}
	return err
}

// openedRecord is the record in what was opened, or says why it could not be.
func (a *app) openedRecord(opened *storage.Storage, err error) (*record, error) {
	if err != nil {
		return nil, a.misplaced(err)
	}
	h := &host{app: a}
	return &record{
		place: opened.Place, log: opened.Log, client: client.New(opened.Log, opened.Place, h), payloads: opened.Payloads, opened: opened,
		close: func() error {
			h.close()
			return opened.Close()
		},
	}, nil
}

// misplaced says of what could not be opened how to name another.
func (a *app) misplaced(err error) error {
	switch {
	case errors.Is(err, storage.ErrNoLandscape):
		return wrongUsef("no record at %s: run a pipeline first, or say where it is with --state FOLDER or --landscape sqlite:PATH", pathIn(a.landscapeURL()))
	case errors.Is(err, storage.ErrNoPayloads):
		return wrongUsef("no payloads at %s: say where they are with --payloads file:FOLDER", pathIn(a.payloadsURL()))
	default:
		return misused(err)
	}
}

// pathIn returns the path in the URL of a file.
func pathIn(url string) string {
	_, path, _ := strings.Cut(url, ":")
	return path
}

// query opens the record and hands it to ask together with the id of the run that word means.
func (a *app) query(ctx context.Context, word string, ask func(*record, landscape.Run) error) (err error) {
	record, err := a.openRecord(ctx)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, record.close) }()
	run, err := record.client.Find(ctx, word)
	if err != nil {
		return err
	}
	return ask(record, run)
}

// closing returns err, or else what closing says.
func closing(err error, close func() error) error {
	if closed := close(); err == nil {
		return closed
	}
	return err
}

// auditor returns an Auditor that compiles the documents on record with this machine's environment and secrets.
func (a *app) auditor(ctx context.Context, r *record) (*audit.Auditor, error) {
	if err := a.openPayloads(ctx, r); err != nil {
		return nil, err
	}
	planner, err := a.planner(local.Folder.Key)
	if err != nil {
		return nil, err
	}
	return audit.New(r.log.Reader, r.payloads, planner), nil
}

// exists reports whether there is anything at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// folder is the state folder.
func (c *config) folder() local.Folder { return local.Folder(c.state) }
