package resume_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
)

// tampered returns a copy of the record in which a statement, which no guard hinders, changed something.
func (b *retrying) tampered(t *testing.T, statement string) *landscape.Reader {
	t.Helper()
	if b.unguarded == nil {
		b.unguarded = b.withoutGuards(t)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(path, b.unguarded, 0o600))
	changed, err := sql.Open("sqlite", "file:"+path+unsafely)
	require.NoError(t, err)
	defer changed.Close()      // again, which does nothing
	changed.SetMaxOpenConns(1) // which has the settings
	script := `pragma ignore_check_constraints = 1; pragma foreign_keys = 0; `
	result, err := changed.ExecContext(t.Context(), script+statement)
	require.NoError(t, err)
	rows, err := result.RowsAffected()
	require.NoError(t, err)
	require.Positive(t, rows, "nothing was changed")
	require.NoError(t, changed.Close())
	driver, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	return landscape.NewReader(bare{driver})
}

// bare is a landscape without guards, of which it says nothing: each connection reads the rest of the schema in a third
// of the time. TestVerifyWithoutATable, in audit, compares schemas.
type bare struct{ *sqlitestore.Store }

// Schemas does what landscape.SchemaComparer says.
func (b bare) Schemas(ctx context.Context) (stored, fresh landscape.Schema, why string, err error) {
	_, fresh, why, err = b.Store.Schemas(ctx)
	return fresh, fresh, why, err
}

// unsafely is how a copy is opened that may be lost.
const unsafely = "?_pragma=synchronous(off)&_pragma=journal_mode(off)"

// withoutGuards returns the file of a copy of the record without triggers.
func (b *retrying) withoutGuards(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unguarded.db")
	db, err := sql.Open("sqlite", b.Database)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `vacuum into '`+path+`'`)
	require.NoError(t, err)
	unguarded, err := sql.Open("sqlite", "file:"+path+unsafely)
	require.NoError(t, err)
	_, err = unguarded.ExecContext(t.Context(),
		`pragma writable_schema = 1; delete from sqlite_schema where type = 'trigger'`)
	require.NoError(t, errors.Join(err, unguarded.Close()))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func TestVerifyFindsWhatIsNotWhatWasFedAgain(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	b.retry("second", "first", loose)
	gone := strings.Repeat("0", 64)
	for name, c := range map[string]struct{ statement, kind, where, detail string }{
		"a record that is retried less": {`delete from retried where row = 7`, audit.RecordDiffers, "orders",
			"row 7 of run first is on the list of those that are retried, and not recorded"},
		"one more": {`insert into retried select parent_run, source, 99, run_id from retried where row = 7`, audit.RecordDiffers, "orders",
			"row 99 of run first is retried on record, and not on the list"},
		"another one": {`update retried set row = 8 where row = 7`, audit.RecordDiffers, "orders", "row 7 of run first is on the list"},
		"no list":     {`update sources set info = '{"files":[]}' where run_id = 'second'`, audit.RecordDiffers, "orders", "there is no list of them"},
		"a list that is gone": {`update sources set info = '{"files":[],"list":"` + gone + `"}' where run_id = 'second'`, audit.PayloadMissing, "orders",
			"list of the records that source orders retries"},
		"a list that is none": {`update sources set info = '{"files":[],"list":"' || (select document_sha256 from runs where run_id = 'second') || '"}' where run_id = 'second'`,
			audit.PayloadCorrupt, "orders", "list of the records that source orders retries"},
		"the line of a chunk": {`update chunks set first_line = first_line + 1 where run_id = 'second' and chunk = 0`, audit.RecordDiffers,
			"orders chunk 0", "row 1 is not row 2 of run first, which is retried"},
		"the place of a chunk": {`update chunks set first_offset = 0 where run_id = 'second' and chunk = 1`, audit.RecordDiffers,
			"orders chunk 1", "row 2 is not row 4 of run first, which is retried"},
		"the file of a chunk": {`update chunks set file = 'other.csv' where run_id = 'second' and chunk = 2`, audit.RecordDiffers,
			"orders chunk 2", "row 3 is not row 7 of run first, which is retried"},
		"the size of a chunk": {`update chunks set bytes = bytes + 1 where run_id = 'second' and chunk = 0`, audit.RecordDiffers,
			"orders chunk 0", "the stored text has "},
		"the cursor of a chunk": {`update chunks set cursor = '{}' where run_id = 'second' and chunk = 0`, audit.RecordDiffers,
			"orders chunk 0", "it ends with row 1, the recorded cursor with {}"},
		"the chunk that it came from": {`delete from chunks where run_id = 'first' and chunk = 0`, audit.RecordDiffers,
			"orders chunk 0", "chunk 0 of run first, which it is made of, is not recorded or not whole"},
		"the first row of a chunk": {`update chunks set first_row = 3 where run_id = 'second' and chunk = 1`, audit.RecordDiffers,
			"orders chunk 1", "its first row is 3 on record, the chunks before it end before row 2"},
		"a chunk less": {`delete from chunks where run_id = 'second' and chunk = 2`, audit.RecordDiffers, "orders", "4 records are to be retried, its chunks hold 2"},
		"the link":     {`update runs set link = '', parent_run = '' where run_id = 'second'`, audit.RecordDiffers, "orders", "is on the list of those that are retried, and not recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := audit.New(b.tampered(t, c.statement), b.Payloads, b.Planner).Verify(t.Context(), "second")
			require.NoError(t, err)
			for _, problem := range report.Problems {
				if strings.Contains(problem.Kind, "payload") {
					require.Len(t, report.Problems, 2, "the list says all that is compared with it, and the seal of the run that it was changed")
				}
				if problem.Kind == c.kind && problem.Where == c.where && strings.Contains(problem.Detail, c.detail) {
					return
				}
			}
			require.Fail(t, "not found", "%+v", report.Problems)
		})
	}
}

