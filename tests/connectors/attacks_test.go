package connectors_test

import (
	"cmp"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"waymark/landscape"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/tests/sample"
)

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("flip", 2, flip)
	sqlite.MustRegisterDeterministicScalarFunction("swap", 2, swap)
	sqlite.MustRegisterDeterministicScalarFunction("sha256", 1, digest)
}

// flip is flip(blob, i): with another byte i.
func flip(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	blob := append([]byte(nil), args[0].([]byte)...)
	blob[args[1].(int64)] ^= 1
	return blob, nil
}

// swap is swap(blob, n): the first two different items of n bytes that follow each other have changed places.
func swap(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	blob, n := append([]byte(nil), args[0].([]byte)...), int(args[1].(int64))
	for at := n; at+n <= len(blob); at += n {
		if a, b := string(blob[at-n:at]), string(blob[at:at+n]); a != b {
			copy(blob[at-n:], b+a)
			break
		}
	}
	return blob, nil
}

// digest is sha256(text), as it is recorded.
func digest(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	sum := sha256.Sum256([]byte(args[0].(string)))
	return hex.EncodeToString(sum[:]), nil
}

const inWhole = ` where run_id = 'whole' and source = 'orders' and chunk = 0`

// ofRun deletes what is recorded of a run.
func ofRun(run string) (statements []string) {
	for _, table := range landscape.Tables() {
		if table.Columns[0].Name == "run_id" && table.Name != (landscape.Start{}).Table() {
			statements = append(statements, fmt.Sprintf(`delete from %s where run_id = '%s'`, table.Name, run))
		}
	}
	return statements
}

