package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/plugin"
	"waymark/tests/sample"
)

// attacked returns the path of a landscape with three runs: r1 is complete but not finished, r2 has read three chunks, of
// which two passed, and r3 forks, joins, gathers and is complete but not finished.
func attacked(t *testing.T) string {
	t.Helper()
	return copied(t, "assailable", func(t *testing.T, store *sqlitestore.Store) { assailable(t, store) })
}

// assailable plays the runs of attacked.
func assailable(t *testing.T, d landscape.Driver) {
	t.Helper()
	log := landscape.New(d, nil)
	scene := landscapetest.Scene{Run: "r1", Chunks: 2, ChunkRows: 20, Amounts: true}
	require.NoError(t, scene.PlayToEnd(t.Context(), log))
	require.NoError(t, log.RecordAction(t.Context(), "r1", "cancel", "ann", ""))
	require.NoError(t, log.RecordEvent(t.Context(), "r1", "seen", ""))
	require.NoError(t, log.RecordHeal(t.Context(), scene.End().Digests[2:66], "short", "x"))
	other := landscapetest.Scene{Run: "r2", Chunks: 3, ChunkRows: 20}
	require.NoError(t, other.Begin(t.Context(), log))
	require.NoError(t, other.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), landscapetest.Disclosing(landscapetest.Repeating(other.Passage(0)))))
	require.NoError(t, log.RecordPassage(t.Context(), other.Passage(1)))
	forks := landscapetest.GraphScene{Run: "r3", Chunks: 3, ChunkRows: 6}
	require.NoError(t, forks.PlayToEnd(t.Context(), log))
	require.NoError(t, retryScene(log))
	require.NoError(t, asked(t.Context(), log, "r6"))
	require.NoError(t, log.Accept(t.Context(), landscape.Start{Run: "r7", Params: "{}"}))
	require.NoError(t, log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Actor: "ann", Why: "shut"}))
	require.ErrorAs(t, log.Admit(t.Context(), "r7", landscapetest.Of("db")), new(*landscape.HeldError))
	require.NoError(t, landscapetest.Purged(t.Context(), log, "r5"))
	require.NoError(t, forgottenScene(t.Context(), log))
	require.NoError(t, landscapetest.Judged(t.Context(), log, "r9"))
	_, err := landscapetest.Attest(t.Context(), log, "r1", plugin.Changed)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SignedOff(t.Context(), log, "r5"))
	require.NoError(t, landscapetest.Ordered(t.Context(), log, "r5"))
	for _, digit := range []string{"1", "2"} {
		bundle, version := landscapetest.VersionOf("orders", digit, strings.Repeat("d", 64))
		_, err = log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
		require.NoError(t, err)
	}
	_, _, err = log.SetEnvironment(t.Context(), landscape.Environment{Name: "prod", Actor: "ann", Why: "moved"}, map[string]string{"REGION": "eu"}, nil)
	require.NoError(t, err)
	require.NoError(t, landscapetest.Nightly(t.Context(), log, "orders", "r2", "r1"))
	_, err = log.Sequence(t.Context())
	require.NoError(t, err)
	require.NoError(t, landscapetest.Delivered(t.Context(), log))
	require.NoError(t, landscapetest.Arrived(t.Context(), log, "orders"))
	require.NoError(t, landscapetest.Accessed(t.Context(), log))
	require.NoError(t, landscapetest.Retained(t.Context(), log))
	dropped, err := log.DropEvents(t.Context(), 1, landscapetest.Before(landscape.MicrosOf(time.Now())))
	require.NoError(t, err)
	require.EqualValues(t, 1, dropped)
	require.NoError(t, landscapetest.Scene{Run: "r11", Chunks: 1, ChunkRows: 10}.Play(t.Context(), log))
	require.NoError(t, landscapetest.Archived(t.Context(), log, "r11"))
	require.NoError(t, landscapetest.Logged(t.Context(), log))
	require.NoError(t, log.Accept(t.Context(), landscape.Start{Run: "r10", Params: "{}"}))
	require.NoError(t, log.Refuse(t.Context(), landscape.Start{Run: "r10", State: landscape.StartRefused, Refusal: "InputInvalid", Reason: "no"}))
}

