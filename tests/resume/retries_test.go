package resume_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/audit"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/inprocess"
)

// retrying runs documents in one folder, and feeds what they refused again.
type retrying struct {
	*inprocess.Record
	t         *testing.T
	unguarded []byte // a copy of the record that nothing guards; nil if there is none yet
}

func newRetrying(t *testing.T, files map[string]string) *retrying {
	t.Helper()
	b := &retrying{Record: inprocess.New(t), t: t}
	for name, content := range files {
		b.write(name, content)
	}
	return b
}

func (b *retrying) write(name, content string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(filepath.Join(b.Folder, name), []byte(content), 0o600))
}

func (b *retrying) read(name string) string {
	b.t.Helper()
	content, err := os.ReadFile(filepath.Join(b.Folder, name))
	require.NoError(b.t, err)
	return string(content)
}

// first runs the document to its end, as the run first.
func (b *retrying) first(document string) landscape.Run {
	b.t.Helper()
	require.NoError(b.t, b.start("first", document, nil, nil))
	return b.ended("first")
}

// retry feeds the records of a run again through a document. A document that is the run's own puts its outputs beside.
func (b *retrying) retry(id, of, document string) landscape.Run {
	b.t.Helper()
	require.NoError(b.t, b.tryRetry(id, of, document, nil))
	return b.ended(id)
}

func (b *retrying) tryRetry(id, of, document string, listen func(*testsuite.TestWorkflowEnvironment)) error {
	b.t.Helper()
	parent, err := b.Log.Run(b.t.Context(), of)
	require.NoError(b.t, err)
	in := &activities.RetryInput{Of: of}
	if parent.Document == document {
		in.Beside, err = activities.Beside(b.t.Context(), b.Log.Reader, parent)
		require.NoError(b.t, err)
	}
	return b.start(id, document, in, listen)
}

func (b *retrying) start(
	id, document string, retry *activities.RetryInput, listen func(*testsuite.TestWorkflowEnvironment),
) error {
	b.t.Helper()
	return b.Start(b.t, document, activities.OpenInput{Run: id, File: "pipeline.yaml", Folder: b.Folder, Retry: retry}, listen)
}

// ended returns a run whose record is true.
func (b *retrying) ended(id string) landscape.Run {
	b.t.Helper()
	report, err := b.auditor().Verify(b.t.Context(), id)
	require.NoError(b.t, err)
	require.Empty(b.t, report.Problems)
	run, err := b.Log.Run(b.t.Context(), id)
	require.NoError(b.t, err)
	return run
}

func (b *retrying) auditor() *audit.Auditor { return audit.New(b.Log.Reader, b.Payloads, b.Planner) }

// select finds out which records would be retried by a run of the document.
func (b *retrying) find(of, document string) (*activities.Retry, error) {
	b.t.Helper()
	compiled, err := b.Planner.Plan(plan.Request{File: "new.yaml", Folder: b.Folder, Document: []byte(document)})
	require.NoError(b.t, err)
	return activities.NewRetry(b.t.Context(), b.Log.Reader, b.Payloads, of, compiled, "next")
}

func (b *retrying) explain(run, token string) *audit.Explanation {
	b.t.Helper()
	story, err := b.auditor().Explain(b.t.Context(), audit.Question{Run: run, Token: token})
	require.NoError(b.t, err)
	require.True(b.t, story.True())
	return story
}

const strict = `name: orders
chunk: {rows: 3}
sources:
  orders: {csv: {path: orders.csv}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
sinks: {all: {csv: {path: all.csv}}}
`

// loose takes amounts as they are.
var loose = strings.NewReplacer("amount: int", "amount: string", "path: all.csv", "path: mended.csv").Replace(strict)

const orders = "id,amount\n1,10\n2,x\n3,30\n4,\"y\nz\"\n5,50\n\n6,60\nseven,70\n8,80\n9,w\n"

