package audit_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// tampered returns a copy of the landscape in which the owner of the file did this, past every trigger and check. What
// is recorded after the first call, other than by Run, is in no copy. A copy has neither guards nor views: SQLite would
// read them for each connection.
func tampered(t *testing.T, s *fixture, statement string) *landscape.Reader {
	t.Helper()
	if s.bare == nil {
		path := filepath.Join(t.TempDir(), "bare.db")
		execute(t, s.Database, `vacuum into '`+path+`'`)
		execute(t, path, `pragma writable_schema = 1; delete from sqlite_schema where type in ('trigger', 'view')`)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		s.bare = content
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(path, s.bare, 0o600))
	changed := execute(t, path, `pragma ignore_check_constraints = 1; pragma foreign_keys = 0; `+statement)
	require.Positive(t, changed[0], "nothing was changed")
	return landscape.NewReader(bare{openedStore(t, path)})
}

// bare is a landscape without guards and views, of which it says nothing: TestVerifyWithoutATable compares schemas.
type bare struct{ *sqlitestore.Store }

// Schemas does what landscape.SchemaComparer says.
func (b bare) Schemas(ctx context.Context) (stored, fresh landscape.Schema, why string, err error) {
	_, fresh, why, err = b.Store.Schemas(ctx)
	return fresh, fresh, why, err
}

// execute executes scripts on one connection, and returns how many rows the last statement of each changed. It does not wait for the
// disk.
func execute(t *testing.T, path string, scripts ...string) (changed []int64) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)")
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, script := range scripts {
		result, err := db.ExecContext(t.Context(), script)
		require.NoError(t, err)
		n, err := result.RowsAffected()
		require.NoError(t, err)
		changed = append(changed, n)
	}
	return changed
}

// TestVerify asks whether one run's record is true, and then damages it in every way there is.
func TestVerify(t *testing.T) {
	s := play(t)
	t.Run("clean", func(t *testing.T) { testClean(t, s) })
	t.Run("outputs", func(t *testing.T) { testOutputs(t, s) })
	t.Run("payloads", func(t *testing.T) { testPayloads(t, s) })
	t.Run("record", func(t *testing.T) { testRecord(t, s) })
	t.Run("nonsense", func(t *testing.T) { testNonsense(t, s) })
	t.Run("environment", func(t *testing.T) { testEnvironment(t, s) })
	t.Run("clean again", func(t *testing.T) { testClean(t, s) })
}

func verify(t *testing.T, s *fixture, log *landscape.Reader) *audit.Report {
	t.Helper()
	report, err := audit.New(log, s.Payloads, s.Planner).VerifyWith(t.Context(), run, audit.VerifyOptions{})
	require.NoError(t, err)
	if log != s.Log.Reader {
		return report // landscapetest.Edits compares what both find of a tampered record
	}
	deep, err := audit.New(log, s.Payloads, s.Planner).Verify(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, places(deep), places(report), "what the database says of every row through its views")
	return report
}

// places are what problems are about, but for what they say.
func places(report *audit.Report) map[audit.Problem]bool {
	found := map[audit.Problem]bool{}
	for _, problem := range report.Problems {
		problem.Detail = ""
		found[problem] = true
	}
	return found
}

func testClean(t *testing.T, s *fixture) {
	report := verify(t, s, s.Log.Reader)
	require.Equal(t, &audit.Report{
		Run: run, Status: "completed_with_failures", Chunks: 3, Rows: 11, Artifacts: 3, Problems: []audit.Problem{}, Hashes: report.Hashes,
		Checked: report.Checked, Believed: audit.BelievedSealed, NotChecked: []audit.Check{}, Sealed: report.Sealed,
	}, report)
	require.NotNil(t, report.Sealed)
	var checked []string
	for _, c := range report.Checked {
		checked = append(checked, c.What)
	}
	require.Equal(t, []string{"database", "schema", "tokens", "document", "source", "seals", "seals", "output", "output", "output", "records", "steps", "effects"}, checked)
	require.Greater(t, report.Hashes, int64(11), "records, and what came out of the steps")
	var b strings.Builder
	require.NoError(t, report.WriteText(&b))
	require.Contains(t, b.String(), "11 rows in 3 chunks and 3 outputs read again")
	require.Contains(t, b.String(), "everything that can be computed again is true\n")
}