// forgottenScene completes r8, and forgets rows of it.
func forgottenScene(ctx context.Context, log *landscape.Log) error {
	scene := landscapetest.Scene{Run: "r8", Chunks: 2, ChunkRows: 20, Amounts: true, Late: func(_ string, row int64) bool { return row%7 == 1 }}
	err := scene.Play(ctx, log)
	if err == nil {
		err = landscapetest.Forgotten(ctx, log, "r8")
	}
	return err
}

// retryScene begins r5, which feeds a record of r1 again, and resumes it twice: it is cancelled, not permanently.
func retryScene(log *landscape.Log) error {
	ctx := context.Background()
	run, graph := landscapetest.Scene{Run: "r5"}.Graph()
	run.Parent, run.Link = "r1", landscape.RetryLink
	graph.Retried = []landscape.RetriedRow{{Source: landscapetest.Source, Row: 5}}
	by := landscape.Execution{Execution: "c", Workflow: "run-r5"}
	graph.By = []landscape.Execution{by}
	err := log.BeginRun(ctx, run, graph)
	for epoch := range int64(2) {
		err = errors.Join(err, log.Resume(ctx, landscape.Resumption{Run: "r5", Epoch: epoch + 1, Claim: "c"}, by))
	}
	return errors.Join(err, log.CancelRun(ctx, "r5", false, "ann", ""))
}