func TestRecordsAreFedAgainOnceEach(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	require.Equal(t, pipeline.CompletedWithFailures, b.first(strict).Status)
	require.NoError(t, os.Remove(filepath.Join(b.Folder, "orders.csv")), "records come from the record")

	second := b.retry("second", "first", loose)
	require.Equal(t, pipeline.CompletedWithFailures, second.Status)
	require.Equal(t, "first", second.Parent)
	require.Equal(t, landscape.RetryLink, second.Link)
	require.Equal(t, "id,amount\n2,x\n4,\"y\nz\"\n9,w\n", b.read("mended.csv"))
	require.Equal(t, "id,amount\n1,10\n3,30\n5,50\n6,60\n8,80\n", b.read("all.csv"), "what was published stays as it was")

	retry, err := b.find("first", strings.Replace(loose, "mended", "again", 1))
	require.NoError(t, err)
	require.Zero(t, retry.Rows)
	require.Equal(t, []activities.LeftOut{{
		Reason: "retried by run second", Rows: 4, Tokens: []string{"orders:2", "orders:4", "orders:7", "orders:9"},
	}}, retry.Left)
	require.ErrorContains(t, b.start("third", strings.Replace(loose, "mended", "again", 1), &activities.RetryInput{Of: "first"}, nil),
		"no record of run first is left to be retried")

	third := b.retry("third", "second", strings.NewReplacer("id: int", "id: string", "mended", "last").Replace(loose))
	require.Equal(t, pipeline.Completed, third.Status)
	require.Equal(t, "id,amount\nseven,70\n", b.read("last.csv"))
}

func TestRowsKeepTheirPlaces(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	b.retry("second", "first", loose)
	b.retry("third", "second", strings.Replace(loose, "mended", "last", 1))
	for later, former := range map[string]string{"second:1": "first:2", "second:2": "first:4", "second:3": "first:7", "second:4": "first:9", "third:1": "first:7"} {
		is, was := b.origin(later), b.origin(former)
		require.Equal(t, was.File, is.File, later)
		require.Equal(t, was.Line, is.Line, later)
		require.Equal(t, was.ByteOffset, is.ByteOffset, later)
		require.Equal(t, was.ByteLength, is.ByteLength, later)
		require.Equal(t, was.Raw, is.Raw, later)
		require.Equal(t, was.SHA256, is.SHA256, later)
	}
}

// origin returns where a record of a run came from; it is named run:row.
func (b *retrying) origin(name string) audit.Origin {
	b.t.Helper()
	run, row, _ := strings.Cut(name, ":")
	return b.explain(run, "orders:"+row).Source
}

func TestARowIsToldFromBothEnds(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	require.Nil(t, b.explain("first", "orders:7").Again)
	b.retry("second", "first", loose)

	mended := b.explain("second", "orders:1")
	require.Equal(t, "first", mended.Was.Run)
	require.Equal(t, "orders:2", mended.Was.Token)
	require.Equal(t, "CONVERT", mended.Was.Refused.Code)
	require.Equal(t, "all", mended.Sink)

	before := b.explain("first", "orders:2")
	require.Nil(t, before.Was)
	require.Equal(t, "second", before.Again.Run)
	require.Equal(t, "orders:1", before.Again.Token)
	require.Equal(t, []audit.End{{Token: "orders:1", Way: before.Again.Ends[0].Way, Outcome: "success", Path: "default_flow", Sink: "all"}}, before.Again.Ends)

	refused := b.explain("first", "orders:7").Again
	require.Equal(t, "orders:3", refused.Token)
	require.Equal(t, "failure", refused.Ends[0].Outcome)
	require.Nil(t, b.explain("first", "orders:1").Again, "a row that was not refused")

	var text bytes.Buffer
	require.NoError(t, mended.WriteText(&text))
	require.Contains(t, text.String(), "was     orders:2 of run first, where orders refused it with CONVERT; retried\n")
	text.Reset()
	require.NoError(t, before.WriteText(&text))
	require.Contains(t, text.String(), "again   orders:1 of run second (completed with failures)\n")
}

func TestOutputsOfTheSameDocumentLieBeside(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	second := b.retry("second", "first", strict)
	require.Equal(t, pipeline.CompletedWithFailures, second.Status)
	require.Equal(t, "id,amount\n", b.read("all.retry-1.csv"))
	b.retry("third", "second", strict)
	require.Equal(t, "id,amount\n", b.read("all.retry-1-1.csv"))
}

func TestOutputsThatWerePublishedKeepTheirPlaces(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	b.retry("second", "first", loose)
	for path, owner := range map[string]string{"all.csv": "first", "mended.csv": "second"} {
		document := strings.Replace(loose, "path: mended.csv", "overwrite: true, path: "+path, 1)
		_, err := b.find("second", document)
		require.ErrorContains(t, err, "is an output of run "+owner+": choose another path", path)
	}
}

func TestSourceFormatsMustMatch(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(strict)
	for name, c := range map[string]struct{ old, new, says string }{
		"another name":   {"  orders: {csv", "  sales: {csv", `has no source named "orders"`},
		"another format": {"{csv: {path: orders.csv}, schema", "{jsonl: {path: orders.jsonl}, schema", "source orders is jsonl, and the records that are to be retried are csv"},
		"another header": {"fields: {id: int,", "fields: {id: int, nought: int,", "source orders: the records of orders.csv do not fit new.yaml"},
	} {
		_, err := b.find("first", strings.Replace(loose, c.old, c.new, 1))
		require.ErrorContains(t, err, c.says, name)
	}
}