func testOutputs(t *testing.T, s *fixture) {
	for file, sink := range map[string]string{
		"out/north.csv": "review", "out/ledger.jsonl": "ledger", "out/refused/part-00001.csv": "refused", "out/refused/manifest.json": "refused",
	} {
		for name, change := range map[string]func([]byte) []byte{
			"flipped": flip, "deleted": nil, "longer": func(b []byte) []byte { return append(b, "x\n"...) }, "empty": func([]byte) []byte { return nil },
		} {
			t.Run(name+" "+filepath.Base(file), func(t *testing.T) {
				damage(t, filepath.Join(s.Folder, file), change)
				report := verify(t, s, s.Log.Reader)
				require.Len(t, report.Problems, 1)
				require.Equal(t, audit.ArtifactDiffers, report.Problems[0].Kind)
				require.Equal(t, sink, report.Problems[0].Where)
			})
		}
	}
}

func testPayloads(t *testing.T, s *fixture) {
	pack := explain(t, s, audit.Question{Row: 6}).Source.Payload
	for kind, change := range map[string]func([]byte) []byte{audit.PayloadMissing: nil, audit.PayloadCorrupt: flip} {
		t.Run(kind, func(t *testing.T) {
			s.damage(t, pack, change)
			report := verify(t, s, s.Log.Reader)
			require.Len(t, report.Problems, 1)
			require.Equal(t, audit.Problem{Kind: kind, Where: "orders chunk 1", Detail: report.Problems[0].Detail}, report.Problems[0])
			require.Contains(t, report.Problems[0].Detail, pack)
			require.EqualValues(t, 2, report.Chunks, "the others are verified")
			require.EqualValues(t, 7, report.Rows)
		})
	}
}

