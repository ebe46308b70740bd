package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
)

// TestExplainGraph asks about one run of a graph.
func TestExplainGraph(t *testing.T) {
	s := playGraph(t)
	for name, test := range map[string]func(*testing.T, *fixture){
		"every token":           testEveryToken,
		"stories":               testStories,
		"denials":               testDenials,
		"every line":            testEveryLineOfAGraph,
		"questions":             testQuestionsAboutTokens,
		"batches of many":       testManyMembers,
		"from the record alone": testGraphFromTheRecord,
		"changed records":       testChangedGraph,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// origins are the origins of the graph's run, with how many rows each has.
func origins(t *testing.T, s *fixture) map[string]int64 {
	t.Helper()
	rows := map[string]int64{}
	ends, err := s.Log.SourceEnds(t.Context(), run)
	require.NoError(t, err)
	for _, end := range ends {
		rows[end.Source] = end.Rows
	}
	return rows
}

// testEveryToken asks for every token of the run by its id: everything that is told is verified, and every token that is
// named by another can be asked for in turn.
func testEveryToken(t *testing.T, s *fixture) {
	asked, named := map[string]bool{}, map[string]bool{}
	for origin, rows := range origins(t, s) {
		for row := range rows {
			story := explain(t, s, audit.Question{Source: origin, Row: row + 1})
			tokens := story.Tokens
			if len(tokens) == 0 {
				tokens = []audit.TokenExplanation{{Token: story.Token, Fate: story.Fate}}
			}
			for _, token := range tokens {
				asked[token.Token] = true
				one := explain(t, s, audit.Question{Token: token.Token})
				require.Equal(t, token.Fate, one.Fate, token.Token)
				requireTrueToken(t, token)
				noteNamed(named, one)
			}
			require.True(t, story.True(), "%s", textOf(t, story))
		}
	}
	require.Greater(t, len(asked), 40)
	for id := range named {
		require.True(t, asked[id], id)
	}
}

func requireTrueToken(t *testing.T, token audit.TokenExplanation) {
	t.Helper()
	require.NotEmpty(t, token.Nodes, token.Token)
	require.True(t, token.Complete, token.Token)
	require.NotEmpty(t, token.Outcome, token.Token)
	require.Empty(t, token.Note)
	for _, visit := range token.Nodes {
		require.True(t, visit.Verified, "%s at %s", token.Token, visit.Node)
	}
	if token.Merge != nil && token.Merge.Result == "merged" {
		require.True(t, token.Merge.Verified, token.Token)
	}
}

// noteNamed notes the ids by which a story names other tokens.
func noteNamed(named map[string]bool, story *audit.Explanation) {
	note := func(ids ...string) {
		for _, id := range ids {
			if id != "" {
				named[id] = true
			}
		}
	}
	for _, visit := range story.Nodes {
		note(visit.Branches...)
	}
	for _, made := range story.MadeOf {
		note(made.Members...)
		note(made.Token, made.Parent)
	}
	if story.Held != nil {
		note(story.Held.Became...)
	}
	for _, merge := range []*audit.Decision{story.Merge, story.Merged} {
		if merge == nil {
			continue
		}
		note(merge.Of, merge.Token)
		for _, lost := range merge.Lost {
			note(lost.Token)
		}
		for _, arrived := range merge.Arrived {
			note(arrived.Token)
		}
	}
}

// testStories holds stories as people read them: a merge with a collision, a rejected one, a duplicate, branches of which
// nothing was made, a batch and an element of a list.
func testStories(t *testing.T, s *fixture) {
	for name, q := range map[string]audit.Question{
		"merged":    {Source: "orders", Row: 2},
		"refused":   {Token: "more:1/decide"},
		"duplicate": {Source: "orders", Row: 4},
		"nothing":   {Source: "orders", Row: 6},
		"batch":     {Sink: "places", Line: 1},
		"element":   {Source: "each", Row: 2},
		"late":      {Token: "top:2"},
		"held":      {Token: "meet:1"},
	} {
		story := explain(t, s, q)
		requireGolden(t, s, "graph-"+name+".txt", textOf(t, story))
		requireGolden(t, s, "graph-"+name+".json", toJSON(t, story))
	}
}

// testDenials holds what keeps rows from sinks.
func testDenials(t *testing.T, s *fixture) {
	for name, c := range map[string]struct {
		q    audit.Question
		sink string
	}{
		"gate":        {audit.Question{Source: "orders", Row: 3}, "places"},
		"reached":     {audit.Question{Source: "orders", Row: 2}, "places"},
		"filter":      {audit.Question{Source: "orders", Row: 6}, "places"},
		"duplicate":   {audit.Question{Source: "orders", Row: 4}, "review"},
		"source":      {audit.Question{Source: "orders", Row: 5}, "items"},
		"merge":       {audit.Question{Source: "more", Row: 1}, "review"},
		"empty":       {audit.Question{Token: "more:2/decide/lines"}, "items"},
		"not refused": {audit.Question{Source: "each", Row: 1}, "refused"},
		"refused":     {audit.Question{Source: "orders", Row: 5}, "refused"},
		"is refused":  {audit.Question{Source: "more", Row: 1}, "refused"},
		"no way":      {audit.Question{Token: "each:1"}, "review"},
	} {
		c.q.Run = run
		denial, err := auditor(s).WhyNot(t.Context(), c.q, c.sink)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, denial.WriteText(&b))
		file := "whynot-" + strings.ReplaceAll(name, " ", "-")
		requireGolden(t, s, file+".txt", b.String())
		requireGolden(t, s, file+".json", toJSON(t, denial))
	}
	_, err := auditor(s).WhyNot(t.Context(), audit.Question{Run: run, Source: "orders", Row: 1}, "reviews")
	var question *audit.QuestionError
	require.ErrorAs(t, err, &question)
	require.EqualError(t, err, `run run-1 has no sink named "reviews"`)
}

// testEveryLineOfAGraph asks for every line of every output, whatever kind of token stands there.
func testEveryLineOfAGraph(t *testing.T, s *fixture) {
	for sink, output := range map[string]string{
		"review": withoutHeader(s.Read(t, "out/review.csv")), "places": s.Read(t, "out/places.jsonl"),
		"items": withoutHeader(s.Read(t, "out/items.csv")), "refused": s.Read(t, "out/refused.jsonl"),
	} {
		written := ""
		for line := range int64(strings.Count(output, "\n")) {
			story := explain(t, s, audit.Question{Sink: sink, Line: line + 1})
			require.Equal(t, line+1, story.Line)
			written += story.Written + "\n"
		}
		require.NotEmpty(t, written)
		require.Equal(t, output, written, sink)
	}
}

func testQuestionsAboutTokens(t *testing.T, s *fixture) {
	for id, message := range map[string]string{
		"orders":             `token "orders" is not of the form source:row`,
		"orders:x/by_cost":   "is not of the form",
		"orders:1/nowhere":   "not in the landscape",
		"orders:4/by_cost":   "token orders:4/by_cost: not in the landscape",
		"orders:99":          "row 99 of source orders",
		"nothing:1":          "not in the landscape",
		"orders:1/by_cost/x": "not in the landscape",
	} {
		_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Token: id})
		require.ErrorContains(t, err, message)
	}
	_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Row: 1})
	require.EqualError(t, err, "run run-1 has 2 sources: name one")
}