func TestARunThatIsNotDoneIsResumedFirst(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	failing := strings.Replace(strict, "on_invalid: quarantine", "on_invalid: fail", 1)
	require.Error(t, b.start("first", failing, nil, nil))
	_, err := b.find("first", loose)
	require.ErrorContains(t, err, "run first is failed and can go on: resume it first: waymark resume first")
	require.NoError(t, b.Log.CancelRun(t.Context(), "first", true, "tester", "no more of it"))
	_, err = b.find("first", loose)
	require.ErrorContains(t, err, "run first was cancelled permanently before it was done: run the pipeline again")
}

const forked = `name: forked
chunk: {rows: 4}
sources:
  orders: {csv: {path: orders.csv}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
steps:
  - {name: both, fork: [left, right]}
  - {name: low, from: left, filter: row.amount < 100}
  - {name: share, from: right, set: {share: 100 / row.amount}, on_error: quarantine}
sinks:
  left_out: {jsonl: {path: left.jsonl}, from: low}
  right_out: {jsonl: {path: right.jsonl}, from: share}
`

func TestRetryLeavesArrivedBranches(t *testing.T) {
	elsewhere := strings.NewReplacer("left.jsonl", "l.jsonl", "right.jsonl", "r.jsonl")
	for name, c := range map[string]struct {
		document string
		fed      []int64
		left     []activities.LeftOut
	}{
		"the other branch arrives": {forked, []int64{3}, []activities.LeftOut{{
			Reason: "another branch reached a sink or a batch", Rows: 1, Tokens: []string{"orders:2"},
		}}},
		"the other branch is filtered": {strings.Replace(forked, "< 100", "< 0", 1), []int64{2, 3}, nil},
	} {
		b := newRetrying(t, map[string]string{"orders.csv": "id,amount\n1,10\n2,0\n3,x\n4,200\n"})
		b.first(c.document)
		retry, err := b.find("first", elsewhere.Replace(c.document))
		require.NoError(t, err, name)
		require.Equal(t, []recompute.RetryChunk{{Chunk: 0, Rows: c.fed}}, retry.Sources[0].Chunks, name)
		require.Equal(t, c.left, retry.Left, name)
		again := b.retry("second", "first", elsewhere.Replace(c.document))
		require.Equal(t, pipeline.CompletedWithFailures, again.Status, name)
	}
}

// joined makes one row again of two branches; one of them gathers rows if BATCH is a step that does so.
const joined = `name: joined
sources:
  orders: {csv: {path: orders.csv}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
steps:
  - {name: both, fork: [left, right]}
  - {name: low, from: left, filter: row.amount < 100}
  - {name: kept, from: right, BATCH}
  - {name: one, coalesce: {left: low, right: kept}, on_error: quarantine}
sinks: {out: {jsonl: {path: out.jsonl}}}
`

func TestRetryOfCoalesceRejections(t *testing.T) {
	for name, c := range map[string]struct {
		batch string
		rows  []recompute.RetryChunk
		left  []string
	}{
		"the branches meet in one pass": {"set: {more: 1}", []recompute.RetryChunk{{Chunk: 0, Rows: []int64{2}}}, nil},
		"one branch waited":             {"sort: {by: {id: asc}}", nil, []string{"one:2"}},
	} {
		b := newRetrying(t, map[string]string{"orders.csv": "id,amount\n1,10\n2,200\n"})
		document := strings.Replace(joined, "BATCH", c.batch, 1)
		b.first(document)
		retry, err := b.find("first", strings.Replace(document, "out.jsonl", "more.jsonl", 1))
		require.NoError(t, err, name)
		require.Equal(t, c.rows, retry.Sources[0].Chunks, name)
		var left []string
		for _, some := range retry.Left {
			left = append(left, some.Tokens...)
		}
		require.Equal(t, c.left, left, name)
	}
}

const batched = `name: batched
sources:
  orders: {csv: {path: orders.csv}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
steps:
  - {name: pairs, aggregate: {group_by: [id], compute: {total: sum(row.amount)}}}
  - {name: share, set: {share: 100 / row.total}, on_error: quarantine}
sinks: {out: {jsonl: {path: out.jsonl}}}
`

