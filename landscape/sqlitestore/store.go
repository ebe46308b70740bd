// Package sqlitestore keeps a landscape in one SQLite file. It needs no cgo.
//
// The file is meant to be read by others while runs are active: `sqlite3 landscape.db` and the views of docs/landscape.md.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"waymark/internal/sqlitefile"
	"waymark/landscape"
	"waymark/landscape/migration"
)

// applicationID marks a SQLite file as a landscape: "Waym". Stored; never change it.
const applicationID = 0x5761796d

const readers = 4

// pageBytes is the page size of a new file. BenchmarkChunk compares sizes with chunks of 32,768 rows, whose columns are
// blobs of 1 MiB.
const pageBytes = 8_192

// Options of a Store.
type Options struct {
	// Create allows Open to make a landscape where there is none. The folder must exist.
	Create bool

	// Keep leaves the schema as it is, whatever it lacks. A file whose schema is of an older version is refused.
	Keep bool
}

// Store is a landscape.Driver over one SQLite file: one connection writes, several read. Other processes may have the
// same file open; a writer waits for another up to ten seconds.
type Store struct {
	path    string
	chain   migration.Chain // what made its schema
	write   *sql.DB
	read    *sql.DB
	reads   statements // on read
	writes  statements // on write
	inserts inserts
	group   group

	checkpoints checkpoints
}

var (
	_ landscape.Driver      = (*Store)(nil)
	_ landscape.TableFinder = (*Store)(nil)
)

// Open opens the landscape at path and brings its schema up to date, unless opts.Keep is set.
//
// The error wraps landscape.ErrNotFound if there is no file and opts.Create is not set: nothing is created then. A
// file that is not a landscape, is damaged, or has a schema that no release of this program or of an older one made, is
// refused and left as it is. It wraps landscape.ErrReadOnly if the schema is not up to date and the file cannot be
// written; a file whose schema is can be opened to read.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	store, err := openAs(ctx, path, opts, known)
	return store, explain(path, err)
}

// openAs is Open for a program that has these migrations.
func openAs(ctx context.Context, path string, opts Options, chain migration.Chain) (*Store, error) {
	store, err := upToDate(ctx, path, chain)
	if store != nil || err != nil {
		return store, err
	}
	fresh, err := inspect(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case fresh && !opts.Create:
		return nil, fmt.Errorf("landscape %s: there is none: %w", path, landscape.ErrNotFound)
	case !fresh:
		if err := judge(ctx, path, chain, opts.Keep); err != nil {
			return nil, err
		}
	}
	return open(ctx, path, fresh, pageBytes, chain)
}

// upToDate returns a Store over a landscape whose schema has the version that the migrations make, and nil over another
// one, and where there is none. Each connection has to read the whole schema: here it is one that stays.
//
// Only SQLite itself opens the file: to close it by other means would let go of the locks of all this process's
// connections to it, and the next process that is done with the landscape would take itself for the last one, and
// remove the write-ahead log.
func upToDate(ctx context.Context, path string, chain migration.Chain) (*Store, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, nil //nolint:nilerr,nilnil // what is done next says what is wrong
	}
	store, err := connected(path, pageBytes, chain)
	if err != nil {
		return nil, err
	}
	var id int64
	var digests string
	const query = `select application_id, (` + migration.Recorded + `) from pragma_application_id`
	if err := store.read.QueryRowContext(ctx, query).Scan(&id, &digests); err == nil && id == applicationID {
		if version, err := chain.Judge(digests); err == nil && version == chain.Version() {
			return store, nil
		}
	}
	return nil, store.Close() // what is done next says what is wrong
}

// inspect reports whether there is nothing at path yet, and refuses what is not a landscape.
func inspect(ctx context.Context, path string) (fresh bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("landscape: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("landscape %s: not a regular file", path)
	case info.Size() == 0:
		return true, nil
	}
	return identify(ctx, path)
}

func open(ctx context.Context, path string, fresh bool, page int, chain migration.Chain) (*Store, error) {
	if fresh {
		if err := create(ctx, path, page); err != nil {
			return nil, err
		}
	}
	if err := migrate(ctx, path, chain); err != nil {
		return nil, err
	}
	return connected(path, page, chain)
}

// connected returns a Store over the file at path as it is.
func connected(path string, page int, chain migration.Chain) (*Store, error) {
	pragmas := append([]string{integrity, fmt.Sprintf("wal_autocheckpoint(%d)", walBytes/page)}, durable...)
	write, err := connect(path, "rw", 0, pragmas...)
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := connect(path, "rw", busyTimeout, integrity, "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	mover, err := connect(path, "rw", 0, append([]string{integrity}, durable...)...)
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	mover.SetMaxOpenConns(1)
	return &Store{path: path, chain: chain, write: write, read: read, checkpoints: checkpoints{db: mover, every: checkpointBytes}}, nil
}

// durable are the pragmas of connections that write. The guards make every insert keep a journal of its own; in memory it
// costs least.
var durable = []string{"journal_mode(wal)", "synchronous(full)", "temp_store(memory)"}

// integrity is the pragma of every connection but that of the migrations.
const integrity = "foreign_keys(1)"

// walBytes is how long the write-ahead log may grow before its pages go into the file.
const walBytes = 64 << 20

// create makes an empty file with this page size, unless another process made one meanwhile. The size must be set on
// its own: the driver sorts pragmas, and after journal_mode it is too late.
func create(ctx context.Context, path string, page int) error {
	db, err := connect(path, "rwc", busyTimeout, integrity, fmt.Sprintf("page_size(%d)", page))
	if err != nil {
		return err
	}
	err = untilFree(ctx, func() error {
		_, err := db.ExecContext(ctx, `pragma journal_mode = wal`)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("landscape %s: %w", path, err)
	}
	_ = os.Chmod(path, 0o600) // for its owner alone, as are the files that SQLite makes beside it: they get its mode
	return nil
}

// untilFree repeats try while another connection is in its way, for as long as busyTimeout. SQLite's own wait does not do. It refuses one of
// two connections that read a file and both want to write it at once, so that the other can go on; that one is to begin again. And it looks ever
// more rarely whether a file is free, at last every 100 ms, so that it misses the gaps of a process that commits without a pause.
func untilFree(ctx context.Context, try func() error) error {
	const pause = 2 * time.Millisecond
	for end := time.Now().Add(busyTimeout); ; {
		err := try()
		if !isBusy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// begin begins a transaction that writes. The connection that writes does not wait by itself.
func (s *Store) begin(ctx context.Context) (tx *sql.Tx, err error) {
	err = untilFree(ctx, func() error {
		tx, err = s.write.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("landscape: begin: %w", err)
	}
	return tx, nil
}

// busyTimeout is how long a connection waits for another one.
const busyTimeout = 10 * time.Second

// connect returns a pool whose connections have these pragmas. Each waits by itself for another one for at most wait.
func connect(path, mode string, wait time.Duration, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}}
	query["_pragma"] = append([]string{fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "recursive_triggers(1)"}, pragmas...)
	uri, err := sqlitefile.URI(path, query)
	if err != nil {
		return nil, fmt.Errorf("landscape: %w", err)
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return nil, fmt.Errorf("landscape %s: %w", path, err)
	}
	return db, nil
}

// Close closes all connections. The last one to close moves the write-ahead log into the file.
func (s *Store) Close() error {
	s.checkpoints.running.Wait()
	return errors.Join(s.checkpoints.db.Close(), s.read.Close(), s.write.Close())
}
