package audit_test

import (
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// TestVerifyAsksTheDatabase takes entries out of an index, as a damaged page does: the table still has them.
func TestVerifyAsksTheDatabase(t *testing.T) {
	s := play(t)
	path := filepath.Join(t.TempDir(), "copy.db")
	execute(t, s.Database, `vacuum into '`+path+`'`)
	lessEntries(t, path, "effects_by_ordinal")
	report := verify(t, s, opened(t, path))
	require.NotEmpty(t, report.Problems)
	require.Equal(t, audit.Problem{Kind: audit.DatabaseDamaged, Where: "landscape", Detail: report.Problems[0].Detail}, report.Problems[0])
	require.Contains(t, toJSON(t, report.Problems), "missing from index effects_by_ordinal")
	require.Equal(t, audit.CheckedDatabase, report.Checked[0].What)
}

// TestVerifyLeavesALargeDatabase makes the file large: verification of a run looks through it only if it is asked to.
func TestVerifyLeavesALargeDatabase(t *testing.T) {
	s := play(t)
	path := filepath.Join(t.TempDir(), "copy.db")
	execute(t, s.Database, `vacuum into '`+path+`'`)
	execute(t, path, `create table filler (bytes); insert into filler values (zeroblob(140000000)); drop table filler`)
	lessEntries(t, path, "effects_by_ordinal")
	auditor := audit.New(opened(t, path), s.Payloads, s.Planner)
	quick, err := auditor.VerifyWith(t.Context(), run, audit.VerifyOptions{})
	require.NoError(t, err)
	require.Contains(t, toJSON(t, quick.NotChecked), "only --deep looks through so much")
	for _, problem := range quick.Problems {
		require.NotEqual(t, audit.DatabaseDamaged, problem.Kind)
	}
	deep, err := auditor.Verify(t.Context(), run)
	require.NoError(t, err)
	require.Contains(t, toJSON(t, deep.Problems), "missing from index effects_by_ordinal")
}

// TestVerifyWithoutATable drops a table: that is what is said, and of all else that it was not compared.
func TestVerifyWithoutATable(t *testing.T) {
	s := play(t)
	path := filepath.Join(t.TempDir(), "copy.db")
	execute(t, s.Database, `vacuum into '`+path+`'`)
	execute(t, path, `pragma foreign_keys = off; drop table chunks`)
	report := verify(t, s, opened(t, path))
	require.Contains(t, report.Problems, audit.Problem{
		Kind: audit.SchemaDiffers, Where: "table chunks", Detail: "it is missing, compared with the schema that this program makes",
	})
	for _, problem := range report.Problems {
		require.Equal(t, audit.SchemaDiffers, problem.Kind)
	}
	require.Len(t, report.NotChecked, 9, "all but the database and the schema")
}

// TestVerifyWordsThatAreNone stores values that no constraint allows: the database names them.
func TestVerifyWordsThatAreNone(t *testing.T) {
	s := play(t)
	for statement, table := range map[string]string{`update errors set raw_is_text = 2 where row = 6`: "errors", `update runs set status = 'done'`: "runs"} {
		require.Contains(t, verify(t, s, tampered(t, s, statement)).Problems,
			audit.Problem{Kind: audit.DatabaseDamaged, Where: "landscape", Detail: "CHECK constraint failed in " + table})
	}
}

// lessEntries makes the page of an index say that it has half of its entries.
func lessEntries(t *testing.T, path, index string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	var root, size int64
	require.NoError(t, db.QueryRow(`select rootpage, page_size from sqlite_schema, pragma_page_size where name = ?`, index).Scan(&root, &size))
	require.NoError(t, db.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	const leaf, entries = 10, 3 // kind of a page, and where it says how many entries it has
	page := make([]byte, 8)
	_, err = f.ReadAt(page, (root-1)*size)
	require.NoError(t, err)
	require.EqualValues(t, leaf, page[0])
	binary.BigEndian.PutUint16(page[entries:], binary.BigEndian.Uint16(page[entries:])/2)
	_, err = f.WriteAt(page, (root-1)*size)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func opened(t *testing.T, path string) *landscape.Reader {
	t.Helper()
	return landscape.NewReader(openedStore(t, path))
}

// openedStore opens a copy of a landscape until the test ends.
func openedStore(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Keep: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