// TestVerifyFindsWhatOthersDoNotFeedAgain verifies the run whose records are retried.
func TestVerifyFindsWhatOthersDoNotFeedAgain(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	b.retry("second", "first", loose)
	for name, c := range map[string]struct{ statement, where, detail string }{
		"a record less": {`delete from retried where row = 7`, "orders", "row 7 of run first is on the list of those that are retried, and not recorded"},
		"one more":      {`insert into retried select parent_run, source, 99, run_id from retried where row = 7`, "orders", "row 99 of run first is retried on record, and not on the list"},
		"another run":   {`update retried set run_id = 'third' where row = 7`, "orders", "row 7 of run first is on the list"},
		"no retry":      {`update runs set link = '', parent_run = '' where run_id = 'second'`, "orders", "run second feeds records of it again on record, and is no retry of it"},
		"no list":       {`update sources set info = '{"files":[]}' where run_id = 'second'`, "orders", "run second feeds records of it again on record, and has no list of them"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := audit.New(b.tampered(t, c.statement), b.Payloads, b.Planner).VerifyWith(t.Context(), "first", audit.VerifyOptions{})
			require.NoError(t, err)
			is := func(p audit.Problem) bool {
				return p.Kind == audit.RecordDiffers && strings.Contains(p.Detail, c.detail)
			}
			require.True(t, slices.ContainsFunc(report.Problems, is), "%+v", report.Problems)
		})
	}
}

func TestExplainSaysWhenTheListIsGone(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	b.retry("second", "first", loose)
	log := b.tampered(t, `update sources set info = '{"files":[],"list":"`+strings.Repeat("0", 64)+`"}' where run_id = 'second'`)
	for _, run := range []string{"first", "second"} {
		story, err := audit.New(log, b.Payloads, b.Planner).Explain(t.Context(), audit.Question{Run: run, Row: 2})
		require.NoError(t, err)
		require.Contains(t, story.Note, "list of the records that source orders retries")
	}
}

func TestVerifyFindsAnotherHeaderThanWasFedAgain(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	b.retry("second", "first", loose)
	record, err := b.Log.Chunk(t.Context(), "second", landscape.ChunkKey{Source: "orders", Chunk: 0})
	require.NoError(t, err)
	stored, err := b.Payloads.Get(t.Context(), payload.Digest(record.Pack))
	require.NoError(t, err)
	pack, err := payload.DecodePack(stored)
	require.NoError(t, err)
	require.Contains(t, string(pack.Context), `"id,amount"`)
	pack.Context = []byte(strings.Replace(string(pack.Context), "id,amount", "amount,id", 1))
	stored, err = payload.EncodePack(nil, pack)
	require.NoError(t, err)
	forged, err := b.Payloads.Put(t.Context(), stored)
	require.NoError(t, err)
	log := b.tampered(t, `update chunks set pack = '`+string(forged)+`' where run_id = 'second' and chunk = 0`)
	report, err := audit.New(log, b.Payloads, b.Planner).Verify(t.Context(), "second")
	require.NoError(t, err)
	require.Contains(t, report.Problems, audit.Problem{
		Kind: audit.RecordDiffers, Where: "orders chunk 0", Detail: "its records have another header than in run first, which is retried",
	})
}
