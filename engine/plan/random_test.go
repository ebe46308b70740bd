package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// TestRandomGraphs compiles documents of random gates, forks, coalesces and barriers. Whatever they are, they make a plan
// or problems; and a plan's lanes are those that a walk along every way of a token finds.
func TestRandomGraphs(t *testing.T) {
	made, held, merged := 0, 0, 0
	step := sample.Step(4)
	for seed := uint64(0); seed < 800; seed += uint64(step) {
		document := randomDocument(rand.New(rand.NewPCG(seed, 1)))
		p, err := compile(t, document)
		if err != nil {
			require.NotEmpty(t, err.Error(), document)
			continue
		}
		made++
		requireLanes(t, p, document)
		for i := range p.Nodes {
			if join := p.Nodes[i].Coalescing; join != nil && join.Held {
				held++
			} else if join != nil {
				merged++
			}
		}
	}
	require.Greater(t, made, 200/step, "most documents should make a plan, or this says little")
	require.Greater(t, held, 30/step)
	require.Greater(t, merged, 60/step)
}

// end is a node or branch whose rows nothing takes yet, with the branches that it lies in.
type end struct {
	name  string
	stack []string
}

type graphWriter struct {
	*rand.Rand

	steps []string
	ends  []end
	forks map[string]string // branch → its fork
}

func randomDocument(random *rand.Rand) string {
	w := &graphWriter{Rand: random, ends: []end{{name: "in"}}, forks: map[string]string{}}
	document := source
	if w.IntN(4) == 0 {
		document += secondSource
		w.ends = append(w.ends, end{name: "more"})
	}
	count := 2 + w.IntN(10)
	for i := range count {
		w.step(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", min(i+1+w.IntN(4), count-1)))
	}
	names := []string{}
	for _, open := range w.ends {
		names = append(names, open.name)
	}
	return document + "steps:\n" + strings.Join(w.steps, "") +
		fmt.Sprintf("sinks: {out: {jsonl: {path: o}, from: [%s]}}\n", strings.Join(names, ", "))
}

// step writes one step, which takes the rows of one or more ends. later is a step to which a gate may send rows; that of
// the last step is itself.
func (w *graphWriter) step(name, later string) {
	if w.IntN(3) == 0 && w.coalesce(name) {
		return
	}
	from, stack := w.take()
	out := end{name, stack}
	var operation string
	switch w.IntN(8) {
	case 0:
		operation = "expand: {field: kind, split: ';'}"
		out.stack = nil
	case 1, 5:
		operation = "sort: {by: {id: asc}}"
	case 2, 3:
		operation = fmt.Sprintf("fork: [%s]", strings.Join(w.fork(name, stack), ", "))
		out.name = ""
	case 4:
		operation = fmt.Sprintf("gate: row.id > 1, routes: {'true': continue, 'false': %s}", strings.Replace(later, name, "discard", 1))
	default:
		operation = "deduplicate: {key: [id]}"
	}
	w.steps = append(w.steps, fmt.Sprintf("  - {name: %s, from: [%s], %s}\n", name, strings.Join(from, ", "), operation))
	if out.name != "" {
		w.ends = append(w.ends, out)
	}
}

// take removes one end, or now and then two, from those that are open.
func (w *graphWriter) take() (names, stack []string) {
	for range 1 + w.IntN(6)/5 {
		if len(w.ends) == 0 {
			break
		}
		i := w.IntN(len(w.ends))
		names, stack = append(names, w.ends[i].name), w.ends[i].stack
		w.ends = slices.Delete(w.ends, i, i+1)
	}
	return names, stack
}

func (w *graphWriter) fork(name string, stack []string) []string {
	var branches []string
	for k := range 1 + w.IntN(3) {
		branch := fmt.Sprintf("%s_%d", name, k)
		branches = append(branches, branch)
		w.forks[branch] = name
		w.ends = append(w.ends, end{branch, append(slices.Clone(stack), branch)})
	}
	return branches
}

// coalesce writes a coalesce of the open ends in branches of one fork, and reports whether there were any.
func (w *graphWriter) coalesce(name string) bool {
	fork, entries, rest, out := "", map[string]string{}, []end{}, end{name: name}
	for _, open := range w.ends {
		last := len(open.stack) - 1
		if last < 0 || fork != "" && w.forks[open.stack[last]] != fork || entries[open.stack[last]] != "" || w.IntN(8) == 0 {
			rest = append(rest, open)
			continue
		}
		fork, out.stack = w.forks[open.stack[last]], open.stack[:last]
		entries[open.stack[last]] = open.name
	}
	if fork == "" {
		return false
	}
	var pairs []string
	for _, branch := range slices.Sorted(maps.Keys(entries)) {
		pairs = append(pairs, branch+": "+entries[branch])
	}
	w.steps = append(w.steps, fmt.Sprintf("  - {name: %s, coalesce: {%s}}\n", name, strings.Join(pairs, ", ")))
	w.ends = append(rest, out)
	return true
}

// walker finds the lanes of a plan by following every way of a token.
type walker struct {
	p    *plan.Plan
	seen map[string]bool
	held map[int]bool
}

// parent is an open fork of a token: the name of the lane in which it was executed, or that it was in another pass.
type parent struct {
	lane    string
	earlier bool
}

func requireLanes(t *testing.T, p *plan.Plan, document string) {
	t.Helper()
	w := &walker{p: p, seen: map[string]bool{}, held: map[int]bool{}}
	for _, origin := range p.Origins() {
		var open []parent
		for range p.Nodes[origin].Context {
			open = append(open, parent{earlier: true})
		}
		w.seen[p.Nodes[origin].Name+":"] = true
		w.walk(p.Nodes[origin].Name+":", p.Nodes[origin].Next, "", open)
	}
	found := map[string]bool{}
	for i, lane := range p.Lanes {
		name := p.Nodes[lane.Origin].Name + ":" + lane.Name
		require.False(t, found[name], "%s twice in\n%s", name, document)
		found[name] = true
		require.Less(t, lane.Parent, i)
	}
	require.Equal(t, w.seen, found, document)
	for i := range p.Nodes {
		if join := p.Nodes[i].Coalescing; join != nil {
			require.Equal(t, w.held[i], join.Held, "%s in\n%s", p.Nodes[i].Name, document)
		}
	}
}

func (w *walker) walk(origin string, at int, lane string, open []parent) {
	node := &w.p.Nodes[at]
	switch {
	case node.Kind == plan.Sink:
	case node.Operation == plan.Fork:
		for _, route := range node.Routes {
			w.enter(origin, route.To.Node, join(lane, route.Label), append(slices.Clone(open), parent{lane: lane}))
		}
	case node.Operation == plan.Coalesce:
		top := open[len(open)-1]
		if top.earlier {
			w.held[at] = true
		}
		if !node.Coalescing.Held {
			w.enter(origin, node.Next, join(top.lane, node.Name), open[:len(open)-1])
		}
	case node.Barrier:
	case node.Operation == plan.Gate:
		for _, route := range node.Routes {
			if route.To.Word == pipeline.Discard {
				continue
			}
			w.walk(origin, route.To.Node, lane, open)
		}
	default:
		w.walk(origin, node.Next, lane, open)
	}
}

func (w *walker) enter(origin string, at int, lane string, open []parent) {
	w.seen[origin+lane] = true
	w.walk(origin, at, lane, open)
}

func join(lane, name string) string { return strings.TrimPrefix(lane+"/"+name, "/") }
