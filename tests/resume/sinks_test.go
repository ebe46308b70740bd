package resume_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
)

// threeSinks has a sink of each layout, and each gets rows of every chunk.
const threeSinks = `
name: sinks
chunk: {rows: 6}
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: string, n: int}}}
steps:
  - {name: copies, fork: [whole, halves]}
  - {name: parity, from: halves, gate: row.n % 2 == 0, routes: {"true": even, "false": odd}}
sinks:
  all: {jsonl: {path: out/all.jsonl}, from: whole}
  even: {csv: {path: out/even.csv}}
  odd: {csv: {path: out/odd, parts: true}}
`

// chunks of threeSinks.
const chunks = 5

var sinks = []string{"all", "even", "odd"}

var sinksInput = map[string]string{"in.csv": numbered(6 * chunks)}

// concluding is what is done to every sink of a run at its end: its output is published, then nothing hidden is left behind.
var concluding = []inprocess.Kind{inprocess.Discard, inprocess.Publish}

// refusing is what a target says that does not do what it is asked.
func refusing(sink string) error {
	return &plugin.TargetError{Code: "TARGET_REFUSED", Target: sink, Message: "not today"}
}

// TestEverySubsetOfSinksFailsAtEveryChunk lets every set of sinks fail at every chunk, before or after the bytes are there. What
// takes the run up writes exactly the parts that are missing: it asks only about those that were begun, and does not touch a
// sink that has all of its parts.
func TestEverySubsetOfSinksFailsAtEveryChunk(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Run(t, "undisturbed", threeSinks, sinksInput, nil))
	want, whole, try := b.outputs("undisturbed"), 0, 0
	for subset := 1; subset < 1<<len(sinks); subset++ {
		failing := map[string]bool{}
		for i, sink := range sinks {
			failing[sink] = subset&(1<<i) != 0
		}
		for chunk := range int64(chunks) {
			for _, done := range []bool{false, true} {
				if try++; try%sample.Step(9) != 0 {
					continue
				}
				name := fmt.Sprintf("subset-%03b-chunk-%d-done-%t", subset, chunk, done)
				t.Run(name, func(t *testing.T) { whole += b.of(t).failAndResume(name, failing, chunk, done, want) })
			}
		}
	}
	t.Logf("%d sinks had all of their parts when their runs failed", whole)
	if sample.All() { // of a few it may be none: that is what TestResumeWritesMissingRows is about
		require.Positive(t, whole)
	}
}

// failAndResume returns how many sinks had all of their parts when the run failed.
func (b *bench) failAndResume(run string, failing map[string]bool, chunk int64, done bool, want map[string]string) (whole int) {
	b.t.Helper()
	before := newJournal(func(deed inprocess.Deed) (bool, error) {
		if deed.Kind == inprocess.Write && failing[deed.Sink] && deed.Ordinal == chunk {
			return done, refusing(deed.Sink)
		}
		return true, nil
	})
	b.watch(before)
	requireType(b.t, b.Run(b.t, run, threeSinks, sinksInput, nil), activities.TypeTarget)
	require.Equal(b.t, pipeline.Failed, b.status(run))
	require.Empty(b.t, before.asked[inprocess.Publish])

	effects, after := b.effects(run), newJournal(nil)
	b.watch(after)
	require.NoError(b.t, b.Resume(b.t, run, nil))
	b.requireMissing(before, effects, after)
	require.Equal(b.t, want, b.outputs(run))
	for part, now := range b.effects(run) {
		require.Equal(b.t, landscape.Finalized, now.state, part)
		if then := effects[part]; then.state == landscape.Finalized {
			require.Equal(b.t, then, now, "%s has the part since before", part)
		}
	}
	b.sound(run)
	for _, sink := range sinks {
		if finalized(effects, sink) == chunks {
			whole++
			require.Equal(b.t, concluding, after.touched(sink), sink)
		}
	}
	return whole
}

