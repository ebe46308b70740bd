package resume_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/inprocess"
)

// byDay is how far it is from one deed at which runs die by day to the next.
const byDay = 59

var step = flag.Int64(
	"step", byDay, "TestARunDiesAtEveryDeed and TestARunWithDeadlinesDiesAtEveryDeed try every so many deeds, "+
		"and all if it is 1")

// everything has two sources, a fork, a held coalesce, an aggregate, a sort, a gate, a deduplicate and values that must be unique.
const everything = `
name: everything
chunk: {rows: 4}
sources:
  first: {csv: {path: first.csv}, schema: {fields: {id: {type: string, unique: true}, n: int}}}
  second: {csv: {path: second.csv}, schema: {fields: {id: {type: string, unique: true}, n: int}}, on_invalid: bad}
steps:
  - {name: copies, from: [first, second], fork: [slow, quick]}
  - {name: ranked, from: slow, sort: {by: {n: desc}}, trigger: {rows: 5}}
  - {name: odd, from: quick, filter: row.n % 3 != 0}
  - {name: both, coalesce: {slow: ranked, quick: odd}, policy: best_effort}
  - {name: parity, gate: row.n % 2 == 0, routes: {"true": even, "false": continue}}
  - {name: sums, aggregate: {group_by: [n], compute: {rows: count()}, mode: transform}, trigger: {rows: 3}}
sinks:
  even: {csv: {path: out/even.csv}}
  totals: {jsonl: {path: out/sums.jsonl}, from: sums}
  bad: {jsonl: {path: out/bad.jsonl}}
`

// timed has batches that fire when their time has come, one behind the other, and nothing else.
const timed = `
name: timed
chunk: {rows: 4}
sources:
  first: {csv: {path: first.csv}, schema: {fields: {id: string, n: int}}}
  second: {csv: {path: second.csv}, schema: {fields: {id: string, n: int}}}
steps:
  - {name: copies, from: [first, second], fork: [slow, quick, plain]}
  - {name: gathered, from: slow, aggregate: {group_by: [n], compute: {rows: count()}, mode: passthrough}, trigger: {after: 120ms}}
  - {name: both, coalesce: {slow: gathered, quick: quick}, policy: best_effort, timeout: 60ms}
  - {name: sums, aggregate: {compute: {rows: count()}, mode: transform}, trigger: {after: 90ms}}
sinks:
  totals: {jsonl: {path: out/sums.jsonl}}
  rows: {csv: {path: out/rows.csv}, from: plain}
`

var everyInput = map[string]string{"first.csv": numbered(14), "second.csv": strings.ReplaceAll(numbered(7), "r", "s") + "s1,5\ns9,many\n"}

// TestARunDiesAtEveryDeed lets a run die at everything that it does to the world, before and after it was done, and resumes
// it. It ends with the record and the outputs of an undisturbed one.
func TestARunDiesAtEveryDeed(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	life := inprocess.Lives()
	b.Fate = life.Fate
	require.NoError(t, b.begin("undisturbed", everything))
	outputs, work := b.collect(), b.Work(t, "undisturbed")
	require.Positive(t, life.Deeds())
	t.Logf("%d deeds", life.Deeds())
	b.everywhere(t, life.Deeds(), everything, *step == byDay, func(b *bench, run string) {
		require.Equal(b.t, outputs, b.collect())
		now := b.Work(b.t, run)
		for table := range work {
			require.Equal(b.t, work[table], now[table], table)
		}
	})
}

// TestARunWithDeadlinesDiesAtEveryDeed is the same for a document in which everything depends on when it is done: services that
// do not answer at first let deadlines pass between chunks. What was decided before the death stays as it is, and the rest fits
// to it.
func TestARunWithDeadlinesDiesAtEveryDeed(t *testing.T) {
	b := newBench(t)
	b.write(map[string]string{"first.csv": numbered(14), "second.csv": numbered(7)})
	life, redone := inprocess.Lives(), 0
	b.Fate = hesitant(life.Fate)
	require.NoError(t, b.begin("undisturbed", timed))
	b.sound("undisturbed")
	b.collect()
	ticks := b.count("undisturbed", "folds", "kind=\"tick\"")
	require.Positive(t, ticks)
	t.Logf("%d deeds, %d ticks", life.Deeds(), ticks)
	b.everywhere(t, life.Deeds(), timed, false, func(b *bench, run string) {
		b.sound(run)
		b.collect()
		redone += b.redone
	})
	t.Logf("%d ticks were done again", redone)
	require.Positive(t, redone)
}

