package graphs_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// judged is what the coalesce knows of one row.
type judged struct {
	merging
	at            place
	arrived       []string // before the decision, in order
	lost          []string // before or after it
	known         []string // lost branches that the decision knew of
	firedBy, code string
}

// tell returns the story of a row whose branches come, or are lost, in this order. It is the table of policies and
// the rules of merging, written down once more.
func (m merging) tell(at place, in input, order []string) story {
	j := &judged{merging: m, at: at}
	if order = slices.Clone(order); at == lostBefore {
		slices.SortStableFunc(order, func(a, b string) int { return strings.Count(in.lost, b) - strings.Count(in.lost, a) })
	}
	for _, branch := range order {
		switch gone := strings.Contains(in.lost, branch); {
		case gone:
			j.lost = append(j.lost, branch)
		case j.firedBy == "":
			j.arrived = append(j.arrived, branch)
		}
		if j.firedBy == "" {
			j.firedBy, j.code = j.verdict()
			j.known = slices.Clone(j.lost)
		}
	}
	return j.story(in)
}

// verdict returns what decides by now, and the code if the policy gives up.
func (j *judged) verdict() (firedBy, code string) {
	expected, arrived, lost := len(j.branches), len(j.arrived), len(j.lost)
	all := arrived == expected
	switch {
	case arrived == 0 && lost < expected:
		return "", ""
	case arrived == 0:
		return "lost", ""
	case j.policy == "first":
		return "first", ""
	case j.policy == "quorum" && arrived >= j.quorum:
		return "quorum", ""
	case j.policy == "quorum" && expected-lost < j.quorum:
		return "lost", "QUORUM_NOT_MET"
	case j.policy == "require_all" && all, j.policy == "best_effort" && all:
		return "all", ""
	case j.policy == "require_all" && lost > 0:
		return "lost", "INCOMPLETE_BRANCHES"
	case j.policy == "best_effort" && arrived+lost == expected:
		return "lost", ""
	}
	return "", ""
}

// field is one of a merged row: its name, its value, and the branch that it comes from.
type field struct {
	name   string
	value  any
	origin string
}

// said returns the row of a branch when it comes to the coalesce.
func said(in input, branch string) []field {
	return []field{{"id", in.id, branch}, {"lost", in.lost, branch}, {"said", branch, branch}, {"by_" + branch, in.id, branch}}
}

// merged returns the merged row, or what is refused in its place, the fields on which branches disagree, and the code.
func (j *judged) merged(in input) (fields []field, collisions, code string) {
	came := slices.Sorted(slices.Values(j.arrived)) // the names are in declared order
	switch {
	case j.code != "" || j.merge == "union" || j.merge == "select" && !slices.Contains(came, j.wanted):
	case j.merge == "nested":
		for _, branch := range came {
			fields = append(fields, field{branch, json.RawMessage(canonical(said(in, branch))), branch})
		}
		return fields, "", ""
	default:
		return said(in, j.wanted), "", ""
	}
	fields, collisions = union(in, came, j.clash == "first")
	switch {
	case j.code != "":
		return fields, collisions, j.code
	case j.merge == "select":
		return fields, collisions, "SELECT_BRANCH_MISSING"
	case j.clash == "fail" && collisions != "":
		return fields, collisions, "COLLISION"
	}
	return fields, collisions, ""
}

// union returns the fields of all branches in order of first appearance. They disagree on what was said, if on anything.
func union(in input, came []string, firstWins bool) (fields []field, collisions string) {
	for _, branch := range came {
		for _, f := range said(in, branch) {
			switch at := slices.IndexFunc(fields, func(known field) bool { return known.name == f.name }); {
			case at < 0:
				fields = append(fields, f)
			case !firstWins:
				fields[at] = f
			}
		}
	}
	if len(came) > 1 {
		collisions = "said"
	}
	return fields, collisions
}