// TestOwner is a list of what the owner of a record may do to it, and who notices: opening it to write ("open"), "log" check, or "verify".
func TestOwner(t *testing.T) {
	whole := build(t)
	for _, run := range []string{"whole", "stopped", "newest"} {
		require.Empty(t, whole.found(run), run)
	}
	const row, noRoot = "is not as it was sealed, in ", "seal_broken orders chunk 0: what is recorded of its rows does not have the root"
	for _, attack := range sample.Of(6, []struct {
		name       string
		run        string // "" for whole
		statements []string
		do         func(house)
		want       string
	}{
		{name: "1 a way code", statements: []string{`update passages set way_codes = flip(way_codes, 0)` + inWhole + ` and lane = 0`}, want: row + "passages"},
		{name: "2 the codes of two rows", statements: []string{`update passages set way_codes = swap(way_codes, 1)` + inWhole + ` and lane = 0`}, want: row + "passages"},
		{name: "3 the hash of a node", statements: []string{`update hashes set hashes = flip(hashes, 0)` + inWhole}, want: row + "hashes"},
		{name: "4 the hashes of two rows", statements: []string{`update hashes set hashes = swap(hashes, 32)` + inWhole}, want: row + "hashes"},
		{name: "5 a record, with its pack and its hash", do: otherRecord, want: noRoot},
		{name: "6 where a record is", statements: []string{`update chunk_rows set offsets = flip(offsets, 3)` + inWhole}, want: row + "chunk_rows"},
		{name: "7 a key", statements: []string{`update key_hashes set hashes = flip(hashes, 0)` + inWhole},
			want: row + "key_hashes"},
		{name: "8 who was the first with a value", statements: []string{`update repeats set firsts = flip(firsts, 7) where run_id = 'whole'`}, want: row + "repeats"},
		{name: "9 the code of an error", statements: []string{`update errors set code = 'HARMLESS' where run_id = 'whole'`}, want: row + "errors"},
		{name: "10 the message of an error", statements: []string{`update errors set message = 'nothing' where run_id = 'whole'`}, want: row + "errors"},
		{name: "11 an error less", statements: []string{`delete from errors where run_id = 'whole' and row = 6`}, want: row + "errors"},
		{name: "12 an error more", statements: []string{`create table one as select * from errors where run_id = 'whole' and row = 6`, `update one set row = 7`, `insert into errors select * from one`, `drop table one`}, want: row + "errors"},
		{name: "13 a member of another batch", statements: []string{`update members set batches = swap(batches, 4) where run_id = 'whole' and chunk = 0`}, want: "seal_broken members: whole/"},
		{name: "14 the parent of a row", statements: []string{`update parents set batches = flip(batches, 3) where run_id = 'whole'`}, want: "seal_broken per_customer chunk 0: "},
		{name: "15 how a row was merged",
			statements: []string{`update merge_codes set codes = swap(codes, 1)` + inWhole}, want: row + "merge_codes"},
		{name: "16 how many rows went a way", statements: []string{`update chunk_ways set rows = rows + 1` + inWhole}, want: "seal_broken chunk_ways: whole/orders/0/"},
		{name: "17 what two codes mean", statements: []string{
			`create table one as select lane, code, way from chunk_ways` + inWhole + ` and lane = 0 and code < 2`,
			`update chunk_ways set way = way || '?'` + inWhole + ` and lane = 0 and code < 2`,
			`update chunk_ways set way = (select way from one where one.code = 1 - chunk_ways.code)` + inWhole + ` and lane = 0 and code < 2`,
			`drop table one`}, want: "seal_broken orders chunk 0: "},
		{name: "18 an output, with its digest", run: "newest", do: otherOutput, want: "seal_broken artifacts: newest/high"},
		{name: "19 a receipt", statements: []string{`update effects set receipt = json_set(receipt, '$.more', 1) where run_id = 'whole'`}, want: "seal_broken effects: whole/"},
		{name: "20 a fence", statements: []string{`update effects set fence = fence + 1 where run_id = 'whole'`}, want: "seal_broken effects: whole/"},
		{name: "20 an attempt", statements: []string{`update passages set attempt = attempt + 1 where run_id = 'whole'`}, want: "seal_broken passages: whole/"},
		{name: "21 what became of an effect", statements: []string{`delete from effect_events where run_id = 'whole'`}, want: "seal_broken effect_events: a record that was sealed is gone"},
		{name: "22 a plan, with its digest", statements: []string{
			`update runs set plan = replace(plan, '"orders"', '"others"') where run_id = 'whole'`, `update runs set plan_sha256 = sha256(plan) where run_id = 'whole'`}, want: "seal_broken runs: whole "},
		{name: "23 a document, with its digest", statements: []string{
			`update runs set document = replace(document, '> 0', '> 1') where run_id = 'whole'`, `update runs set document_sha256 = sha256(document) where run_id = 'whole'`}, want: "log: run whole: is recorded with another pipeline or document"},
		{name: "24 a parameter", statements: []string{`update runs set params = '{"limit": "21"}' where run_id = 'whole'`}, want: "seal_broken runs: whole "},
		{name: "25 how a run ended", statements: []string{`update runs set status = 'completed' where run_id = 'whole'`}, want: "seal_broken runs: whole "},
		{name: "26 who gave an order", run: "stopped", statements: []string{`update actions set actor = 'eve' where run_id = 'stopped'`}, want: "seal_broken actions: stopped/"},
		{name: "27 an order less", run: "stopped", statements: []string{`delete from actions where run_id = 'stopped' and seq = 0`}, want: "seal_broken actions: a record that was sealed is gone"},
		{name: "28 an order more", statements: []string{`insert into actions values ('whole', 0, 'pause', 'ann', 'lunch', 1)`}, want: "seal_broken actions: whole/0 was added"},
		{name: "29 a resumption less", run: "stopped", statements: []string{
			`delete from resumptions where run_id = 'stopped'`, `update runs set epoch = 0 where run_id = 'stopped'`}, want: "seal_broken resumptions: a record that was sealed is gone"},
		{name: "30 a day earlier", statements: []string{
			`update runs set started_us = started_us - 86400000000, finished_us = finished_us - 86400000000 where run_id = 'whole'`}, want: "log: run whole: is recorded as begun at "},
		{name: "31 a run less", run: "newest", statements: ofRun("whole"), want: "log: run whole: began, says the log, and is not recorded"},
		{name: "32 also its entries", run: "newest", statements: append(ofRun("whole"), `delete from log where about like '%/whole'`), want: "log: entry 2: is missing"},
		{name: "33 a forged run", statements: copyOf("whole", "forged"), want: "log: run forged: has no entry in the log"},
		{name: "35 yesterday's record, and a new run", do: yesterday, want: "LOG_ROLLED_BACK"},
		{name: "36 two records that go on from one", do: fork, want: "log: log: the signed head"},
		{name: "37 entries change places", statements: []string{
			`update log set position = 77 where position = 2`, `update log set position = 2 where position = 3`, `update log set position = 3 where position = 77`}, want: "log: log_hashes: the hash"},
		{name: "38 a guard less", do: func(h house) { h.owns(`drop trigger hashes_keep`) }, want: "schema_differs trigger hashes_keep"},
		{name: "39 a view that hides", do: func(h house) {
			h.owns(`drop view quarantined_rows`, `create view quarantined_rows as select * from errors where false`)
		}, want: "schema_differs view quarantined_rows"},
		{name: "40 other salts", statements: []string{`update salts set keys = flip(keys, 0) where run_id = 'whole'`}, want: noRoot},
		{name: "the root of a chunk", statements: []string{`update chunk_seals set root = flip(root, 0)` + inWhole}, want: "seal_broken chunk_seals: whole/orders/0"},
		{name: "the seal of a run", statements: []string{`update run_seals set root = flip(root, 0) where run_id = 'whole'`}, want: "log: run whole: "},
		{name: "a run without its seal", statements: []string{`delete from run_seals where run_id = 'whole'`}, want: "log: run whole: was sealed, says entry "},
	}) {
		t.Run(attack.name, func(t *testing.T) {
			h := whole.copied(t)
			if attack.statements != nil {
				h.attack(attack.statements...)
			}
			if attack.do != nil {
				attack.do(h)
			}
			require.Contains(t, strings.Join(h.found(cmp.Or(attack.run, "whole")), "\n"), attack.want)
		})
	}
}

