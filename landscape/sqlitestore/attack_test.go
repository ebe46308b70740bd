package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
)

// attacked returns the path of a landscape with three runs: r1 is complete but not finished, r2 has read three chunks, of
// which two passed, and r3 forks, joins, gathers and is complete but not finished.
func attacked(t *testing.T) string {
	t.Helper()
	store, path := create(t)
	log := landscape.New(store, nil)
	scene := landscapetest.Scene{Run: "r1", Chunks: 2, ChunkRows: 20}
	require.NoError(t, scene.PlayToEnd(t.Context(), log))
	require.NoError(t, log.RecordAction(t.Context(), "r1", "cancel", "ann", ""))
	require.NoError(t, log.RecordEvent(t.Context(), "r1", "seen", ""))
	require.NoError(t, log.RecordHeal(t.Context(), scene.End().Digests[2:66], "short", "x"))
	_, err := log.Claim(t.Context(), landscape.Claims{
		Run: "r1", Node: "strikes", Field: "f", Hashes: [][16]byte{{}}, Tokens: []landscape.Token{{Source: "strikes", Row: 1}},
	})
	require.NoError(t, err)
	other := landscapetest.Scene{Run: "r2", Chunks: 3, ChunkRows: 20}
	require.NoError(t, other.Begin(t.Context(), log))
	require.NoError(t, other.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), other.Passage(0)))
	require.NoError(t, log.RecordPassage(t.Context(), other.Passage(1)))
	forks := landscapetest.GraphScene{Run: "r3", Chunks: 3, ChunkRows: 6}
	require.NoError(t, forks.PlayToEnd(t.Context(), log))
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
		"chunk_ways": `replace into chunk_ways select run_id, source, chunk, lane, code + 100, way, rows from chunk_ways`,
		"chunk_rows": `replace into chunk_rows (rowid, run_id, source, chunk, slice, rows, offsets, lengths, lines, raw_hashes)
			select rowid, run_id, source, chunk, slice + 100, rows, offsets, lengths, lines, raw_hashes from chunk_rows`,
		"hashes": `replace into hashes (rowid, run_id, source, chunk, lane, node, slice, rows, slots, hashes)
			select rowid, run_id, source, chunk, lane, node, slice + 100, rows, slots, hashes from hashes`,
		"passages": `replace into passages (rowid, run_id, source, chunk, lane, rows, code_bytes, way_codes, started_us, finished_us, attempt, worker)
			select rowid, run_id, source, chunk, lane + 100, rows, code_bytes, way_codes, 1, 1, 1, '' from passages`,
		"keys": `replace into keys (rowid, run_id, source, chunk, field, hashes)
			select rowid, run_id, source, chunk, 'other', hashes from keys`,
		"lanes": `replace into lanes select run_id, lane + 100, source, name, parent, node, branch, fork from lanes`,
		"folds": `replace into folds select run_id, node, fold + 100, kind, source, chunk, at_us, state, opened_batches, open_batches, held_rows, out_rows
			from folds where kind <> 'end'`,
		"folds of kind end": `replace into folds select run_id, node, fold + 100, kind, source, chunk, at_us, state, opened_batches, open_batches, held_rows, out_rows
			from folds where kind = 'end'`,
		"members": `replace into members (rowid, run_id, node, source, chunk, lane, slice, fold, rows, batches)
			select rowid, run_id, node, source, chunk, lane, slice + 100, fold, rows, batches from members`,
		"joins": `replace into joins (rowid, run_id, source, chunk, lane, rows, code_bytes, codes)
			select rowid, run_id, source, chunk, lane + 100, rows, code_bytes, codes from joins`,
		"chunk_joins": `replace into chunk_joins select run_id, source, chunk, lane, code + 100, kind, rows from chunk_joins`,
		"merges": `replace into merges select run_id, node, 3 - batch, kind, source, lane, row, arrivals, wait_ms, 100 + out_row
			from merges where batch = 1`,
		"merges by row": `replace into merges select run_id, node, 3 - batch, kind, source, lane, 100 + row, arrivals, wait_ms, out_row
			from merges where batch = 1`,
		"parents": `replace into parents (rowid, run_id, source, chunk, slice, rows, batches, tokens)
			select rowid, run_id, source, chunk, slice + 100, rows, batches, tokens from parents`,
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
	require.Regexp(t, `append-only|only status|illegal change|what is written where|not the beginning|one place|never changes`, string(out), attack)
}

