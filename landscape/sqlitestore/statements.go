package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"waymark/landscape"
)

// insertRows is how many small records one statement inserts. Measured: the driver's binding is quadratic in the
// parameters.
const insertRows = 32

// wideBytes is the length from which a blob makes a record wide. Measured: with the guards, a statement for each wide record
// costs less than one for several.
const wideBytes = 1024

// eachInsert calls do with the records that one statement inserts, in order: they are of one table.
func eachInsert(records []landscape.Record, do func(t *landscape.Table, records []landscape.Record) error) error {
	for len(records) > 0 {
		t := landscape.TableOf(records[0])
		most := insertRows
		if isWide(t, records[0]) {
			most = 1
		}
		n := sameTable(records[:min(most, len(records))])
		if err := do(t, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// sameTable returns how many of the first records belong to the same table as the first.
func sameTable(records []landscape.Record) int {
	name := records[0].Table()
	for i, r := range records {
		if r.Table() != name {
			return i
		}
	}
	return len(records)
}

func isWide(t *landscape.Table, r landscape.Record) bool {
	return slices.ContainsFunc(t.AppendValues(nil, r), func(v any) bool {
		blob, ok := v.([]byte)
		return ok && len(blob) >= wideBytes
	})
}

// statements are prepared once for all connections of a pool: reading one takes SQLite longer than a few records.
type statements struct {
	known sync.Map // SQL → *sql.Stmt
}

// all returns the statements of queries, as of does.
func (s *statements) all(ctx context.Context, db *sql.DB, queries ...string) ([]*sql.Stmt, error) {
	stmts := make([]*sql.Stmt, len(queries))
	for i, query := range queries {
		var err error
		if stmts[i], err = s.of(ctx, db, query); err != nil { //nolint:sqlclosecheck // they stay
			return nil, err
		}
	}
	return stmts, nil
}

// of returns the statement of a query. It must not be called within a transaction of the pool, nor with a lock that one needs, if the pool
// has one connection.
func (s *statements) of(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	if stmt, known := s.known.Load(query); known {
		return stmt.(*sql.Stmt), nil
	}
	var stmt *sql.Stmt
	err := untilFree(ctx, func() (err error) {
		stmt, err = db.PrepareContext(ctx, query) //nolint:sqlclosecheck // it stays; one that came second is closed below
		return err
	})
	if err != nil {
		return nil, err
	}
	if first, meanwhile := s.known.LoadOrStore(query, stmt); meanwhile {
		return first.(*sql.Stmt), stmt.Close() // another goroutine was first; its statement stays
	}
	return stmt, nil
}

// inserts are the statements that insert records.
type inserts struct {
	known sync.Map // insertKey → *sql.Stmt
}

// insertKey is a number of records of one table.
type insertKey struct {
	table string
	rows  int
}

// prepare makes ready what inserts the records. It must not be called within a transaction, nor with a lock that one needs:
// there is one connection.
func (i *inserts) prepare(ctx context.Context, s *Store, records []landscape.Record) error {
	return eachInsert(records, func(t *landscape.Table, records []landscape.Record) error {
		key := insertKey{t.Name, len(records)}
		if _, known := i.known.Load(key); known {
			return nil
		}
		stmt, err := s.writes.of(ctx, s.write, insertSQL(t, len(records)))
		if err != nil {
			return fmt.Errorf("landscape: insert into %s: %w", t.Name, err)
		}
		i.known.Store(key, stmt)
		return nil
	})
}

// of returns a statement that was prepared.
func (i *inserts) of(t *landscape.Table, rows int) *sql.Stmt {
	stmt, _ := i.known.Load(insertKey{t.Name, rows})
	return stmt.(*sql.Stmt)
}

// prepareMoves makes ready what moves records. It must not be called within a transaction: there is one connection.
func (s *Store) prepareMoves(ctx context.Context, moves []landscape.Move) ([]*sql.Stmt, error) {
	var prepared []*sql.Stmt
	for _, m := range moves {
		t := landscape.TableOf(m.To)
		stmt, err := s.writes.of(ctx, s.write, moveSQL(t)) //nolint:sqlclosecheck // it stays
		if err != nil {
			return nil, fmt.Errorf("landscape: move %s: %w", t.Name, err)
		}
		prepared = append(prepared, stmt)
	}
	return prepared, nil
}
