package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
)

// record is the landscape and the payload store of one invocation.
type record struct {
	place    string // of the landscape, for people
	log      *landscape.Log
	payloads *payload.Store
	close    func() error
}

func (c *config) landscapeURL() string {
	return cmp.Or(c.landscape, "sqlite:"+filepath.Join(c.state, "landscape.db"))
}

func (c *config) payloadsURL() string {
	return cmp.Or(c.payloads, "file:"+filepath.Join(c.state, "payloads"))
}

// landscapePath returns the file that the landscape's URL names.
func (c *config) landscapePath() (string, error) {
	return pathOf("--landscape", c.landscapeURL(), "sqlite:PATH")
}

func (c *config) payloadsPath() (string, error) {
	return pathOf("--payloads", c.payloadsURL(), "file:FOLDER")
}

func (c *config) recordPaths() (landscapePath, payloadsPath string, err error) {
	if landscapePath, err = c.landscapePath(); err != nil {
		return "", "", err
	}
	payloadsPath, err = c.payloadsPath()
	return landscapePath, payloadsPath, err
}

// pathOf returns the path in a URL with the scheme of supported, which is the only one. An error does not repeat more of
// the URL than its scheme: it may hold a password.
func pathOf(flag, url, supported string) (string, error) {
	scheme, path, found := strings.Cut(url, ":")
	want, _, _ := strings.Cut(supported, ":")
	switch {
	case !found:
		return "", wrongUsef("%s has no scheme; supported: %s", flag, supported)
	case scheme != want:
		return "", wrongUsef("%s: unknown scheme %q; supported: %s", flag, scheme, supported)
	case path == "":
		return "", wrongUsef("%s names nothing; supported: %s", flag, supported)
	}
	return path, nil
}

// openRecord opens what is there. It creates nothing: no record where one is expected is wrong use.
func (a *app) openRecord(ctx context.Context) (*record, error) {
	landscapePath, payloadsPath, err := a.recordPaths()
	if err != nil {
		return nil, err
	}
	store, err := a.openLandscape(ctx, landscapePath)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(payloadsPath, "objects")); err != nil {
		return nil, errors.Join(wrongUsef("no payloads at %s: say where they are with --payloads file:FOLDER", payloadsPath), store.Close())
	}
	return newRecord(a.logger(), landscapePath, store, payloadsPath, fsstore.Open)
}

// openLandscape opens the landscape that is there.
func (a *app) openLandscape(ctx context.Context, path string) (*sqlitestore.Store, error) {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return nil, wrongUsef("no record at %s: run a pipeline first, or say where it is with --state FOLDER or --landscape sqlite:PATH", path)
	case err != nil:
		return nil, wrongUse(err)
	}
	return store, nil
}

// runs returns the runs on record, in no particular order. The payloads need not be there.
func (a *app) runs(ctx context.Context) (runs []landscape.RunHead, err error) {
	path, err := a.landscapePath()
	if err != nil {
		return nil, err
	}
	store, err := a.openLandscape(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(err, store.Close) }()
	return landscape.New(store, nil).Runs(ctx)
}

// createRecord opens the record, and makes what is missing.
func (a *app) createRecord(ctx context.Context) (*record, error) {
	landscapePath, payloadsPath, err := a.recordPaths()
	if err != nil {
		return nil, err
	}
	for _, path := range []string{landscapePath, payloadsPath} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, wrongUse(err)
		}
	}
	store, err := sqlitestore.Open(ctx, landscapePath, sqlitestore.Options{Create: true})
	if err != nil {
		return nil, wrongUse(err)
	}
	return newRecord(a.logger(), landscapePath, store, payloadsPath, func(path string) (*fsstore.Store, error) {
		return createObjects(ctx, path)
	})
}

// createObjects opens the payload store, makes it if it is missing, and clears away what killed writers left there.
func createObjects(ctx context.Context, path string) (*fsstore.Store, error) {
	objects, err := fsstore.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err := objects.Sweep(ctx, fsstore.DefaultGrace); err != nil {
		return nil, errors.Join(err, objects.Close())
	}
	return objects, nil
}

func newRecord(logger *slog.Logger, place string, store *sqlitestore.Store, payloadsPath string, open func(string) (*fsstore.Store, error)) (*record, error) {
	objects, err := open(payloadsPath)
	if err != nil {
		return nil, errors.Join(wrongUse(err), store.Close())
	}
	log := landscape.New(store, nil)
	onHeal := func(heal payload.Heal) {
		// The good bytes are in place: a report that is lost is no reason to fail the run.
		if err := log.RecordHeal(context.Background(), string(heal.Digest), heal.Reason, heal.Place); err != nil {
			logger.Error("a healed payload is not on record", "digest", heal.Digest, "error", err)
		}
	}
	return &record{
		place: place, log: log, payloads: payload.New(objects, payload.Options{OnHeal: onHeal}),
		close: func() error { return errors.Join(objects.Close(), store.Close()) },
	}, nil
}

// query opens the record and hands it to ask together with the id of the run that word means.
func (a *app) query(ctx context.Context, word string, ask func(*record, landscape.Run) error) (err error) {
	record, err := a.openRecord(ctx)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, record.close) }()
	run, err := record.find(ctx, word)
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

// lastRun is the word for the run that was started last.
const lastRun = "last"

// find returns the run that word means: an id, the beginning of one, or last.
func (r *record) find(ctx context.Context, word string) (landscape.Run, error) {
	if word == lastRun {
		runs, err := r.log.Runs(ctx)
		if err != nil {
			return landscape.Run{}, err
		}
		if len(runs) == 0 {
			return landscape.Run{}, wrongUsef("no run is on record in %s", r.place)
		}
		word = newest(runs)[0].ID
	}
	run, err := r.log.FindRun(ctx, word)
	if errors.Is(err, landscape.ErrNotFound) {
		return run, wrongUsef("no run %q is on record in %s; `waymark runs` lists them", word, r.place)
	}
	if err != nil {
		return run, wrongUse(err)
	}
	return run, nil
}

// auditor returns an Auditor that compiles the documents on record with this machine's environment and secrets.
func (a *app) auditor(r *record) (*audit.Auditor, error) {
	planner, err := a.planner(existingKey)
	if err != nil {
		return nil, err
	}
	return audit.New(r.log, r.payloads, planner), nil
}

// exists reports whether there is anything at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// inState returns the path of a file in the state folder.
func (c *config) inState(name string) string { return filepath.Join(c.state, name) }

// makeState makes the state folder, which is for its owner alone.
func (c *config) makeState() error {
	if err := os.MkdirAll(c.state, 0o700); err != nil {
		return wrongUse(fmt.Errorf("state folder: %w", err))
	}
	return nil
}