func TestAttacks(t *testing.T) {
	path := attacked(t)
	plain, strict := stranger(t, path, ""), stranger(t, path, foreignKeys)
	for name, attack := range map[string]struct{ sql, want string }{
		"a run's document changes":    {`update runs set document = 'x', status = 'failed', finished_us = 1`, "only status"},
		"a run's start changes":       {`update runs set started_us = 1, status = 'failed', finished_us = 1`, "only status"},
		"a run is born completed":     {`insert into runs select 'r4', pipeline, document, document_sha256, plan, plan_sha256, params, refs, code, actor, trigger, host, base_dir, started_us, 'completed', 1, '' from runs limit 1`, "begins as running"},
		"a status that is no word":    {`update runs set status = 'done', finished_us = 1`, "CHECK"},
		"an ended run without a time": {`update runs set status = 'failed'`, "CHECK"},
		"a reason without a status":   {`update runs set reason = 'x'`, "illegal change"},

		"a write is finalized before it began":      {`update effects set state = 'finalized', receipt = '{}', fence = 1 where run_id = 'r2' and kind = 'write'`, "illegal change"},
		"a write begins without a place":            {`update effects set state = 'in_flight', fence = 1 where run_id = 'r2' and kind = 'write'`, "CHECK"},
		"a fence that jumps":                        {`update effects set state = 'in_flight', fence = 2, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write'`, "illegal change"},
		"a finalized write begins again":            {`update effects set state = 'in_flight', fence = fence + 1, receipt = null where run_id = 'r1' and kind = 'write'`, "illegal change"},
		"a finalized write gets another receipt":    {`update effects set receipt = '{"x":1}' where run_id = 'r1'`, "illegal change"},
		"a finalized write moves":                   {`update effects set ordinal = ordinal + 10 where run_id = 'r1' and kind = 'write'`, "illegal change"},
		"a publication is finalized from reserved":  {`update effects set state = 'finalized', receipt = '{}', fence = 1 where run_id = 'r2' and kind = 'publish'`, "illegal change"},
		"a write's hash changes":                    {`update effects set sha256 = lower(hex(zeroblob(32))), state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and chunk = 0`, "never changes"},
		"a write is born finalized":                 {effectSQL(`'r2', 'review', 'strikes', 0, 'write', lower(hex(zeroblob(32))), 1, 1, 'finalized', 1, 9, 9, '{}', 1`), "not the beginning"},
		"a write of a chunk that did not pass":      {effectSQL(`'r2', 'review', 'strikes', 2, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"a write to a step":                         {effectSQL(`'r2', 'score', 'strikes', 0, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"a write without rows":                      {effectSQL(`'r2', 'all', 'strikes', 9, 'write', lower(hex(zeroblob(32))), 0, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"an event of an effect that is not there":   {`insert into effect_events values ('r2', 'review', 'strikes', 77, 1, 'began', '', 1, '')`, "FOREIGN KEY"},
		"an event that is no word":                  {`insert into effect_events values ('r1', 'review', 'strikes', 0, 1, 'guessed', '', 1, '')`, "CHECK"},
		"two parts of a sink in one place":          {`update effects set state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and sink = 'review'`, "one place"},
		"a chunk without a payload":                 {`insert into chunks select run_id, source, 7, file, first_row, rows, first_line, first_offset, bytes, blank, comments, null, cursor, last, fold, attempt, read_us from chunks limit 1`, "NOT NULL"},
		"a chunk with an empty payload":             {`insert into chunks select run_id, source, 7, file, first_row, rows, first_line, first_offset, bytes, blank, comments, '', cursor, last, fold, attempt, read_us from chunks limit 1`, "CHECK"},
		"a passage of another run's chunk":          {`insert into passages values ('r4', 'strikes', 0, 0, 0, 1, x'', 1, 1, 1, '')`, "FOREIGN KEY"},
		"a passage with other rows than its chunk":  {`insert into passages values ('r2', 'strikes', 2, 0, 3, 1, x'000000', 1, 1, 1, '')`, "FOREIGN KEY"},
		"codes that do not cover the rows":          {`insert into passages values ('r2', 'strikes', 2, 0, 20, 1, x'00', 1, 1, 1, '')`, "CHECK"},
		"hashes of a chunk that did not pass":       {`insert into hashes values ('r2', 'strikes', 2, 0, 'score', 0, 1, null, zeroblob(32))`, "FOREIGN KEY"},
		"hashes at a node of no run":                {`insert into hashes values ('r2', 'strikes', 0, 0, 'nowhere', 0, 1, null, zeroblob(32))`, "FOREIGN KEY"},
		"half a hash":                               {`insert into hashes values ('r2', 'strikes', 0, 0, 'keep', 0, 1, null, zeroblob(48))`, "CHECK"},
		"an error in another run's chunk":           {`insert into errors select 'r2', source, 999, lane, node, 2, code, field, message, error_hash, raw, raw_is_text, raw_bytes, line, byte_offset, sent_to, at_us from errors where run_id = 'r1' limit 1`, "FOREIGN KEY"},
		"an artifact of a sink that is not there":   {`insert into artifacts values ('r2', 'x', 'p', 1, 1, lower(hex(zeroblob(32))), 1)`, "FOREIGN KEY"},
		"a way that another run took":               {`insert into chunk_ways select 'r2', source, 0, lane, 200, way || '', rows from chunk_ways where run_id = 'r1' and chunk = 9 union select 'r2', 'strikes', 0, 0, 200, '0123456789abcdef', 1`, "FOREIGN KEY"},
		"a way that no row took":                    {`insert into chunk_ways select run_id, source, 99, lane, 200, way, 0 from chunk_ways limit 1`, "CHECK"},
		"a chunk of a source from a fold":           {chunkSQL(`'r1', 'strikes', 9`, 0), "a source's has none"},
		"a chunk of a barrier from no fold":         {chunkSQL(`'r3', 'totals', 9`, "null"), "has a fold"},
		"a chunk of a fold that is not there":       {chunkSQL(`'r3', 'totals', 9`, 77), "FOREIGN KEY"},
		"a passage in another source's lane":        {`insert into passages select run_id, source, chunk, 4, rows, code_bytes, way_codes, 1, 1, 1, '' from passages where run_id = 'r3' and source = 'orders' and lane = 0`, "FOREIGN KEY"},
		"a way of another lane":                     {`insert into chunk_ways select run_id, source, chunk, 1, 99, way, 1 from chunk_ways where run_id = 'r3' and source = 'orders' and lane = 0 limit 1`, "FOREIGN KEY"},
		"a lane of no source":                       {`insert into lanes values ('r3', 99, 'nowhere', '', null, '', '', '')`, "FOREIGN KEY"},
		"a lane of another source's lane":           {`insert into lanes values ('r3', 99, 'totals', 'x', 0, 'split', 'x', 'split')`, "FOREIGN KEY"},
		"a lane that is its own parent":             {`insert into lanes values ('r3', 99, 'orders', 'x', 99, 'split', 'x', 'split')`, "CHECK"},
		"a second root lane":                        {`insert into lanes values ('r3', 99, 'orders', '', null, '', '', '')`, "append-only"},
		"a lane without a fork":                     {`insert into lanes values ('r3', 99, 'orders', 'x', 0, 'split', '', '')`, "CHECK"},
		"a branch without its name":                 {`insert into lanes values ('r3', 99, 'orders', 'x', 0, 'split', '', 'split')`, "CHECK"},
		"a fold of a chunk that did not pass":       {`insert into folds values ('r3', 'totals', 77, 'chunk', 'orders', 77, 1, null, 0, 0, 0, 0)`, "did not go through"},
		"a fold of no barrier":                      {`insert into folds values ('r3', 'price', 0, 'tick', '', -1, 1, null, 0, 0, 0, 0)`, "FOREIGN KEY"},
		"a fold that is no word":                    {`insert into folds values ('r3', 'totals', 77, 'guess', '', -1, 1, null, 0, 0, 0, 0)`, "CHECK"},
		"a tick with a chunk":                       {`insert into folds values ('r3', 'totals', 77, 'tick', 'orders', 0, 1, null, 0, 0, 0, 0)`, "CHECK"},
		"a chunk folded twice":                      {`insert into folds select run_id, node, 77, kind, source, chunk, 1, null, 0, 0, 0, 0 from folds where run_id = 'r3' and node = 'totals' and fold = 0`, "append-only"},
		"two ends of a barrier":                     {`insert into folds values ('r3', 'totals', 77, 'end', '', -1, 1, null, 0, 0, 0, 0)`, "append-only"},
		"a fold of a source":                        {`insert into folds values ('r1', 'strikes', 0, 'tick', '', -1, 1, null, 0, 0, 0, 0)`, "not of a barrier"},
		"more open batches than were opened":        {`insert into folds values ('r3', 'totals', 77, 'tick', '', -1, 1, null, 1, 2, 0, 0)`, "CHECK"},
		"a batch that ends on another path":         {batchSQL(`0, 'rows', 'default_flow', 1, 1, 1, null`), "CHECK"},
		"a batch that nothing fired":                {batchSQL(`0, '', 'batch_consumed', 1, 1, 1, null`), "CHECK"},
		"a batch fired by no word":                  {batchSQL(`0, 'whim', 'batch_consumed', 1, 1, 1, null`), "CHECK"},
		"a batch that fired before it opened":       {batchSQL(`0, 'rows', 'batch_consumed', 1, 2, 1, null`), "CHECK"},
		"a batch without rows":                      {batchSQL(`0, 'rows', 'batch_consumed', 0, 1, 1, null`), "CHECK"},
		"a batch of a fold that is not there":       {batchSQL(`77, 'rows', 'batch_consumed', 1, 1, 1, null`), "FOREIGN KEY"},
		"a batch that is late for itself":           {batchSQL(`0, 'arrival', 'branch_not_needed', 1, 1, 1, 77`), "CHECK"},
		"a batch that is late for no batch":         {batchSQL(`0, 'arrival', 'branch_not_needed', 1, 1, 1, 78`), "FOREIGN KEY"},
		"a consumed batch that is late":             {batchSQL(`0, 'rows', 'batch_consumed', 1, 1, 1, 1`), "CHECK"},
		"members that do not fill their column":     {`insert into members values ('r3', 'totals', 'orders', 0, 3, 9, 0, 2, zeroblob(4))`, "CHECK"},
		"half a member":                             {`insert into members values ('r3', 'totals', 'orders', 0, 3, 9, 0, 1, zeroblob(6))`, "CHECK"},
		"members of a lane without a passage":       {`insert into members values ('r3', 'totals', 'orders', 77, 3, 0, 0, 1, zeroblob(4))`, "FOREIGN KEY"},
		"members of a fold that is not there":       {`insert into members values ('r3', 'totals', 'orders', 0, 3, 9, 77, 1, zeroblob(4))`, "FOREIGN KEY"},
		"a merge without a kind":                    {mergeSQL(`null, '[]', 0, null`), "not the merge of its batch"},
		"a merge of a kind that is not there":       {mergeSQL(`'0123456789abcdef', '[{},{}]', 0, 9`), "not the merge of its batch"},
		"a merge without arrivals":                  {mergeSQL(`kind, null, 0, 9`), "not the merge of its batch"},
		"a merge with other arrivals":               {mergeSQL(`kind, '[{}]', 0, 9`), "not the merge of its batch"},
		"a merge that waited for less than nothing": {mergeSQL(`kind, arrivals, -1, 9`), "CHECK"},
		"a merge without a row":                     {mergeSQL(`kind, arrivals, 0, null`), "not the merge of its batch"},
		"a merge of a batch that is not there":      {`insert into merges select run_id, node, 77, kind, source, lane, 77, arrivals, 0, 77 from merges limit 1`, "not the merge of its batch"},
		"a merge kind without metadata":             {kindSQL(`null, 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "NOT NULL"},
		"a merge kind without what was expected":    {kindSQL(`'first', 'union', null, null, null, '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "NOT NULL"},
		"a merge kind without what fired it":        {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', null, '[]', '{}', 'merged', ''`), "NOT NULL"},
		"a merge kind without origins":              {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', null, 'merged', ''`), "NOT NULL"},
		"a merge kind with a list that is none":     {kindSQL(`'first', 'union', null, null, '["a"]', '"a"', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "CHECK"},
		"a quorum without its number":               {kindSQL(`'quorum', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "CHECK"},
		"a number without a quorum":                 {kindSQL(`'first', 'union', 1, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "CHECK"},
		"nothing made of branches that came":        {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'nothing', ''`), "CHECK"},
		"a row made of nothing":                     {kindSQL(`'first', 'union', null, null, '["a"]', '[]', '{}', '[]', 'lost', '[]', '{}', 'merged', ''`), "CHECK"},
		"a refusal without its code":                {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'refused', ''`), "CHECK"},
		"a code without a refusal":                  {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', 'X'`), "CHECK"},
		"joins of a chunk that did not pass":        {`insert into joins values ('r2', 'strikes', 2, 0, 20, 1, zeroblob(20))`, "did not go through"},
		"joins that do not cover the rows":          {`insert into joins values ('r3', 'orders', 0, 1, 6, 1, zeroblob(5))`, "CHECK"},
		"joins of another number of rows":           {`insert into joins values ('r3', 'orders', 0, 1, 5, 1, zeroblob(5))`, "FOREIGN KEY"},
		"joins of no kind":                          {`insert into chunk_joins values ('r3', 'orders', 0, 3, 99, '0123456789abcdef', 1)`, "FOREIGN KEY"},
		"parents of a chunk that is not there":      {`insert into parents values ('r3', 'totals', 77, 0, 1, zeroblob(4), null)`, "FOREIGN KEY"},
		"parents that do not cover the rows":        {`insert into parents values ('r3', 'totals', 0, 9, 2, zeroblob(4), null)`, "CHECK"},
		"half a parent":                             {`insert into parents values ('r3', 'totals', 0, 9, 1, zeroblob(4), zeroblob(4))`, "CHECK"},
		"a table without its digest":                {`insert into tables values ('r3', 'decide', 'p', '', 1, 1)`, "CHECK"},
		"a table of no node":                        {`insert into tables values ('r3', 'nowhere', 'p', lower(hex(zeroblob(32))), 1, 1)`, "FOREIGN KEY"},
		"a claim of a node that is not there":       {`insert into claims values ('r3', 'nowhere', 'f', zeroblob(16), 'orders', 0, 1)`, "FOREIGN KEY"},
		"keys of a chunk that did not pass":         {`insert into keys values ('r2', 'strikes', 2, 'f', zeroblob(80))`, "did not go through"},
		"a source whose rows are its records'":      {`insert into nodes select 'r3', 'x', 99, kind, operation, config, determinism, guarantee, 'record' from nodes where kind = 'source' limit 1`, "CHECK"},
		"text where a number belongs":               {`insert into actions values ('r1', 'nine', 'v', '', '', 1)`, "cannot store"},
		"2^63 is no number":                         {`insert into actions values ('r1', 9223372036854775808, 'v', '', '', 1)`, "cannot store"},
		"a node that looks like a reserved word":    {`insert into nodes select run_id, '__quarantine__', 99, kind, operation, config, determinism, guarantee, hashes from nodes where kind = 'step' limit 1`, "CHECK"},
	} {
		t.Run(name, func(t *testing.T) {
			db := plain
			if attack.want == "FOREIGN KEY" {
				db = strict
			}
			tx, err := db.Begin()
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // it may be over
			_, err = tx.Exec(attack.sql)
			if err == nil {
				err = tx.Commit()
			}
			require.ErrorContains(t, err, attack.want)
		})
	}
}

// chunkSQL inserts the first chunk of r1 again, with another key and fold.
func chunkSQL(key string, fold any) string {
	return fmt.Sprintf(`insert into chunks select %s, file, first_row, rows, first_line, first_offset, bytes, blank, comments, pack, cursor, last, %v, 1, 1
		from chunks where run_id = 'r1' and chunk = 0`, key, fold)
}

func batchSQL(values string) string {
	return `insert into batches values ('r3', 'totals', 77, ` + values + `)`
}

// mergeSQL inserts a merge of a batch that has none, about another fork parent, with columns of one that is there.
func mergeSQL(columns string) string {
	const batch = `insert into batches values ('r3', 'both', 77, 0, 'first', 'coalesced', 2, 1, 1, null); `
	kind, rest, _ := strings.Cut(columns, ", ")
	return batch + `insert into merges select run_id, node, 77, ` + kind + `, source, lane, 77, ` + rest + ` from merges where run_id = 'r3' and batch = 1`
}

func kindSQL(values string) string {
	return `insert into merge_kinds values ('r3', '0123456789abcdef', 'decide', ` + values + `)`
}

func effectSQL(values string) string { return `insert into effects values (` + values + `)` }

// TestLegalOutcomes tries every outcome with every path and kind of sink: exactly the legal ones are taken.
func TestLegalOutcomes(t *testing.T) {
	db := stranger(t, attacked(t), foreignKeys)
	legal := 0
	for _, outcome := range []pipeline.Outcome{pipeline.Success, pipeline.Failure, pipeline.Transient, ""} {
		for _, path := range []pipeline.Path{
			pipeline.DefaultFlow, pipeline.GateRouted, pipeline.GateDiscarded, pipeline.FilterDropped, pipeline.OnErrorRouted,
			pipeline.QuarantinedAtSource, pipeline.Unrouted, pipeline.SinkDiscarded, pipeline.Coalesced, pipeline.ForkParent,
			pipeline.ExpandParent, pipeline.BatchConsumed, pipeline.BranchNotNeeded, pipeline.Buffered, "",
		} {
			for _, sink := range []string{"", "review", pipeline.QuarantineSink, pipeline.DiscardSink, "__other__"} {
				tx, err := db.Begin()
				require.NoError(t, err)
				_, err = tx.Exec(`insert into ways values ('r1', '0000000000000000', 's', ?, ?, 'score', ?, 0, 0)`, string(outcome), string(path), sink)
				require.NoError(t, tx.Rollback())
				if err == nil {
					legal++
					require.Equal(t, path.Outcome(), outcome, "%s %s", outcome, path)
				}
			}
		}
	}
	require.Equal(t, 2+2+3*2+1+1+2+1, legal, "what ends in a batch has no way that says so")
}

// TestGuarantees holds that every stored word of the packages above is taken.
func TestGuarantees(t *testing.T) {
	store, _ := create(t)
	defer store.Close()
	log := landscape.New(store, nil)
	run, graph := landscapetest.Scene{Run: "words"}.Graph()
	add := func(n landscape.Node) {
		n.Seq = int64(len(graph.Nodes))
		n.Node = "extra" + string(rune('a'+len(graph.Nodes)))
		graph.Nodes = append(graph.Nodes, n)
	}
	for _, g := range []plugin.Guarantee{plugin.Transactional, plugin.Idempotent, plugin.Reconcilable, plugin.AtLeastOnce} {
		n := graph.Nodes[5]
		n.Guarantee = g
		add(n)
	}
	for _, d := range []pipeline.Determinism{
		pipeline.Deterministic, pipeline.Seeded, pipeline.ReadsIO, pipeline.WritesIO, pipeline.ExternalCall, pipeline.NonDeterministic,
	} {
		n := graph.Nodes[1]
		n.Determinism = d
		add(n)
	}
	for _, h := range []landscape.HashMode{landscape.OwnHashes, landscape.InputHashes, landscape.RecordHashes} {
		n := graph.Nodes[1]
		n.Hashes = h
		add(n)
	}
	require.NoError(t, log.BeginRun(t.Context(), run, graph))
}