// testManyMembers runs a graph whose batch has more tokens than are listed.
func testManyMembers(t *testing.T, _ *fixture) {
	s := newFixture(t)
	rows := "n\n" + strings.Repeat("1\n", 25)
	s.Write(t, map[string]string{"many.csv": rows})
	_, err := s.Run(t, "many", "name: many\nsources: {in: {csv: {path: many.csv}, schema: {fields: {n: int}}}}\n"+
		"steps: [{name: all, aggregate: {compute: {n: count()}}}]\nsinks: {out: {jsonl: {path: out/many.jsonl}}}\n")
	require.NoError(t, err)
	for all, listed := range map[bool]int{false: 20, true: 25} {
		story, err := auditor(s).Explain(t.Context(), audit.Question{Run: "many", Token: "all:1", All: all})
		require.NoError(t, err)
		require.Len(t, story.MadeOf[0].Members, listed)
		require.Equal(t, 25-listed, story.MadeOf[0].More)
		require.EqualValues(t, 25, story.MadeOf[0].Rows)
		require.Equal(t, !all, strings.Contains(textOf(t, story), "in:20 and 5 more; --all lists them"))
	}
}

// testGraphFromTheRecord takes the records of a chunk away: ways, hashes, decisions and batches are told nevertheless.
func testGraphFromTheRecord(t *testing.T, s *fixture) {
	whole := explain(t, s, audit.Question{Token: "orders:2/decide"})
	s.damage(t, whole.Source.Payload, nil)
	story := explain(t, s, audit.Question{Token: "orders:2/decide"})
	require.False(t, story.True())
	require.Len(t, story.Tokens, len(whole.Tokens))
	for i, token := range story.Tokens {
		require.Equal(t, whole.Tokens[i].Way, token.Way)
		require.Equal(t, whole.Tokens[i].Held, token.Held)
		for k, visit := range token.Nodes {
			was := whole.Tokens[i].Nodes[k]
			require.Equal(t, audit.Visit{
				Node: was.Node, Operation: was.Operation, Label: was.Label, Branches: was.Branches, InputHash: was.InputHash, OutputHash: was.OutputHash,
			}, visit, token.Token)
		}
	}
	require.NotNil(t, story.Merge)
	require.False(t, story.Merge.Verified)
	denial, err := auditor(s).WhyNot(t.Context(), audit.Question{Run: run, Token: "orders:2/decide"}, "review")
	require.NoError(t, err)
	require.Equal(t, "triage sent it to views by the label small; big leads to review", denial.Reasons[0].Text)
}

