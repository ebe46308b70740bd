// Package storages has every storage that a run may have, for tests that hold what is recorded on one against what is
// recorded on another: the same input leaves the same rows, hashes and ways on all of them.
package storages

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/pgstore"
	"waymark/payload"
	"waymark/payload/cache"
	"waymark/payload/fsstore"
	"waymark/payload/memstore"
	"waymark/payload/s3store"
	"waymark/tests/blank"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
	"waymark/worker/storage"
)

// The names of the storages.
const (
	Memory        = "sqlite+memory" // SQLite on a file system in memory, if there is one, and payloads in the process: quick
	SQLiteFiles   = "sqlite+files"
	PostgresFiles = "postgres+files"
	PostgresS3    = "postgres+s3"
)

// Durable are the names of the storages that keep what they have: those that people use.
var Durable = []string{SQLiteFiles, PostgresFiles, PostgresS3}

// Storage makes landscapes and payload stores of one kind, all empty. It is safe for concurrent use.
type Storage struct {
	Name string

	parent string          // of the folders; empty: that of temporary files
	bucket *buckets.Bucket // nil: there is none
	stores atomic.Int64    // in the bucket so far
}

// Use returns the storage with this name, for as long as the test runs. It starts the servers that the storage needs: the
// package of the test gives its TestMain to services.Main.
func Use(t testing.TB, name string) *Storage {
	t.Helper()
	require.Contains(t, append([]string{Memory}, Durable...), name, "the name of a storage")
	s := &Storage{Name: name}
	if name == PostgresS3 {
		s.bucket = buckets.New(t)
		s.bucket.Setenv(t)
	}
	if _, err := os.Stat("/dev/shm"); err == nil && name == Memory {
		s.parent = "/dev/shm"
	}
	return s
}

// Folder makes a folder where the storage has its files. It is removed when the test ends.
func (s *Storage) Folder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp(s.parent, "waymark-storages-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

// Landscape is an open landscape.
type Landscape struct {
	landscape.Driver
	File string // of SQLite's; else empty

	db       *sql.DB
	mark     string // stands for a parameter of a query
	prepared map[string]*sql.Stmt
}

// Landscape makes a landscape, which is closed when the test ends.
func (s *Storage) Landscape(t testing.TB) *Landscape {
	t.Helper()
	if strings.HasPrefix(s.Name, "postgres+") {
		return onPostgres(t)
	}
	path := filepath.Join(s.Folder(t), "landscape.db")
	driver, err := blank.Open(t.Context(), path)
	require.NoError(t, err)
	l := opened(t, driver, "sqlite", path, "?")
	l.File = path
	return l
}

func onPostgres(t testing.TB) *Landscape {
	t.Helper()
	url := pg.Like(t, "landscape", func(dsn string) error {
		_, _, err := pgstore.Migrate(t.Context(), dsn)
		return err
	}).DSN()
	driver, err := pgstore.Open(t.Context(), url)
	require.NoError(t, err)
	return opened(t, driver, "pgx", url+"&search_path=waymark&jit=off", "$1")
}

func opened(t testing.TB, driver landscape.Driver, kind, place, mark string) *Landscape {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	db, err := sql.Open(kind, place)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &Landscape{Driver: driver, db: db, mark: mark, prepared: map[string]*sql.Stmt{}}
}

// Query calls scan with every row of the result; each ? of the query is the run. Statements are prepared once: reading one with
// several views takes longer than answering it for a short run. It is not safe for concurrent use.
func (l *Landscape) Query(t testing.TB, run, query string, scan func(*sql.Rows) error) {
	t.Helper()
	if l.prepared[query] == nil {
		stmt, err := l.db.Prepare(strings.ReplaceAll(query, "?", l.mark)) //nolint:sqlclosecheck // the next run asks the same, and db closes it
		require.NoError(t, err, query)
		l.prepared[query] = stmt
	}
	rows, err := l.prepared[query].QueryContext(t.Context(), run)
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		require.NoError(t, scan(rows), query)
	}
	require.NoError(t, rows.Err(), query)
}

// RequireViews requires that the views that the driver computes have the rows that the database computes of a run.
func (l *Landscape) RequireViews(t testing.TB, run string) {
	t.Helper()
	landscapetest.RequireViews(t, l.Driver.(landscape.RelationReader), l.db, run)
}

// Payloads makes a payload store, which is closed when the test ends. One that is far away has a cache before it, as it has for
// people.
func (s *Storage) Payloads(t testing.TB) payload.Backend {
	t.Helper()
	switch {
	case s.Name == Memory:
		return new(memstore.Store)
	case s.bucket != nil:
		bucket, err := s3store.Open(t.Context(), s.bucket.URL(fmt.Sprintf("store-%d", s.stores.Add(1))))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, bucket.Close()) })
		return cache.New(bucket, storage.DefaultCacheBytes)
	default:
		objects, err := fsstore.Create(filepath.Join(s.Folder(t), "payloads"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, objects.Close()) })
		return objects
	}
}
