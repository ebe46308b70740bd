package connectors_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/audit/evidence/keys"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/held"
	"waymark/tests/system"
)

// everything leaves records of every kind: refused rows, repeats, keys, a fork and its merges, batches, and a file for each sink.
const everything = `
name: orders
params: {limit: {type: int, default: "20"}}
chunk: {rows: 16}
sources:
  orders:
    csv: {path: "WEB/ID.csv"}
    key: [id]
    schema: {fields: {id: {type: int, unique: true}, customer: string, amount: int}}
    on_invalid: quarantine
steps:
  - {name: paid, filter: row.amount > 0}
  - {name: once, deduplicate: {key: [amount]}}
  - {name: opinions, fork: [one, two]}
  - {name: first_opinion, from: one, set: {one: row.amount * 2}}
  - {name: second_opinion, from: two, filter: "row.amount % 7 != 0"}
  - {name: compared, coalesce: {one: first_opinion, two: second_opinion}, policy: best_effort}
  - {name: split, gate: "row.amount > param.limit ? 'high' : 'low'", routes: {high: high, low: continue}}
  - {name: per_customer, aggregate: {group_by: [customer], compute: {sum: sum(row.amount)}}, trigger: {rows: 3}}
sinks:
  high: {csv: {path: out/ID-high.csv, overwrite: true}}
  low: {jsonl: {path: out/ID-low.jsonl, overwrite: true}, from: per_customer}
`

// rows are orders; every 13th cannot be read, and every 20th has the id of the one before.
func rows(n int) string {
	var b strings.Builder
	b.WriteString("id,customer,amount\n")
	for i := range n {
		id, amount := i, fmt.Sprint(i*5%43)
		if i%13 == 5 {
			amount = "a lot"
		}
		if i%20 == 19 {
			id--
		}
		fmt.Fprintf(&b, "%d,customer %d,%s\n", id, i%4, amount)
	}
	return b.String()
}

// house is a folder with what runs read and write, and the record of the runs.
type house struct {
	*testing.T
	work  string
	state string
	web   *held.Web // has the files of work
}

// build makes a house with three complete runs: one that nothing disturbed, one that somebody paused, stopped and resumed, and a last one.
func build(t *testing.T) house {
	h := house{T: t, work: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	h.web = held.Serve(h.work)
	t.Cleanup(h.web.Close)
	home, err := h.open()
	require.NoError(t, err)
	h.run(home, "whole")
	h.runWithOrders(home, "stopped", client.By{Actor: "ann", Why: "a look first"})
	h.run(home, "newest")
	require.NoError(t, home.Close())
	return h
}

// copied is the house with a copy of its record.
func (h house) copied(t *testing.T) house {
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.CopyFS(state, os.DirFS(h.state)))
	for _, kind := range []keys.Kind{keys.Log, keys.Sealer} {
		require.NoError(t, os.Chmod(filepath.Join(state, "keys", string(kind)+".key"), 0o600))
	}
	return house{T: t, work: h.work, state: state, web: h.web}
}

func (h house) open() (*local.Home, error) { return local.Open(h.Context(), h.options()) }

func (h house) options() local.Options {
	return local.Options{State: local.Folder(h.state), Networks: []string{held.Networks}}
}

func (h house) begin(home *local.Home, id string) *client.Execution {
	h.Helper()
	input, document := filepath.Join(h.work, id+".csv"), filepath.Join(h.work, id+".yaml")
	require.NoError(h, os.WriteFile(input, []byte(rows(60)), 0o600))
	text := strings.NewReplacer("WEB", h.web.URL, "ID", id).Replace(everything)
	require.NoError(h, os.WriteFile(document, []byte(text), 0o600))
	return system.Begin(h, home.Client, client.StartRequest{Run: id, File: document})
}

func (h house) run(home *local.Home, id string) {
	h.Helper()
	result, err := system.End(h, h.begin(home, id))
	require.NoError(h, err)
	require.EqualValues(h, 60, result.Rows)
}

// runWithOrders runs a document, and has somebody pause, stop and resume the run, which gets half of its rows before.
func (h house) runWithOrders(home *local.Home, id string, by client.By) {
	h.Helper()
	h.web.Hold(30)
	e := h.begin(home, id)
	run := h.recorded(home, id)
	_, err := home.Pause(h.Context(), run, by)
	require.NoError(h, err)
	_, err = home.Cancel(h.Context(), run, by, false)
	require.NoError(h, err)
	result, err := system.End(h, e)
	require.NoError(h, err)
	require.Equal(h, pipeline.Cancelled, result.Status)
	h.web.Release()
	_, err = system.End(h, system.Resume(h, home.Client, id, "it was looked at"))
	require.NoError(h, err)
}

// recorded waits until a run is on record.
func (h house) recorded(home *local.Home, id string) (run landscape.Run) {
	h.Helper()
	require.Eventually(h, func() bool {
		var err error
		run, err = home.Find(h.Context(), id)
		return err == nil
	}, 5*time.Minute, 5*time.Millisecond)
	return run
}

// found returns what an auditor learns from opening the record for writing, from log check, and from verifying a run.
func (h house) found(run string) (found []string) {
	h.Helper()
	home, err := h.open()
	if err != nil {
		found = append(found, "open: "+err.Error())
		existing := h.options()
		existing.Existing = true
		home, err = local.Open(h.Context(), existing)
		require.NoError(h, err)
	}
	defer func() { require.NoError(h, home.Close()) }()
	checked, err := home.CheckLog(h.Context(), "")
	require.NoError(h, err)
	for _, p := range checked.Problems {
		found = append(found, "log: "+filepath.Base(p.Where)+": "+p.What)
	}
	report, err := home.Verify(h.Context(), run, audit.VerifyOptions{})
	if err != nil {
		return append(found, "verify: "+err.Error())
	}
	for _, p := range report.Problems {
		found = append(found, "verify: "+p.Kind+" "+p.Where+": "+p.Detail)
	}
	return found
}

// attack executes statements as the owner of the file may: without the guards, which are put back. Something must be changed.
func (h house) attack(statements ...string) {
	h.Helper()
	db := h.sql()
	_, err := db.Exec(`pragma ignore_check_constraints = 1; pragma foreign_keys = 0`)
	require.NoError(h, err)
	guards := map[string]string{}
	listed, err := db.Query(`select name, sql from sqlite_schema where type = 'trigger'`)
	require.NoError(h, err)
	defer listed.Close()
	for listed.Next() {
		var name, text string
		require.NoError(h, listed.Scan(&name, &text))
		guards[name] = text
	}
	require.NoError(h, listed.Err())
	for name := range guards {
		_, err := db.Exec("drop trigger " + name)
		require.NoError(h, err)
	}
	changed := int64(0)
	for _, statement := range statements {
		done, err := db.Exec(statement)
		require.NoError(h, err, statement)
		n, err := done.RowsAffected()
		require.NoError(h, err)
		changed += n
	}
	require.Positive(h, changed, "the attack changed nothing")
	for _, guard := range guards {
		_, err := db.Exec(guard)
		require.NoError(h, err)
	}
	require.NoError(h, db.Close())
}

func (h house) sql() *sql.DB {
	h.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.state, "landscape.db")+"?_pragma=synchronous(off)")
	require.NoError(h, err)
	db.SetMaxOpenConns(1)
	return db
}