// stranger opens the landscape at path as SQLite does on its own, but for these options.
func stranger(t *testing.T, path, options string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

const foreignKeys = "?_pragma=foreign_keys(1)"

// guarded are the tables that only grow, and a column of each that nothing may change.
func guarded() map[string]string {
	tables := map[string]string{"goose_db_version": "version_id", "schema_versions": "version"}
	for _, table := range landscape.Tables() {
		tables[table.Name] = table.Columns[0].Name
	}
	return tables
}

// TestAuditTablesOnlyGrow attacks every table with the settings that SQLite begins with: foreign keys are off then, and a
// replace fires no trigger on delete.
func TestAuditTablesOnlyGrow(t *testing.T) {
	path := attacked(t)
	db := stranger(t, path, "")
	tried := 0
	for table, column := range guarded() {
		tried++
		t.Run(table, func(t *testing.T) {
			before := content(t, db, table)
			require.NotEmpty(t, before, "the attack needs something to attack")
			attacks := []string{
				`delete from ` + table,
				`update ` + table + ` set ` + column + ` = ` + column,
				`update or replace ` + table + ` set ` + column + ` = ` + column,
				`insert or replace into ` + table + ` select * from ` + table + ` limit 1`,
				`replace into ` + table + ` select * from ` + table,
			}
			for _, attack := range attacks {
				_, err := db.Exec(attack)
				require.ErrorContains(t, err, table+": ", attack)
			}
			if tried%sample.Step(4) == 0 {
				for _, attack := range sample.Of(5, attacks) {
					shellRefuses(t, path, attack)
				}
			}
			require.Equal(t, before, content(t, db, table))
		})
	}
}

// TestOtherKeys attacks records by what is unique besides their key.
func TestOtherKeys(t *testing.T) {
	path := attacked(t)
	db := stranger(t, path, "")
	for table, attack := range map[string]string{
		"nodes":      `replace into nodes select run_id, 'other', seq, kind, operation, config, determinism, guarantee, hashes from nodes`,
		"chunk_ways": `replace into chunk_ways select run_id, source, chunk, lane, code + 100, way, rows from chunk_ways`,
		"chunk_rows": `replace into chunk_rows (rowid, run_id, source, chunk, slice, rows, offsets, lengths, lines, raw_hashes)
			select rowid, run_id, source, chunk, slice + 100, rows, offsets, lengths, lines, raw_hashes from chunk_rows`,
		"hashes": `replace into hashes (rowid, run_id, source, chunk, lane, node, slice, rows, slots, hashes)
			select rowid, run_id, source, chunk, lane, node, slice + 100, rows, slots, hashes from hashes`,
		"passages": `replace into passages (rowid, run_id, source, chunk, lane, rows, code_bytes, way_codes, started_us, finished_us, attempt, worker)
			select rowid, run_id, source, chunk, lane + 100, rows, code_bytes, way_codes, 1, 1, 1, '' from passages`,
		"key_hashes": `replace into key_hashes (rowid, run_id, source, chunk, field, hashes)
			select rowid, run_id, source, chunk, 'other', hashes from key_hashes`,
		"lanes": `replace into lanes select run_id, lane + 100, source, name, parent, node, branch, fork from lanes`,
		"folds": `replace into folds select run_id, node, fold + 100, kind, source, chunk, at_us, state, opened_batches, open_batches, held_rows, out_rows, turn, deadline_us
			from folds where kind <> 'end'`,
		"folds of kind end": `replace into folds select run_id, node, fold + 100, kind, source, chunk, at_us, state, opened_batches, open_batches, held_rows, out_rows, turn, deadline_us
			from folds where kind = 'end'`,
		"members": `replace into members (rowid, run_id, node, source, chunk, lane, slice, fold, rows, batches)
			select rowid, run_id, node, source, chunk, lane, slice + 100, fold, rows, batches from members`,
		"merge_codes": `replace into merge_codes (rowid, run_id, source, chunk, lane, rows, code_bytes, codes)
			select rowid, run_id, source, chunk, lane + 100, rows, code_bytes, codes from merge_codes`,
		"chunk_merges": `replace into chunk_merges select run_id, source, chunk, lane, code + 100, kind, rows from chunk_merges`,
		"merges": `replace into merges select run_id, node, 3 - batch, kind, source, lane, row, arrivals, wait_ms, 100 + out_row
			from merges where batch = 1`,
		"merges by row": `replace into merges select run_id, node, 3 - batch, kind, source, lane, 100 + row, arrivals, wait_ms, out_row
			from merges where batch = 1`,
		"repeats": `replace into repeats (rowid, run_id, source, chunk, lane, node, slice, rows, firsts)
			select rowid, run_id, source, chunk, lane, node, slice + 100, rows, firsts from repeats`,
		"field_roots": `replace into field_roots (rowid, run_id, source, chunk, slice, rows, roots)
			select rowid, run_id, source, chunk, slice + 100, rows, roots from field_roots`,
		"parents": `replace into parents (rowid, run_id, source, chunk, slice, rows, batches, tokens)
			select rowid, run_id, source, chunk, slice + 100, rows, batches, tokens from parents`,
		"pipeline_versions": `replace into pipeline_versions select pipeline, version + 2, bundle_sha256, actor, message, code, host, folder, git_commit, git_dirty, created_us
			from pipeline_versions`,
		"effects": `update or replace effects set state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0
			where run_id = 'r2' and kind = 'write'`,
	} {
		t.Run(table, func(t *testing.T) {
			table, _, _ := strings.Cut(table, " ")
			before := content(t, db, table)
			require.NotEmpty(t, before, "the attack needs something to attack")
			_, err := db.Exec(attack)
			require.ErrorContains(t, err, table+": ")
			shellRefuses(t, path, attack)
			require.Equal(t, before, content(t, db, table))
		})
	}
}

// TestNumbersNeverChange holds that nobody can make the views count wrongly.
func TestNumbersNeverChange(t *testing.T) {
	path := attacked(t)
	db := stranger(t, path, "")
	for _, attack := range []string{
		`delete from numbers`, `update numbers set n = n + 2000`, `insert into numbers values (1024)`, `replace into numbers values (0)`,
		`delete from bytes`, `update bytes set n = 0`, `insert into bytes values (x'0000', 7)`, `replace into bytes values (x'00', 7)`,
	} {
		_, err := db.Exec(attack)
		require.ErrorContains(t, err, "never changes", attack)
		shellRefuses(t, path, attack)
	}
}

// content returns all of a table as text.
func content(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	columns := `select group_concat('quote(' || name || ')', ' || ') from pragma_table_info('` + table + `')`
	var list, all string
	require.NoError(t, db.QueryRow(columns).Scan(&list))
	require.NoError(t, db.QueryRow(`select coalesce(group_concat(record, x'0a'), '') from (select `+list+` as record from `+table+` order by 1)`).Scan(&all))
	return all
}

// shellRefuses holds that the sqlite3 shell, as it comes, cannot do it either.
func shellRefuses(t *testing.T, path, attack string) {
	t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil && os.Getenv("CI") == "" {
		return
	}
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), program, path, attack).CombinedOutput()
	require.Error(t, err, attack)
	require.Regexp(t, `append-only|only status|illegal change|what is written where|not the beginning|one place|never changes|not the next epoch|not a quarantined|missed at first|only what became`, string(out), attack)
}
