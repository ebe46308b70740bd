package audit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/pipeline"
)

const run = "run-1"

// document has rows of every kind: see rows.
const document = `name: orders
chunk: {rows: 4}
sources:
  orders:
    csv: {path: in.csv}
    key: [customer, day]
    schema:
      fields: {code: {type: string, unique: true}, customer: string, day: date, amount: int, parts: int}
    on_invalid: quarantine
steps:
  - {name: share, set: {share: row.amount / row.parts}, on_error: refused}
  - {name: paid, filter: row.amount > 0}
  - name: triage
    gate: "row.share > 50 ? 'big' : row.customer == 'test' ? 'trash' : 'small'"
    routes: {big: review, trash: discard, small: continue}
  - {name: short, rename: {customer: who}}
sinks:
  review: {csv: {path: "out/${REGION}.csv"}}
  ledger: {jsonl: {path: out/ledger.jsonl}, from: short}
  refused: {csv: {path: out/refused, parts: true}}
`

const input = "code,customer,day,amount,parts\n" +
	"a1,ann,2026-01-01,100,2\n" + // 1: delivered as big as may be
	"a2,bob,2026-01-02,300,2\n" + // 2: routed to review
	"a3,bob,2026-01-02,0,1\n" + // 3: filtered; the key of row 2
	"a4,test,2026-01-03,10,1\n" + // 4: discarded
	"a5,ann,2026-01-04,many,1\n" + // 5: rejected at the source
	"a6,ann,2026-01-05,10,0\n" + // 6: rejected at a step
	"a1,cid,2026-01-06,10,1\n" + // 7: a value that must be unique, again
	"a8,\"dan\nand co\",2026-01-07,400,2\n" + // 8: two lines
	"a9,eve,2026-01-08,7,7\n" + // 9
	"b1,eve,2026-01-09,7,0\n" + // 10: rejected at a step
	"b2,\"eve,2026-01-10,7,1\n" // 11: a quote that is never closed

// rows says where each row's way ends.
var rows = []struct {
	path  pipeline.Path
	sink  string
	line  int64
	codes string // of the refusal
}{
	{pipeline.DefaultFlow, "ledger", 1, ""},
	{pipeline.GateRouted, "review", 1, ""},
	{pipeline.FilterDropped, "", 0, ""},
	{pipeline.GateDiscarded, "", 0, ""},
	{pipeline.QuarantinedAtSource, "", 0, "CONVERT"},
	{pipeline.OnErrorRouted, "refused", 1, "DIVISION_BY_ZERO"},
	{pipeline.QuarantinedAtSource, "", 0, "UNIQUE"},
	{pipeline.GateRouted, "review", 2, ""},
	{pipeline.DefaultFlow, "ledger", 2, ""},
	{pipeline.OnErrorRouted, "refused", 2, "DIVISION_BY_ZERO"},
	{pipeline.QuarantinedAtSource, "", 0, "UNTERMINATED_QUOTE"},
}

// play returns a fixture in which the document was run, which others share.
func play(t *testing.T) *fixture {
	t.Helper()
	t.Setenv("REGION", "north")
	return sharedRun(t, document, map[string]string{"in.csv": input})
}

func auditor(s *fixture) *audit.Auditor { return audit.New(s.Log.Reader, s.Payloads, s.Planner) }

// explain asks and requires an answer.
func explain(t *testing.T, s *fixture, q audit.Question) *audit.Explanation {
	t.Helper()
	q.Run = run
	story, err := auditor(s).Explain(t.Context(), q)
	require.NoError(t, err)
	return story
}

// damage replaces a file's content until the test ends; nil deletes the file. It comes back with its time.
func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	if change != nil {
		require.NoError(t, os.WriteFile(path, change(bytes.Clone(good)), info.Mode()))
	}
	t.Cleanup(func() {
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.WriteFile(path, good, info.Mode()))
		require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	})
}

// flip changes one bit in the middle.
func flip(content []byte) []byte {
	content[len(content)/2] ^= 1
	return content
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return string(text) + "\n"
}
