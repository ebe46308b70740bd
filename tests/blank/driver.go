package blank

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// Driver is a landscape of one test, in which nothing is recorded. It has no guards: a test may write what nobody else
// can, and Reset can forget it.
type Driver struct {
	*sqlitestore.Store
	// OnCommit, if not nil, decides whether a transaction is kept and the error that the caller sees: a lost request is
	// (false, err), a lost reply (true, err). It must be set before the first use.
	OnCommit func(landscape.Tx) (keep bool, err error)

	db     *sql.DB     // beside the Store
	forget []*sql.Stmt // forgets what was recorded
}

var _ landscape.Driver = (*Driver)(nil)

// New returns the landscape of a test, which is closed when that ends.
func New(t testing.TB) *Driver {
	t.Helper()
	d := newIn(t, t.TempDir())
	t.Cleanup(func() {
		require.NoError(t, d.db.Close())
		require.NoError(t, d.Close())
	})
	return d
}

func newIn(t testing.TB, folder string) *Driver {
	t.Helper()
	path := filepath.Join(folder, "landscape.db")
	store, err := open(context.Background(), path, unguarded)
	require.NoError(t, err)
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(off)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	return &Driver{Store: store, db: db}
}

// idle are landscapes that tests have given back.
var idle struct {
	sync.Mutex
	drivers []*Driver
}

// Lend returns a landscape that is a test's until that ends, and then another test's: its connections have read the
// schema, and its statements are prepared. It stays open until the process ends, so services.MainInMemory has to remove
// its folder. That of a test that failed is not lent again.
func Lend(t testing.TB) *Driver {
	t.Helper()
	d := returned()
	if d == nil {
		folder, err := os.MkdirTemp("", "lent")
		require.NoError(t, err)
		d = newIn(t, folder)
	} else {
		d.Reset(t)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		idle.Lock()
		defer idle.Unlock()
		idle.drivers = append(idle.drivers, &Driver{Store: d.Store, db: d.db, forget: d.forget})
	})
	return d
}

// returned takes an idle landscape; nil if there is none.
func returned() (d *Driver) {
	idle.Lock()
	defer idle.Unlock()
	if last := len(idle.drivers) - 1; last >= 0 {
		d, idle.drivers = idle.drivers[last], idle.drivers[:last]
	}
	return d
}

// Commit does what landscape.Driver says, unless OnCommit decides otherwise.
func (d *Driver) Commit(ctx context.Context, tx landscape.Tx) error {
	keep, fate := true, error(nil)
	if d.OnCommit != nil {
		keep, fate = d.OnCommit(tx)
	}
	if !keep {
		return fate
	}
	return cmp.Or(fate, d.Store.Commit(ctx, tx)) // also a refusal may be lost
}

// Reset forgets what was recorded, and what decides about commits. It takes a fiftieth of the time of New: a test with
// many cases has one landscape for them.
func (d *Driver) Reset(t testing.TB) {
	t.Helper()
	d.OnCommit = nil
	if d.forget == nil {
		d.prepare(t)
	}
	tx, err := d.db.Begin()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, forget := range d.forget {
		_, err := tx.Stmt(forget).Exec() //nolint:sqlclosecheck // it is closed with the transaction
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
}

func (d *Driver) prepare(t testing.TB) {
	t.Helper()
	statements := []string{"insert into log_head (id, size) values (0, 0)", "insert into outbox_head (id, size, dropped) values (0, 0, 0)"}
	rows, err := d.db.Query("select 'delete from ' || name from sqlite_schema where type = 'table' and name not like 'sqlite_%' " +
		// which have their rows from the beginning
		"and name not in ('goose_db_version', 'schema_versions', 'numbers', 'bytes')")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var statement string
		require.NoError(t, rows.Scan(&statement))
		statements = slices.Insert(statements, 0, statement)
	}
	require.NoError(t, errors.Join(rows.Err(), rows.Close()))
	for _, statement := range statements {
		prepared, err := d.db.Prepare(statement) //nolint:sqlclosecheck // it is closed with the database
		require.NoError(t, err)
		d.forget = append(d.forget, prepared)
	}
}