// testChangedGraph changes what is recorded about one row: the story does not hold, and says why.
func testChangedGraph(t *testing.T, s *fixture) {
	for _, c := range []struct{ name, statement, token, text string }{
		{"a hash in a lane", `update hashes set hashes = cast(zeroblob(length(hashes) - 1) || x'01' as blob) where node = 'stated' and source = 'orders' and chunk = 0`,
			"orders:2/by_state", "DIFFERS: computed again it is "},
		{"the way of a lane", `update passages set way_codes = cast(substr(way_codes, 1, 1) || substr(way_codes, 3, 1) || substr(way_codes, 2, 1) as blob) where source = 'orders' and chunk = 0 and lane = 4`,
			"orders:3/decide", "DIFFERS: computed again it goes decide > triage[big] > review (gate_routed)"},
		{"a decision", `update merge_kinds set collisions = '[]' where node = 'decide'`,
			"orders:2/decide", "DIFFERS: computed again it is merged by quorum of by_cost, by_state"},
		{"the record of a barrier", `update chunk_rows set raw_hashes = zeroblob(length(raw_hashes)) where source = 'by_place'`,
			"by_place:1", "DIFFERS: computed again it is "},
	} {
		t.Run(c.name, func(t *testing.T) {
			story, err := audit.New(tampered(t, s, c.statement), s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Token: c.token})
			require.NoError(t, err)
			require.False(t, story.True())
			require.Contains(t, textOf(t, story), c.text)
		})
	}
	log := tampered(t, s, `update passages set way_codes = cast(x'63' || substr(way_codes, 2) as blob) where source = 'orders' and chunk = 0 and lane = 1`)
	_, err := audit.New(log, s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Source: "orders", Row: 1})
	require.ErrorIs(t, err, landscape.ErrIncomplete)
	log = tampered(t, s, `update passages set way_codes = cast(substr(way_codes, 2, 1) || substr(way_codes, 1, 1) || substr(way_codes, 3) as blob) where source = 'orders' and chunk = 0 and lane = 1`)
	_, err = audit.New(log, s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Source: "orders", Row: 2})
	require.ErrorIs(t, err, landscape.ErrIncomplete)
	require.ErrorContains(t, err, "branch by_cost of row 1 arrived at decide, and no token did", "the decision and the ways do not go together")
}

// TestDecisionsInWords holds how decisions are told.
func TestDecisionsInWords(t *testing.T) {
	three := []audit.Arrived{{Branch: "a"}, {Branch: "b", OffsetMS: 350}, {Branch: "c", OffsetMS: 61_000}}
	for want, d := range map[string]audit.Decision{
		"merged 3 of 3 branches (policy require_all): a arrived first, b came 350 ms later, c came 1m1s later": {Policy: "require_all", FiredBy: "all", Arrived: three},
		"merged 1 of 3 branches (policy first): a arrived first, b was not needed any more": {
			Policy: "first", FiredBy: "first", Arrived: three[:1], NotNeeded: []string{"b"}},
		"merged 1 of 3 branches (policy best_effort, after the timeout of 30s): a arrived first, b had not come": {
			Policy: "best_effort", FiredBy: "timeout", TimeoutMS: 30_000, Arrived: three[:1], NotNeeded: []string{"b"}},
		"refused what came with QUORUM_NOT_MET, 1 of 3 branches (policy quorum 2, at the end of the sources): a arrived first, b was lost (refused by x)": {
			Policy: "quorum", Quorum: 2, FiredBy: "end", Code: "QUORUM_NOT_MET", Arrived: three[:1], Lost: []audit.Lost{{Branch: "b", Reason: "on_error_routed", Node: "x"}}},
		"made nothing: no branch came: b was lost (something)": {
			Policy: "first", FiredBy: "lost", Result: "nothing", Lost: []audit.Lost{{Branch: "b", Reason: "something"}}},
	} {
		d.Expected, d.Coalesce = 3, "meet"
		text := textOf(t, &audit.Explanation{Fate: audit.Fate{Merged: &d}})
		require.Contains(t, text, fmt.Sprintf("meet (coalesce)\n  %s\n", want))
	}
}

// TestExplainDuplicateOfNothing asks about a duplicate when it is not recorded which row came first, or makes no
// sense.
func TestExplainDuplicateOfNothing(t *testing.T) {
	s := playGraph(t)
	for name, c := range map[string]struct{ statement, want string }{
		"none":      {`delete from repeats`, "  → duplicate\n"},
		"its own":   {`update repeats set firsts = cast(x'0000000000000004' || substr(firsts, 9) as blob)`, "  → duplicate\n"},
		"no lane":   {`update repeats set firsts = cast(x'0099000000000001' || substr(firsts, 9) as blob)`, "  → duplicate\n"},
		"too short": {`update repeats set firsts = x''`, "  → duplicate\n"},
		"a branch": {`update repeats set firsts = cast(x'00' || (select char(lane) from lanes where name = 'by_age' and source = 'orders') || substr(firsts, 3) as blob)`,
			"  → duplicate of orders:1/by_age\n"},
	} {
		t.Run(name, func(t *testing.T) {
			log := tampered(t, s, c.statement)
			story, err := audit.New(log, s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Source: "orders", Row: 4})
			require.NoError(t, err)
			require.Contains(t, textOf(t, story), c.want)
		})
	}
}