// hesitant returns a fate in which every chunk of a source is put on record only at the second try. Deadlines pass meanwhile.
func hesitant(fate inprocess.Fate) inprocess.Fate {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(deed inprocess.Deed) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, record := range deed.Batch.Insert {
			chunk, is := record.(landscape.Chunk)
			if is && chunk.Fold == nil && !seen[chunk.Source+chunk.File+chunk.Cursor] {
				seen[chunk.Source+chunk.File+chunk.Cursor] = true
				return false, errors.New("the service is busy")
			}
		}
		return fate(deed)
	}
}

// everywhere lets runs of the document die at their deeds, before and after these were done, resumes them again, and
// checks how they ended. With inTurn each deed is either done or not.
func (b *bench) everywhere(
	t *testing.T, deeds int64, document string, inTurn bool, check func(*bench, string),
) {
	t.Helper()
	var died, tried int64 // some die: not every run does the same number of things
	for at := int64(0); at < deeds; at += *step {
		for _, done := range []bool{false, true} {
			if inTurn && done != (at / *step % 2 == 1) {
				continue
			}
			tried++
			run := fmt.Sprintf("at-%d-%t", at, done)
			t.Run(run, func(t *testing.T) {
				b := b.of(t)
				b.EmptyPayloads()
				death := inprocess.DiesAt(at, done)
				b.Fate = hesitant(death.Fate)
				err := b.begin(run, document)
				require.Equal(t, death.Died(), err != nil, "%v", err)
				if death.Died() {
					died++
					b.goOn(run, document)
				}
				check(b, run)
			})
		}
	}
	require.GreaterOrEqual(t, 10*died, 9*(tried-2), "processes that died")
}

// goOn brings the run of a process that died to its end. What was recorded stays as it was.
func (b *bench) goOn(run, document string) {
	b.t.Helper()
	b.Fate = hesitant(inprocess.Lives().Fate)
	on, err := b.Log.Run(b.t.Context(), run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		require.NoError(b.t, b.begin(run, document))
		return
	case on.Status != pipeline.Running:
		return // all was done
	}
	before := b.Dump(b.t, run)
	require.NoError(b.t, b.Resume(b.t, run, func(env *testsuite.TestWorkflowEnvironment) { b.listen(env) }))
	after := b.Dump(b.t, run)
	for table, lines := range before {
		if table == "runs" || table == "effects" {
			continue // they move
		}
		for _, line := range lines {
			require.Contains(b.t, after[table], line, table)
		}
	}
}

// write writes files into the folder of documents.
func (b *bench) write(files map[string]string) {
	b.t.Helper()
	for name, content := range files {
		require.NoError(b.t, os.WriteFile(filepath.Join(b.Folder, name), []byte(content), 0o600))
	}
}

// begin runs a document in the folder of documents.
func (b *bench) begin(run, document string) error {
	return b.Start(b.t, document, activities.OpenInput{Run: run, File: "pipeline.yaml", Folder: b.Folder}, nil)
}

// collect takes the outputs out of the folder of documents, and returns them.
func (b *bench) collect() map[string]string {
	b.t.Helper()
	outputs := b.outputs("")
	require.NoError(b.t, os.RemoveAll(filepath.Join(b.Folder, "out")))
	return outputs
}

// count counts the lines of a table that contain a text.
func (b *bench) count(run, table, text string) int {
	b.t.Helper()
	return len(slices.DeleteFunc(b.Dump(b.t, run)[table], func(line string) bool { return !strings.Contains(line, text) }))
}
