package graphs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// requireTold requires that explain tells of every row the decision that SQL has, and of every lost branch where its token ended.
func (r *record) requireTold(t *testing.T, run string, inputs []input, read map[string]*story) {
	t.Helper()
	auditor := audit.New(r.Log.Reader, r.Payloads, r.Planner)
	for _, in := range inputs {
		told, err := auditor.Explain(t.Context(), audit.Question{Run: run, Token: in.token()})
		require.NoError(t, err)
		d := decisionOf(told)
		require.NotNil(t, d)
		want := read[in.token()]
		require.Equal(t, want.Decision, asRead(d, want.Decision.Hash), "lost %q", in.lost)
		for _, lost := range d.Lost {
			end, _, _ := strings.Cut(want.Tokens[nameOf(lost.Token)], " <")
			require.Equal(t, ends[lost.Branch], end, "%s is the token with which the branch ended", lost.Token)
			require.Equal(t, strings.Fields(end)[1], lost.Node)
		}
		var text strings.Builder
		require.NoError(t, told.WriteText(&text))
		for _, line := range wantedLines(want.Decision) {
			require.Contains(t, text.String(), "\n  "+line)
		}
	}
}

// decisionOf returns what the coalesce made of the row's branches, as explain tells it.
func decisionOf(told *audit.Explanation) *audit.Decision {
	for _, token := range told.Tokens {
		if token.Merge != nil {
			return token.Merge
		}
		if token.Merged != nil {
			return token.Merged
		}
	}
	return nil
}

// asRead puts a decision into the form in which SQL tells it. hash is that of the merged row, which is told with its token.
func asRead(d *audit.Decision, hash string) decision {
	read := decision{
		Policy: d.Policy, Merge: d.Merge, Quorum: fmt.Sprint(d.Quorum), Expected: words(d.Branches), NotNeeded: words(d.NotNeeded),
		FiredBy: d.FiredBy, Result: d.Result, Code: d.Code, Hash: hash,
	}
	var arrived, tokens, collisions []string
	for _, a := range d.Arrived {
		arrived, tokens = append(arrived, a.Branch), append(tokens, a.Token)
	}
	for _, c := range d.Collisions {
		collisions = append(collisions, c.Field)
	}
	var lost, fields []field
	for _, l := range d.Lost {
		lost = append(lost, field{name: l.Branch, value: l.Reason})
	}
	for _, f := range d.Fields {
		fields = append(fields, field{name: f.Field, value: f.Branch})
	}
	read.Arrived, read.Order, read.Collisions, read.Lost, read.Origins = words(arrived), namesOf(tokens), words(collisions), line(lost), line(fields)
	if d.Token != "" {
		read.Merged = nameOf(d.Token)
	}
	return read
}

// wantedLines returns the beginnings of lines with which the text tells a decision.
func wantedLines(d decision) []string {
	lines := []string{"expected " + strings.ReplaceAll(d.Expected, " ", ", ") + "\n", "merge    " + d.Merge, "decided  when "}
	if d.Origins != "{}" {
		lines = append(lines, "fields   ")
	}
	policy := "(policy " + d.Policy
	if d.Quorum != "0" {
		policy += " " + d.Quorum
	}
	switch d.Result {
	case "merged":
		lines = append(lines, fmt.Sprintf("merged %d of %d branches %s", len(strings.Fields(d.Arrived)), len(strings.Fields(d.Expected)), policy))
	case "refused":
		lines = append(lines, fmt.Sprintf("refused what came with %s, %d of %d branches %s", d.Code, len(strings.Fields(d.Arrived)), len(strings.Fields(d.Expected)), policy))
	case "nothing":
		lines = append(lines, "made nothing: no branch came")
	}
	return lines
}