func TestRowsThatCameOutOfABatchAreNotFedAgain(t *testing.T) {
	b := newRetrying(t, map[string]string{"orders.csv": "id,amount\n1,10\n2,0\n3,x\n"})
	b.first(batched)
	retry, err := b.find("first", strings.Replace(batched, "out.jsonl", "more.jsonl", 1))
	require.NoError(t, err)
	require.Equal(t, []recompute.RetryChunk{{Chunk: 0, Rows: []int64{3}}}, retry.Sources[0].Chunks)
	require.Equal(t, []activities.LeftOut{{Reason: "came out of pairs, and no source holds that", Rows: 1, Tokens: []string{"pairs:2"}}}, retry.Left)
}

func TestADuplicateIsNotFedAgainUnlessItMayBe(t *testing.T) {
	unique := strings.Replace(strict, "id: int", "id: {type: int, unique: true}", 1)
	b := newRetrying(t, map[string]string{"orders.csv": "id,amount\n1,10\n1,20\n2,x\n"})
	b.first(unique)
	retry, err := b.find("first", strings.Replace(unique, "all.csv", "more.csv", 1))
	require.NoError(t, err)
	require.Equal(t, int64(1), retry.Rows)
	require.Equal(t, []string{"orders:2"}, retry.Left[0].Tokens)
	require.Equal(t, "another row has the same value of id, and must not", retry.Left[0].Reason)
	retry, err = b.find("first", loose)
	require.NoError(t, err)
	require.Equal(t, int64(2), retry.Rows, "the field need not be unique any more")
	require.Empty(t, retry.Left)
}

func TestRowsThatAnErrorSinkGotAreNotFedAgain(t *testing.T) {
	delivered := strings.NewReplacer("on_invalid: quarantine", "on_invalid: bad", "sinks: {", "sinks: {bad: {jsonl: {path: bad.jsonl}}, ").Replace(strict)
	b := newRetrying(t, map[string]string{"orders.csv": orders})
	b.first(delivered)
	retry, err := b.find("first", loose)
	require.NoError(t, err)
	require.Zero(t, retry.Rows)
	require.Empty(t, retry.Left)
}

func TestRetryOfSeveralSources(t *testing.T) {
	document := `name: many
chunk: {rows: 2}
sources:
  sales: {csv: {path: sales-*.csv.gz}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
  notes: {jsonl: {path: notes.jsonl}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
  quiet: {jsonl: {path: quiet.jsonl}, schema: {fields: {id: int, amount: int}}, on_invalid: quarantine}
sinks: {all: {jsonl: {path: all.jsonl, from: [sales, notes, quiet]}}}
`
	document = strings.Replace(document, "{jsonl: {path: all.jsonl, from: [sales, notes, quiet]}}", "{jsonl: {path: all.jsonl}, from: [sales, notes, quiet]}", 1)
	b := newRetrying(t, map[string]string{
		"sales-1.csv.gz": zipped(t, "id,amount\n1,x\n2,2\n3,x\n4,x\n"), "sales-2.csv.gz": zipped(t, "amount,id\nx,5\n6,6\n"),
		"notes.jsonl": "{\"id\":1,\"amount\":1}\n\n{\"id\":2,\"amount\":\"x\"}\n", "quiet.jsonl": "{\"id\":1,\"amount\":1}\n",
	})
	b.first(document)
	b.retry("second", "first", strings.NewReplacer("amount: int", "amount: string", "all.jsonl", "mended.jsonl").Replace(document))
	require.ElementsMatch(t, []string{
		`{"id":1,"amount":"x"}`, `{"id":3,"amount":"x"}`, `{"id":4,"amount":"x"}`, `{"id":5,"amount":"x"}`, `{"id":2,"amount":"x"}`,
	}, strings.Split(strings.TrimSpace(b.read("mended.jsonl")), "\n"))
	last := b.explain("second", "sales:4")
	require.Equal(t, "sales-2.csv.gz", last.Source.File)
	require.Equal(t, int64(2), last.Source.Line)
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func TestAmbiguousRecordsAreParsedAgain(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	b := newRetrying(t, map[string]string{"orders.csv": fmt.Sprintf("id,amount\n1,10\n2,a\"b\n3,%s\n", long)})
	b.first(strict)
	b.retry("second", "first", strict)
	for row, code := range map[string]string{"1": "BARE_QUOTE", "2": "ROW_TOO_LARGE"} {
		require.Equal(t, code, b.explain("second", "orders:"+row).Nodes[0].Refused.Code)
	}
	third := b.retry("third", "second", strings.Replace(loose, "{path: orders.csv}", "{path: orders.csv, quote: none}", 1))
	require.Equal(t, pipeline.CompletedWithFailures, third.Status)
	require.Equal(t, "id,amount\n2,\"a\"\"b\"\n", b.read("mended.csv"))
}
