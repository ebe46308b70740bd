package graphs_test

// The tests of merges run every coalesce that there can be of up to four branches, for every set of branches that come
// or are lost, and in every order, by the real workflow over a real database, and compare all that is recorded
// afterwards with the table of policies.

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/inprocess"
)

var most = flag.Int("branches", 2, "how many branches a coalesce has at most; make nightly has four, which are all, every merge of three in every order, and sweeps all that is recorded")

// records are lent to the tests that run side by side.
type records chan *record

func newRecords(t *testing.T) records {
	t.Helper()
	lent := make(records, runtime.GOMAXPROCS(0))
	for range cap(lent) {
		lent <- &record{inprocess.New(t)}
	}
	return lent
}

// check runs the document once and compares every row of it with the oracle. It returns what is recorded, by the branches
// that lost the row.
func (lent records) check(t *testing.T, m merging, at place, order []string) map[string]*story {
	t.Helper()
	r := <-lent
	defer func() { lent <- r }()
	run := fmt.Sprintf("%x", sha256.Sum256([]byte(t.Name())))
	var lines strings.Builder
	for _, in := range m.inputs() {
		fmt.Fprintln(&lines, in.line())
	}
	require.NoError(t, r.Run(t, run, m.document(at, order), map[string]string{"in.jsonl": lines.String()}, nil))
	closely := m.closely(order)
	if closely {
		findings, err := r.Log.Sweep(t.Context(), run, true)
		require.NoError(t, err)
		require.Empty(t, findings)
	}
	got := r.stories(t, run)
	require.Len(t, got, len(m.inputs()))
	byLost := map[string]*story{}
	for _, in := range m.inputs() {
		want := m.tell(at, in, order)
		require.Equal(t, &want, got[in.token()], "lost %q, came in the order %v", in.lost, order)
		byLost[in.lost] = got[in.token()]
	}
	if closely && len(m.branches) < len(names) && slices.Equal(order, m.branches) { // explain reads the others in the same way
		r.requireTold(t, run, m.inputs(), got)
	}
	return byLost
}

// closely reports whether a run is also swept, and its rows explained: that takes as long as all else. Of three branches, one merge
// and one order is.
func (m merging) closely(order []string) bool {
	return *most == len(names) || slices.Equal(order, m.branches) && (len(m.branches) < *most || m.plain())
}

// plain reports whether the merge is the usual one.
func (m merging) plain() bool { return m.merge == "union" && m.clash == "" }

// TestInOnePass has the branches meet within one pass: they come in declared order.
func TestInOnePass(t *testing.T) {
	lent := newRecords(t)
	for n := 1; n <= *most; n++ {
		for _, m := range allMergings(n) {
			if n == 3 && *most == n && m.wanted != "" && m.wanted != m.branches[n-1] {
				continue // of two branches, each is selected
			}
			t.Run(m.String(), func(t *testing.T) {
				t.Parallel()
				lent.check(t, m, onePass, m.branches)
			})
		}
	}
}

// TestInEveryOrder has the branches come in passes of their own, in every order: rows wait in each of them until the sources
// are at their end.
func TestInEveryOrder(t *testing.T) {
	lent := newRecords(t)
	for n := 1; n <= *most; n++ {
		for _, m := range allMergings(n) {
			for _, at := range []place{lostBefore, lostBehind} {
				if (n == 1 || n == *most || at == lostBefore) && !m.plain() {
					continue // one merge is enough to tell orders apart
				}
				t.Run(fmt.Sprintf("%s, %s", m, at), func(t *testing.T) {
					t.Parallel()
					lent.checkOrders(t, m, at)
				})
			}
		}
	}
}

func (lent records) checkOrders(t *testing.T, m merging, at place) {
	var told []map[string]*story
	orders := permutations(m.branches)
	if at == lostBefore && *most < len(names) {
		orders = [][]string{orders[0], orders[len(orders)-1]} // as declared, and the other way round: who is lost comes first anyway
	}
	for _, order := range orders {
		t.Run(strings.Join(order, ""), func(t *testing.T) {
			told = append(told, lent.check(t, m, at, order))
		})
	}
	if t.Failed() {
		return
	}
	for _, in := range m.inputs() {
		for _, byLost := range told {
			m.requireExplained(t, in, told[0][in.lost], byLost[in.lost])
		}
	}
}

// requireExplained requires that a row does not hang on the order in which its branches came, unless the policy is one of
// order: then it is what the branches on record give, whichever came first.
func (m merging) requireExplained(t *testing.T, in input, first, other *story) {
	t.Helper()
	if m.policy == "require_all" || m.policy == "best_effort" || first.Decision.Result == "nothing" || first.Decision.Code == "QUORUM_NOT_MET" {
		require.Equal(t, [3]string{first.Decision.Result, first.Decision.Code, first.Line}, [3]string{other.Decision.Result, other.Decision.Code, other.Line})
		return
	}
	recorded := judged{merging: m, arrived: strings.Fields(other.Decision.Arrived)}
	fields, _, code := recorded.merged(in)
	require.Equal(t, other.Decision.Code, code)
	if code == "" {
		require.Equal(t, line(fields), other.Line)
	}
}

// permutations returns every order of the list, the list's own first.
func permutations(list []string) [][]string {
	if len(list) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, first := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, others := range permutations(rest) {
			all = append(all, append([]string{first}, others...))
		}
	}
	return all
}
