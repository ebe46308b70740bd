package activities_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/pipeline"
)

const branchesDocument = `name: branches
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
steps: [{name: copies, fork: [a, b, c, d]}]
sinks:
  one: {csv: {path: out/one.csv}, from: a}
  two: {jsonl: {path: out/two.jsonl}, from: b}
  three: {csv: {path: out/three, parts: true}, from: c}
  four: {csv: {path: out/four.csv}, from: d}
`

// TestSubsetsOfSinksFailInOneActivity lets the first attempt at every subset of the parts that one activity writes fail, before or after
// the target holds the part. The next attempt of the activity writes those again, asks first, and leaves the others alone.
func TestSubsetsOfSinksFailInOneActivity(t *testing.T) {
	r := newRig(t, branchesDocument, map[string]string{"in.csv": "id\n1\n2\n3\n"})
	r.together = true
	r.play()
	want := r.outputs()
	require.Len(t, want, 5)
	sinks := []string{"one", "two", "three", "four"}
	e := watch(r)
	for _, kept := range []bool{false, true} {
		for subset := range 1 << len(sinks) {
			t.Run(fmt.Sprintf("kept %t, subset %04b", kept, subset), func(t *testing.T) {
				r.reset(t)
				fails := map[string]bool{}
				for i, sink := range sinks {
					fails[sink] = subset>>i&1 == 1
				}
				failing, tried := sum(fails), tries(e, fails, kept)
				require.Equal(t, pipeline.Completed, r.play().Status)
				require.Equal(t, want, r.outputs())
				r.requireWhole()
				require.Equal(t, min(failing, 1), r.faults, "one attempt failed, whatever of it did")
				for sink, failed := range fails {
					story := r.story(activities.WriteInput{Source: "in", Sink: sink})
					switch {
					case !failed:
						require.Equal(t, 1, tried[sink], sink)
						require.Equal(t, []string{"1 began", "1 finalized"}, story, sink)
					case kept:
						require.Equal(t, 1, tried[sink], "%s: the target held the part", sink)
						require.Equal(t, []string{"1 began", "1 failed connection reset", "2 began", "2 reconciled exactly", "2 finalized"}, story, sink)
					default:
						require.Equal(t, 2, tried[sink], sink)
						require.Equal(t, []string{"1 began", "1 failed connection reset", "2 began", "2 reconciled not_applied", "2 finalized"}, story, sink)
					}
				}
			})
		}
	}
}

// tries lets the first write to each sink that is to fail do so, and returns how often each was tried.
func tries(e *eyes, fails map[string]bool, kept bool) map[string]int {
	var mu sync.Mutex
	tried := map[string]int{}
	e.fate = func(sink string) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if tried[sink]++; fails[sink] && tried[sink] == 1 {
			return kept, errLost
		}
		return true, nil
	}
	return tried
}

func sum(which map[string]bool) (n int) {
	for _, ok := range which {
		if ok {
			n++
		}
	}
	return n
}
