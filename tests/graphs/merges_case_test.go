package graphs_test

import (
	"fmt"
	"strings"
)

// merging is one coalesce: how many branches it has, and what it is asked to do with them.
type merging struct {
	branches []string // in declared order: the first of names
	policy   string
	quorum   int // of the policy quorum; else 0
	merge    string
	wanted   string // of the merge select; else ""
	clash    string // what collision says; "" for its default, the last
}

// source is where all rows come from.
const source = "s"

// names are the branches. Each loses rows in its own way, so that one reason is not taken for another.
var names = []string{"a", "b", "c", "d"}

// losing is, for each branch, the step at which the rows end whose field lost names the branch.
var losing = map[string]string{
	"a": `filter: "!row.lost.contains('a')"`,
	"b": `gate: row.lost.contains('b'), routes: {"true": aside, "false": continue}`,
	"c": `gate: row.lost.contains('c'), routes: {"true": discard, "false": continue}`,
	"d": `set: {id: "row.id / (row.lost.contains('d') ? 0 : 1)"}`,
}

// allMergings returns every policy with every merge of this many branches.
func allMergings(n int) []merging {
	policies := []merging{{policy: "require_all"}, {policy: "best_effort"}, {policy: "first"}}
	for quorum := 1; quorum <= n; quorum++ {
		policies = append(policies, merging{policy: "quorum", quorum: quorum})
	}
	var all []merging
	for _, m := range policies {
		m.branches = names[:n]
		all = append(all, m.with("union", "", ""), m.with("union", "", "first"), m.with("union", "", "fail"), m.with("nested", "", ""))
		for _, wanted := range m.branches {
			all = append(all, m.with("select", wanted, ""))
		}
	}
	return all
}

func (m merging) with(merge, wanted, clash string) merging {
	m.merge, m.wanted, m.clash = merge, wanted, clash
	return m
}

// String names the case.
func (m merging) String() string {
	policy := m.policy
	if m.quorum > 0 {
		policy = fmt.Sprintf("quorum %d", m.quorum)
	}
	return strings.TrimSpace(fmt.Sprintf("%d branches, %s, %s", len(m.branches), policy, strings.Join(strings.Fields(m.merge+" "+m.wanted+" "+m.clash), " ")))
}

// place says where the branches lose rows, and whether these wait before they come to the coalesce.
type place string

const (
	onePass    place = "in one pass"        // no row waits
	lostBefore place = "lost before a sort" // all losses are known before the first row comes
	lostBehind place = "lost behind a sort" // losses and arrivals take turns
)

// document returns the pipeline. The order is that in which branches come to the coalesce: at the end of the sources,
// the sorts in them let go of their rows in the order of the steps.
func (m merging) document(at place, order []string) string {
	var text strings.Builder
	if at == onePass {
		fmt.Fprintln(&text, "chunk: {rows: 7}") // what waits is in a chunk of its own anyway
	}
	fmt.Fprint(&text, "name: merges\nsources: {s: {jsonl: {path: in.jsonl}, schema: {fields: {id: int, lost: string, said: string}}}}\nsteps:\n")
	fmt.Fprintf(&text, "  - {name: copies, fork: [%s]}\n", strings.Join(m.branches, ", "))
	for _, branch := range order {
		m.writeBranch(&text, at, branch)
	}
	var entries []string
	for _, branch := range m.branches {
		entries = append(entries, branch+": adds_"+branch)
	}
	fmt.Fprintf(&text, "  - {name: meet, coalesce: {%s}, %s, on_error: refused}\n", strings.Join(entries, ", "), m.wishes())
	fmt.Fprint(&text, "sinks:\n  out: {jsonl: {path: out.jsonl}, from: meet}\n  refused: {jsonl: {path: refused.jsonl}}\n")
	if len(m.branches) > 1 {
		fmt.Fprint(&text, "  aside: {jsonl: {path: aside.jsonl}}\n")
	}
	return text.String()
}

// writeBranch writes the steps of a branch: it waits, it loses rows, and says something in a field of its own and in one of
// all, to what was said before: that a branch does not hear another.
func (m merging) writeBranch(text *strings.Builder, at place, branch string) {
	steps := []string{"keep_" + branch + ", " + losing[branch], "wait_" + branch + ", sort: {by: {id: asc}}"}
	switch at {
	case onePass:
		steps = steps[:1]
	case lostBehind:
		steps[0], steps[1] = steps[1], steps[0]
	}
	steps = append(steps, fmt.Sprintf(`says_%s, set: {said: "row.said + '%[1]s'"}`, branch), fmt.Sprintf(`adds_%s, set: {by_%[1]s: row.id}`, branch))
	steps[0] = strings.Replace(steps[0], ",", ", from: "+branch+",", 1)
	for _, step := range steps {
		fmt.Fprintf(text, "  - {name: %s}\n", step)
	}
}

// wishes returns what the coalesce is asked for.
func (m merging) wishes() string {
	policy, merge, clash := m.policy, m.merge, ""
	if m.quorum > 0 {
		policy = fmt.Sprintf("{quorum: %d}", m.quorum)
	}
	if m.wanted != "" {
		merge = "{select: " + m.wanted + "}"
	}
	if m.clash != "" {
		clash = ", collision: " + m.clash
	}
	return "policy: " + policy + ", merge: " + merge + clash
}

// input is a row of the source: its number, and the branches that lose it.
type input struct {
	id   int
	lost string
}

// inputs returns a row for every set of branches that may lose it. Row 1 is lost by none, the last by all.
func (m merging) inputs() []input {
	var rows []input
	for set := range 1 << len(m.branches) {
		lost := ""
		for b, branch := range m.branches {
			if set>>b&1 == 1 {
				lost += branch
			}
		}
		rows = append(rows, input{set + 1, lost})
	}
	return rows
}

func (in input) line() string { return fmt.Sprintf(`{"id":%d,"lost":%q,"said":""}`, in.id, in.lost) }

// token is the id of the row's token.
func (in input) token() string { return fmt.Sprintf("%s:%d", source, in.id) }