// requireMissing requires that what took the run up wrote each part that the targets did not have, once, and no other, and asked
// about each part that was begun and not confirmed, and about no other.
func (b *bench) requireMissing(before *journal, effects map[part]effect, after *journal) {
	b.t.Helper()
	writes, checks := map[part]int{}, map[part]int{}
	for _, sink := range sinks {
		for ordinal := range int64(chunks) {
			p := part{sink, ordinal}
			if !before.done[p] {
				writes[p] = 1
			}
			if effects[p].fence > 0 && effects[p].state != landscape.Finalized {
				checks[p] = 1
			}
		}
	}
	require.Equal(b.t, writes, orEmpty(after.asked[inprocess.Write]), "written")
	require.Equal(b.t, checks, orEmpty(after.asked[inprocess.Check]), "asked about")
}

func orEmpty(asked map[part]int) map[part]int {
	if asked == nil {
		return map[part]int{}
	}
	return asked
}

func finalized(effects map[part]effect, sink string) (count int) {
	for p, e := range effects {
		if p.sink == sink && e.state == landscape.Finalized {
			count++
		}
	}
	return count
}

// TestResumeWritesMissingRows has a sink that breaks at its second chunk, while another one gets all
// of its rows. What takes the run up gives the one its missing rows, and leaves the file of the other alone until it publishes it.
func TestResumeWritesMissingRows(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Run(t, "undisturbed", threeSinks, sinksInput, nil))
	note, all := confirmed("all", chunks)
	b.Done = note
	b.Fate = func(deed inprocess.Deed) (bool, error) {
		if deed.Kind == inprocess.Write && deed.Sink == "even" && deed.Ordinal >= 1 {
			<-all
			return false, refusing("even")
		}
		return true, nil
	}
	err := b.Run(t, "broken", threeSinks, sinksInput, nil)
	requireType(t, err, activities.TypeTarget)
	effects := b.effects("broken")
	require.Equal(t, chunks, finalized(effects, "all"))
	require.Equal(t, 1, finalized(effects, "even"))
	staged := b.staged("broken", "all")

	var untouched bool
	after := newJournal(func(deed inprocess.Deed) (bool, error) {
		if deed.Kind == inprocess.Publish && deed.Sink == "all" {
			untouched = staged == b.staged("broken", "all")
		}
		return true, nil
	})
	b.watch(after)
	require.NoError(t, b.Resume(t, "broken", nil))
	require.True(t, untouched, "the file of the sink that has all rows")
	require.Equal(t, concluding, after.touched("all"))
	require.Equal(t, map[part]int{{"even", 1}: 1, {"even", 2}: 1, {"even", 3}: 1, {"even", 4}: 1}, only(after.asked[inprocess.Write], "even"))
	require.Equal(t, b.outputs("undisturbed"), b.outputs("broken"))
	b.sound("broken")
}

// only returns what was asked of one sink.
func only(asked map[part]int, sink string) map[part]int {
	found := map[part]int{}
	for p, times := range asked {
		if p.sink == sink {
			found[p] = times
		}
	}
	return found
}

// file is what must not change of a file that nobody touches.
type file struct {
	name    string
	inode   uint64
	changed int64
	content string
}

// staged returns the hidden file of a sink.
func (b *bench) staged(run, sink string) file {
	b.t.Helper()
	paths, err := filepath.Glob(filepath.Join(b.Folder, run, "out", "."+sink+"*"))
	require.NoError(b.t, err)
	require.Len(b.t, paths, 1)
	info, err := os.Stat(paths[0])
	require.NoError(b.t, err)
	content, err := os.ReadFile(paths[0])
	require.NoError(b.t, err)
	require.Positive(b.t, strings.Count(string(content), "\n"))
	return file{paths[0], info.Sys().(*syscall.Stat_t).Ino, info.ModTime().UnixNano(), string(content)}
}

// confirmed returns what takes note of deeds, and a channel that is closed when so many parts of a sink are confirmed on record.
func confirmed(sink string, parts int) (note func(inprocess.Deed), all chan struct{}) {
	all = make(chan struct{})
	var mu sync.Mutex
	return func(deed inprocess.Deed) {
		mu.Lock()
		defer mu.Unlock()
		for _, move := range deed.Batch.Move {
			if effect, is := move.To.(landscape.Effect); is && effect.Sink == sink && effect.State == landscape.Finalized {
				if parts--; parts == 0 {
					close(all)
				}
			}
		}
	}, all
}