// testRecord changes the record in the database, one thing at a time.
func testRecord(t *testing.T, s *fixture) {
	for _, c := range []struct{ name, statement, kind, where, detail string }{
		{"a hash of a step",
			`update hashes set hashes = cast(zeroblob(31) || x'01' || substr(hashes, 33) as blob) where node = 'share' and chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "row 1 comes out of share as "},
		{"a raw hash",
			`update chunk_rows set raw_hashes = cast(substr(raw_hashes, 1, 64) || zeroblob(32) || substr(raw_hashes, 97) as blob) where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "row 3: the stored record hashes to "},
		{"where a record is",
			`update chunk_rows set offsets = cast(substr(offsets, 1, 4) || x'00000001' || substr(offsets, 9) as blob) where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "row 2: the stored record has 23 bytes at byte 24, on record are 23 at 1"},
		{"a way code, to another way",
			`update passages set way_codes = cast(substr(way_codes, 2, 1) || substr(way_codes, 1, 1) || substr(way_codes, 3) as blob) where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "row 1 goes orders > share > paid > triage[small] > short > ledger (default_flow), the record has "},
		{"a way code, to none",
			`update passages set way_codes = cast(x'63' || substr(way_codes, 2) as blob) where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "(default_flow), the record has no way"},
		{"the digest of an effect",
			`update effects set sha256 = printf('%064d', 1) where sink = 'ledger' and chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "the bytes for sink ledger hash to "},
		{"the payload of another chunk",
			`update chunks set pack = (select pack from chunks where chunk = 1) where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "row 1: the stored record hashes to "},
		{"the payload of another chunk with other rows",
			`update chunks set pack = (select pack from chunks where chunk = 2) where chunk = 0`,
			audit.PayloadCorrupt, "orders chunk 0", "it holds 3 records, on record are 4"},
		{"a reason",
			`update errors set message = 'nothing to see' where row = 6`,
			audit.RecordDiffers, "orders chunk 1", "row 6 is refused by share with DIVISION_BY_ZERO"},
		{"a code",
			`update errors set code = 'OTHER' where row = 6`,
			audit.RecordDiffers, "orders chunk 1", "row 6 is refused by share with DIVISION_BY_ZERO"},
		{"a refused record",
			`update errors set raw = cast(upper(raw) as blob) where row = 5`,
			audit.RecordDiffers, "orders chunk 1", "row 5 is refused by orders with CONVERT"},
		{"an error less",
			`delete from errors where row = 10`,
			"error_counts", "orders chunk 2", "diverted 1 rows of lane 0, errors 0"},
		{"where a row was sent",
			`update errors set sent_to = 'ledger' where row = 10`,
			audit.RecordDiffers, "orders chunk 2", "row 10 is refused by share"},
		{"the outcome of a way",
			`update ways set outcome = 'success', path = 'default_flow' where signature like '%refused%'`,
			audit.RecordDiffers, "orders chunk 1", "row 6 goes orders > share > refused (on_error_routed), the record has orders > share > refused (default_flow)"},
		{"a way less",
			`delete from ways where path = 'filter_dropped'`,
			"token_outcome", "orders chunk 0", "token orders:3 has no completed outcome"},
		{"the hashes of a step less",
			`delete from hashes where node = 'short' and chunk = 2`,
			audit.RecordDiffers, "orders chunk 2", "no row comes out of short on record, computed again some do"},
		{"hashes of a step more",
			`update hashes set node = 'paid' where node = 'short' and chunk = 2`,
			audit.RecordDiffers, "orders chunk 2", "no row comes out of paid, on record some do"},
		{"who had a value first",
			`update errors set message = 'row 2 has the same value' where row = 7`,
			audit.RecordDiffers, "orders chunk 1", "row 7 is refused by orders with UNIQUE, the record has another error or none"},
		{"an effect less",
			`delete from effects where sink = 'ledger' and chunk = 2`,
			"sink_rows", "orders chunk 2", "ledger"},
		{"a chunk less",
			`delete from chunks where chunk = 2`,
			"source_totals", "orders", "3 chunks, 11 rows"},
		{"the digest of an artifact",
			`update artifacts set sha256 = printf('%064d', 1) where sink = 'review'`,
			audit.ArtifactDiffers, "review", "on record are "},
		{"the document",
			`update runs set document = replace(document, 'row.amount > 0', 'row.amount > 1')`,
			audit.DocumentUnusable, "orders", "the run's was "},
		{"the parameters",
			`update runs set params = '[]'`,
			audit.DocumentUnusable, "orders", "the parameters on record cannot be read"},
		{"a hash of a step, by its seal",
			`update hashes set hashes = cast(zeroblob(31) || x'01' || substr(hashes, 33) as blob) where node = 'share' and chunk = 0`,
			audit.SealBroken, "orders chunk 0", "row 1 is not as it was sealed, in hashes"},
		{"a raw hash, by its seal",
			`update chunk_rows set raw_hashes = cast(substr(raw_hashes, 1, 64) || zeroblob(32) || substr(raw_hashes, 97) as blob) where chunk = 0`,
			audit.SealBroken, "orders chunk 0", "row 3 is not as it was sealed, in chunk_rows"},
		{"two ways, by their seal",
			`update passages set way_codes = cast(substr(way_codes, 2, 1) || substr(way_codes, 1, 1) || substr(way_codes, 3) as blob) where chunk = 0`,
			audit.SealBroken, "orders chunk 0", "row 2 is not as it was sealed, in passages"},
		{"what two codes mean, and the codes, by their seal",
			`create temp table was as select code, way from chunk_ways where chunk = 0 and code < 2; update chunk_ways set way = 'x' || way where chunk = 0 and code < 2;
			 update chunk_ways set way = (select w.way from was w where w.code = 1 - chunk_ways.code) where chunk = 0 and code < 2`,
			audit.SealBroken, "orders chunk 0", "row 1 is not as it was sealed, in passages"},
		{"a reason, by its seal",
			`update errors set message = 'nothing to see' where row = 6`,
			audit.SealBroken, "orders chunk 1", "row 6 is not as it was sealed, in errors"},
		{"an error less, by its seal",
			`delete from errors where row = 10`,
			audit.SealBroken, "orders chunk 2", "row 10 is not as it was sealed, in errors"},
		{"an error more, by its seal",
			`insert into errors (run_id, source, row, lane, node, chunk, code, field, message, line, sent_to, error_hash, raw, raw_is_text, raw_bytes, byte_offset, at_us)
			 select run_id, source, 9, lane, node, chunk, code, field, message, line, sent_to, error_hash, raw, raw_is_text, raw_bytes, byte_offset, at_us from errors where row = 10`,
			audit.SealBroken, "orders chunk 2", "row 9 is not as it was sealed, in errors"},
		{"a root",
			`update chunk_seals set root = zeroblob(32) where chunk = 1`,
			audit.SealBroken, "orders chunk 1", "the steps, with the records that are stored, do not give it either"},
		{"a root less",
			`delete from chunk_seals where chunk = 1`,
			audit.SealBroken, "orders chunk 1", "chunk_seals has no root of it"},
		{"other salts",
			`update salts set keys = zeroblob(16)`,
			audit.SealBroken, "orders chunk 1", "the steps, with the records that are stored, do not give it either"},
		{"no salts",
			`delete from salts`,
			audit.SealBroken, "orders chunk 1", "what is recorded of its rows is not whole: the record is incomplete: run run-1 has no salts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := verify(t, s, tampered(t, s, c.statement))
			for _, problem := range report.Problems {
				if problem.Kind == c.kind && problem.Where == c.where && strings.Contains(problem.Detail, c.detail) {
					return
				}
			}
			require.Fail(t, "not found", "%+v", report.Problems)
		})
	}
}

// testNonsense changes what everything else hangs on. Whatever it is, it has a name.
func testNonsense(t *testing.T, s *fixture) {
	for id, c := range map[string]struct{ statement, run, detail string }{
		"another number":   {`update lanes set lane = lane + 7`, run, "lane"},
		"another source":   {`update lanes set source = 'elsewhere'`, run, "lane"},
		"another name":     {`update lanes set name = 'elsewhere'`, run, "lane"},
		"no lanes":         {`delete from lanes`, run, "lane"},
		"another run":      {`update runs set run_id = 'other'`, run, "of it are recorded, and the run itself is not"},
		"the other run":    {`update runs set run_id = 'other'`, "other", "lanes of run other"},
		"a pack of nobody": {`update chunks set pack = 'x'`, run, "bad payload key"},
	} {
		t.Run(id, func(t *testing.T) {
			report, err := audit.New(tampered(t, s, c.statement), s.Payloads, s.Planner).VerifyWith(t.Context(), c.run, audit.VerifyOptions{})
			require.NoError(t, err)
			named := func(p audit.Problem) bool {
				return p.Kind != audit.SchemaDiffers && strings.Contains(p.Detail, c.detail)
			}
			require.True(t, slices.ContainsFunc(report.Problems, named), "%+v", report.Problems)
		})
	}
}

// testEnvironment verifies on a machine where the document compiles to something else: what does not need the plan is
// still looked at.
func testEnvironment(t *testing.T, s *fixture) {
	t.Setenv("REGION", "south")
	s.damage(t, explain(t, s, audit.Question{Row: 6}).Source.Payload, flip)
	report := verify(t, s, s.Log.Reader)
	require.Len(t, report.Problems, 2)
	require.Equal(t, audit.DocumentUnusable, report.Problems[0].Kind)
	require.Equal(t, audit.PayloadCorrupt, report.Problems[1].Kind)
	require.EqualValues(t, 7, report.Hashes, "of the records that are there")
}

// TestWhatOnlyItsSinkCanAskIsNoted verifies outputs that are no files on a machine where the document cannot be used.
func TestWhatOnlyItsSinkCanAskIsNoted(t *testing.T) {
	s := play(t)
	t.Setenv("REGION", "south")
	for name, path := range map[string]string{"a table": "postgres://db:5432/dw/public.t", "an object": "s3://bucket/out.csv", "standard output": "-"} {
		t.Run(name, func(t *testing.T) {
			report := verify(t, s, tampered(t, s, `update artifacts set path = '`+path+`' where sink = 'review'`))
			require.EqualValues(t, 3, report.Artifacts)
			require.Contains(t, report.NotChecked, audit.Check{What: "output", Name: "review", Detail: "only its sink can ask " + path +
				", and the document cannot be used here; it needs REGION as it was when the run began"})
			for _, problem := range report.Problems {
				require.NotEqual(t, audit.ArtifactDiffers, problem.Kind, problem.Detail)
			}
		})
	}
	report := verify(t, s, tampered(t, s, `update artifacts set path = path || '.gone' where sink = 'review'`))
	require.Contains(t, toJSON(t, report.Problems), audit.ArtifactDiffers, "a file can be looked at without the sink")
}

func TestRunsThatAreNotConcluded(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": input})
	_, err := s.Run(t, run, strings.Replace(document, "on_invalid: quarantine", "on_invalid: fail", 1))
	require.Error(t, err)
	report := verify(t, s, s.Log.Reader)
	require.Equal(t, "failed", report.Status)
	require.Empty(t, report.Problems)
	require.Equal(t, []audit.Check{{What: "tokens", Detail: "the run is failed: open rows are no problem of its record"}}, report.NotChecked)
	require.Zero(t, report.Artifacts)

	story := explain(t, s, audit.Question{Row: 5})
	require.False(t, story.Complete)
	require.Equal(t, "the row was read and has not gone through the steps", story.Note)
	s.damage(t, story.Source.Payload, nil)
	story = explain(t, s, audit.Question{Row: 5})
	require.Equal(t, audit.Missing, story.Source.State)
	require.Equal(t, "the row was read and has not gone through the steps", story.Note)

	t.Setenv("REGION", "south")
	story = explain(t, s, audit.Question{Row: 5})
	require.Contains(t, story.Note, "has not gone through the steps; the document on record compiles to plan ")

	_, err = auditor(s).Verify(t.Context(), "nothing")
	require.ErrorIs(t, err, landscape.ErrNotFound)
}
