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

// inserts are the statements that insert records, prepared once: reading one takes SQLite longer than a few records.
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
func (i *inserts) prepare(ctx context.Context, db *sql.DB, records []landscape.Record) error {
	return eachInsert(records, func(t *landscape.Table, records []landscape.Record) error {
		key := insertKey{t.Name, len(records)}
		if _, known := i.known.Load(key); known {
			return nil
		}
		stmt, err := db.PrepareContext(ctx, insertSQL(t, len(records)))
		if err != nil {
			return fmt.Errorf("landscape: insert into %s: %w", t.Name, err)
		}
		if _, meanwhile := i.known.LoadOrStore(key, stmt); meanwhile {
			return stmt.Close() //nolint:sqlclosecheck // another goroutine was first; its statement stays
		}
		return nil
	})
}

// of returns a statement that was prepared.
func (i *inserts) of(t *landscape.Table, rows int) *sql.Stmt {
	stmt, _ := i.known.Load(insertKey{t.Name, rows})
	return stmt.(*sql.Stmt)
}