// owns executes statements, and puts nothing back.
func (h house) owns(statements ...string) {
	h.Helper()
	db := h.sql()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		require.NoError(h, err, statement)
	}
	require.NoError(h, db.Close())
}

// copyOf makes one more run of what is recorded of another.
func copyOf(run, id string) (statements []string) {
	for _, table := range landscape.Tables() {
		if table.Columns[0].Name != "run_id" {
			continue
		}
		statements = append(statements, fmt.Sprintf(`create table one as select * from %s where run_id = '%s'`, table.Name, run),
			fmt.Sprintf(`update one set run_id = '%s' where true`, id), fmt.Sprintf(`insert into %s select * from one`, table.Name), `drop table one`)
	}
	return statements
}

// otherRecord changes the first record of a run in the store, and its hash wherever that is recorded.
func otherRecord(h house) {
	backend, err := fsstore.Open(filepath.Join(h.state, "payloads"))
	require.NoError(h, err)
	store := payload.New(backend, payload.Options{})
	db := h.sql()
	var name string
	require.NoError(h, db.QueryRow(`select pack from chunks`+inWhole).Scan(&name))
	require.NoError(h, db.Close())
	stored, err := store.Get(h.Context(), payload.Digest(name))
	require.NoError(h, err)
	pack, err := payload.DecodePack(stored)
	require.NoError(h, err)
	record := pack.Data[pack.Offsets[0] : pack.Offsets[0]+pack.Lens[0]]
	record[len(record)-1] = '9'
	hash := sha256.Sum256(record)
	copy(pack.Hashes, hash[:])
	changed, err := payload.EncodePack(nil, pack)
	require.NoError(h, err)
	other, err := store.Put(h.Context(), changed)
	require.NoError(h, err)
	h.attack(`update chunks set pack = '`+string(other)+`'`+inWhole,
		fmt.Sprintf(`update chunk_rows set raw_hashes = cast(x'%x' || substr(raw_hashes, 33) as blob)`+inWhole, hash))
}

// otherOutput replaces a file that a run wrote, and its digest.
func otherOutput(h house) {
	path := filepath.Join(h.work, "out", "newest-high.csv")
	was, err := os.ReadFile(path)
	require.NoError(h, err)
	h.Cleanup(func() { require.NoError(h, os.WriteFile(path, was, 0o600)) })
	now := append(was[:len(was)-2:len(was)-2], '9', '\n')
	require.NoError(h, os.WriteFile(path, now, 0o600))
	h.attack(fmt.Sprintf(`update artifacts set sha256 = '%x' where run_id = 'newest' and sink = 'high'`, sha256.Sum256(now)))
}

// yesterday puts the record back that was there before another run.
func yesterday(h house) {
	database := filepath.Join(h.state, "landscape.db")
	was, err := os.ReadFile(database)
	require.NoError(h, err)
	home, err := h.open()
	require.NoError(h, err)
	h.run(home, "more")
	require.NoError(h, home.Close())
	require.NoError(h, os.WriteFile(database, was, 0o600))
}

// fork lets two copies of a record go on, each with a run of its own, and shows an auditor the one with what the other brought to its anchor.
func fork(h house) {
	twin := h.copied(h.T)
	for i, one := range []house{h, twin} {
		home, err := one.open()
		require.NoError(h, err)
		one.run(home, []string{"more", "other"}[i])
		require.NoError(h, home.Close())
	}
	require.NoError(h, os.RemoveAll(filepath.Join(h.state, "log")))
	require.NoError(h, os.CopyFS(filepath.Join(h.state, "log"), os.DirFS(filepath.Join(twin.state, "log"))))
}
