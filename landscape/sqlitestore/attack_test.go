package sqlitestore_test

import (
	"database/sql"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
)

// attacked returns the path of a landscape with two runs: r1 is complete but not finished, r2 has read three chunks, of
// which two passed.
func attacked(t *testing.T) string {
	t.Helper()
	store, path := create(t)
	log := landscape.New(store, nil)
	scene := landscapetest.Scene{Run: "r1", Chunks: 2, ChunkRows: 20}
	require.NoError(t, scene.PlayToEnd(t.Context(), log))
	require.NoError(t, log.RecordAction(t.Context(), "r1", "cancel", "ann", ""))
	require.NoError(t, log.RecordEvent(t.Context(), "r1", "seen", ""))
	require.NoError(t, log.RecordHeal(t.Context(), scene.End().Digests[2:66], "short", "x"))
	_, err := log.Claim(t.Context(), landscape.Claims{Run: "r1", Source: "strikes", Field: "f", Hashes: [][16]byte{{}}, Rows: []int64{1}})
	require.NoError(t, err)
	other := landscapetest.Scene{Run: "r2", Chunks: 3, ChunkRows: 20}
	require.NoError(t, other.Begin(t.Context(), log))
	require.NoError(t, other.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), other.Passage(0)))
	require.NoError(t, log.RecordPassage(t.Context(), other.Passage(1)))
	require.NoError(t, store.Close())
	return path
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
	tables := map[string]string{"goose_db_version": "version_id"}
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
	for table, column := range guarded() {
		t.Run(table, func(t *testing.T) {
			before := content(t, db, table)
			require.NotEmpty(t, before, "the attack needs something to attack")
			for _, attack := range []string{
				`delete from ` + table,
				`update ` + table + ` set ` + column + ` = ` + column,
				`update or replace ` + table + ` set ` + column + ` = ` + column,
				`insert or replace into ` + table + ` select * from ` + table + ` limit 1`,
				`replace into ` + table + ` select * from ` + table,
			} {
				_, err := db.Exec(attack)
				require.ErrorContains(t, err, table+": ", attack)
				shellRefuses(t, path, attack)
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
		"chunk_ways": `replace into chunk_ways select run_id, source, chunk, code + 100, way, rows from chunk_ways`,
		"chunk_rows": `replace into chunk_rows (rowid, run_id, source, chunk, slice, rows, offsets, lengths, lines, raw_hashes)
			select rowid, run_id, source, chunk, slice + 100, rows, offsets, lengths, lines, raw_hashes from chunk_rows`,
		"hashes": `replace into hashes (rowid, run_id, source, chunk, node, slice, rows, slots, hashes)
			select rowid, run_id, source, chunk, node, slice + 100, rows, slots, hashes from hashes`,
		"keys": `replace into keys (rowid, run_id, source, chunk, field, hashes)
			select rowid, run_id, source, chunk, 'other', hashes from keys`,
		"effects": `update or replace effects set state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0
			where run_id = 'r2' and kind = 'write'`,
	} {
		t.Run(table, func(t *testing.T) {
			before := content(t, db, table)
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
	require.Regexp(t, `append-only|only status|illegal change|what is written where|not the beginning|one place|never changes`, string(out), attack)
}

func TestAttacks(t *testing.T) {
	path := attacked(t)
	plain, strict := stranger(t, path, ""), stranger(t, path, foreignKeys)
	for name, attack := range map[string]struct{ sql, want string }{
		"a run's document changes":    {`update runs set document = 'x', status = 'failed', finished_us = 1`, "only status"},
		"a run's start changes":       {`update runs set started_us = 1, status = 'failed', finished_us = 1`, "only status"},
		"a run is born completed":     {`insert into runs select 'r3', pipeline, document, document_sha256, plan, plan_sha256, params, refs, code, actor, trigger, host, base_dir, started_us, 'completed', 1, '' from runs limit 1`, "begins as running"},
		"a status that is no word":    {`update runs set status = 'done', finished_us = 1`, "CHECK"},
		"an ended run without a time": {`update runs set status = 'failed'`, "CHECK"},
		"a reason without a status":   {`update runs set reason = 'x'`, "illegal change"},

		"a write is finalized before it began":     {`update effects set state = 'finalized', receipt = '{}', fence = 1 where run_id = 'r2' and kind = 'write'`, "illegal change"},
		"a write begins without a place":           {`update effects set state = 'in_flight', fence = 1 where run_id = 'r2' and kind = 'write'`, "CHECK"},
		"a fence that jumps":                       {`update effects set state = 'in_flight', fence = 2, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write'`, "illegal change"},
		"a finalized write begins again":           {`update effects set state = 'in_flight', fence = fence + 1, receipt = null where run_id = 'r1' and kind = 'write'`, "illegal change"},
		"a finalized write gets another receipt":   {`update effects set receipt = '{"x":1}' where run_id = 'r1'`, "illegal change"},
		"a finalized write moves":                  {`update effects set ordinal = ordinal + 10 where run_id = 'r1' and kind = 'write'`, "illegal change"},
		"a publication is finalized from reserved": {`update effects set state = 'finalized', receipt = '{}', fence = 1 where run_id = 'r2' and kind = 'publish'`, "illegal change"},
		"a write's hash changes":                   {`update effects set sha256 = lower(hex(zeroblob(32))), state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and chunk = 0`, "never changes"},
		"a write is born finalized":                {effectSQL(`'r2', 'review', 'strikes', 0, 'write', lower(hex(zeroblob(32))), 1, 1, 'finalized', 1, 9, 9, '{}', 1`), "not the beginning"},
		"a write of a chunk that did not pass":     {effectSQL(`'r2', 'review', 'strikes', 2, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"a write to a step":                        {effectSQL(`'r2', 'score', 'strikes', 0, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"a write without rows":                     {effectSQL(`'r2', 'all', 'strikes', 9, 'write', lower(hex(zeroblob(32))), 0, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"an event of an effect that is not there":  {`insert into effect_events values ('r2', 'review', 'strikes', 77, 1, 'began', '', 1, '')`, "FOREIGN KEY"},
		"an event that is no word":                 {`insert into effect_events values ('r1', 'review', 'strikes', 0, 1, 'guessed', '', 1, '')`, "CHECK"},
		"two parts of a sink in one place":         {`update effects set state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and sink = 'review'`, "one place"},
		"a chunk without a payload":                {`insert into chunks select run_id, source, 7, file, first_row, rows, first_line, first_offset, bytes, blank, comments, null, cursor, last, attempt, read_us from chunks limit 1`, "NOT NULL"},
		"a chunk with an empty payload":            {`insert into chunks select run_id, source, 7, file, first_row, rows, first_line, first_offset, bytes, blank, comments, '', cursor, last, attempt, read_us from chunks limit 1`, "CHECK"},
		"a passage of another run's chunk":         {`insert into passages values ('r3', 'strikes', 0, 0, 1, x'', 1, 1, 1, '')`, "FOREIGN KEY"},
		"a passage with other rows than its chunk": {`insert into passages values ('r2', 'strikes', 2, 3, 1, x'000000', 1, 1, 1, '')`, "FOREIGN KEY"},
		"codes that do not cover the rows":         {`insert into passages values ('r2', 'strikes', 2, 20, 1, x'00', 1, 1, 1, '')`, "CHECK"},
		"hashes of a chunk that did not pass":      {`insert into hashes values ('r2', 'strikes', 2, 'score', 0, 1, null, zeroblob(32))`, "FOREIGN KEY"},
		"hashes at a node of no run":               {`insert into hashes values ('r2', 'strikes', 0, 'nowhere', 0, 1, null, zeroblob(32))`, "FOREIGN KEY"},
		"half a hash":                              {`insert into hashes values ('r2', 'strikes', 0, 'keep', 0, 1, null, zeroblob(48))`, "CHECK"},
		"an error in another run's chunk":          {`insert into errors select 'r2', source, 999, node, 2, code, field, message, error_hash, raw, raw_is_text, raw_bytes, line, byte_offset, sent_to, at_us from errors where run_id = 'r1' limit 1`, "FOREIGN KEY"},
		"an artifact of a sink that is not there":  {`insert into artifacts values ('r2', 'x', 'p', 1, 1, lower(hex(zeroblob(32))), 1)`, "FOREIGN KEY"},
		"a way that another run took":              {`insert into chunk_ways select 'r2', source, 0, 200, way || '', rows from chunk_ways where run_id = 'r1' and chunk = 9 union select 'r2', 'strikes', 0, 200, '0123456789abcdef', 1`, "FOREIGN KEY"},
		"a way that no row took":                   {`insert into chunk_ways select run_id, source, 99, 200, way, 0 from chunk_ways limit 1`, "CHECK"},
		"text where a number belongs":              {`insert into actions values ('r1', 'nine', 'v', '', '', 1)`, "cannot store"},
		"2^63 is no number":                        {`insert into actions values ('r1', 9223372036854775808, 'v', '', '', 1)`, "cannot store"},
		"a node that looks like a reserved word":   {`insert into nodes select run_id, '__quarantine__', 99, kind, operation, config, determinism, guarantee, hashes from nodes where kind = 'step' limit 1`, "CHECK"},
	} {
		t.Run(name, func(t *testing.T) {
			db := plain
			if attack.want == "FOREIGN KEY" {
				db = strict
			}
			_, err := db.Exec(attack.sql)
			require.ErrorContains(t, err, attack.want)
		})
	}
}

func effectSQL(values string) string { return `insert into effects values (` + values + `)` }

// TestLegalOutcomes tries every outcome with every path and kind of sink: exactly the legal ones are taken.
func TestLegalOutcomes(t *testing.T) {
	db := stranger(t, attacked(t), foreignKeys)
	legal := 0
	for _, outcome := range []pipeline.Outcome{pipeline.Success, pipeline.Failure, pipeline.Transient, ""} {
		for _, path := range []pipeline.Path{
			pipeline.DefaultFlow, pipeline.GateRouted, pipeline.GateDiscarded, pipeline.FilterDropped, pipeline.OnErrorRouted,
			pipeline.QuarantinedAtSource, pipeline.Unrouted, pipeline.SinkDiscarded, "buffered", "",
		} {
			for _, sink := range []string{"", "review", pipeline.QuarantineSink, pipeline.DiscardSink, "__other__"} {
				tx, err := db.Begin()
				require.NoError(t, err)
				_, err = tx.Exec(`insert into ways values ('r1', '0000000000000000', 's', ?, ?, 'score', ?)`, string(outcome), string(path), sink)
				require.NoError(t, tx.Rollback())
				if err == nil {
					legal++
					require.Equal(t, path.Outcome(), outcome, "%s %s", outcome, path)
				}
			}
		}
	}
	require.Equal(t, 2+2+3*2+1, legal)
}

// TestGuarantees holds that every stored word of the packages above is taken.
func TestGuarantees(t *testing.T) {
	store, _ := create(t)
	defer store.Close()
	log := landscape.New(store, nil)
	run, nodes, edges, sources := landscapetest.Scene{Run: "words"}.Graph()
	add := func(n landscape.Node) {
		n.Seq = int64(len(nodes))
		n.Node = "extra" + string(rune('a'+len(nodes)))
		nodes = append(nodes, n)
	}
	for _, g := range []plugin.Guarantee{plugin.Transactional, plugin.Idempotent, plugin.Reconcilable, plugin.AtLeastOnce} {
		n := nodes[5]
		n.Guarantee = g
		add(n)
	}
	for _, d := range []pipeline.Determinism{
		pipeline.Deterministic, pipeline.Seeded, pipeline.ReadsIO, pipeline.WritesIO, pipeline.ExternalCall, pipeline.NonDeterministic,
	} {
		n := nodes[1]
		n.Determinism = d
		add(n)
	}
	require.NoError(t, log.BeginRun(t.Context(), run, nodes, edges, sources))
}
