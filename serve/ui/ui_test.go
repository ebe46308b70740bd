package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"a b":              "a b",
		"a ":               `a<i class="sign">space</i>`,
		"<b>&\"'":          "&lt;b&gt;&amp;&#34;&#39;",
		"a\u00a0b":         `a<i class="sign">NBSP</i>b`,
		"\u202eevil":       `<i class="sign">RLO</i>evil`,
		"\x00\t\r\n":       `<i class="sign">NUL</i><i class="sign">TAB</i><i class="sign">CR</i><i class="sign">LF</i>`,
		"\xff\xfe":         `<i class="sign">FF</i><i class="sign">FE</i>`,
		"\u2003":           `<i class="sign">U+2003</i>`,
		"\U000e0041":       `<i class="sign">U+E0041</i>`,
		"żółć שלום 💛":      "żółć שלום 💛",
		"\ufffd":           "\ufffd",
		"\u0085":           `<i class="sign">U+0085</i>`,
		"=1+1":             "=1+1",
		"</script><!--\n>": `&lt;/script&gt;&lt;!--<i class="sign">LF</i>&gt;`,
	} {
		require.Equal(t, `<bdi dir="auto">`+want+`</bdi>`, string(Shown(text)), "%q", text)
	}
	long := string(Shown(strings.Repeat("é", 5000)))
	require.Contains(t, long, "and 5,904 more bytes")
	require.Equal(t, 2048, strings.Count(long, "é"), "no character is cut in two")
}

func TestTyped(t *testing.T) {
	for canonical, want := range map[string]value{
		`{"$decimal":"1.10"}`: {"1.10", "decimal"}, `{"$date":"2001-01-31"}`: {"2001-01-31", "date"}, `{"$$decimal":"1.10"}`: {`{"$$decimal":"1.10"}`, ""},
		`"{\"$decimal\":\"1\"}"`: {`"{\"$decimal\":\"1\"}"`, ""}, `{"$json":null}`: {`{"$json":null}`, ""}, "7": {"7", ""}, `""`: {`""`, ""},
	} {
		require.Equal(t, want, typed(canonical))
	}
}

func TestNeeds(t *testing.T) {
	alive, dead := true, false
	for _, run := range []client.Run{{Status: pipeline.Completed}, {Status: pipeline.CompletedWithFailures}, {Status: pipeline.Empty}, {Status: pipeline.Cancelled}, {Status: pipeline.Running}, {Status: pipeline.Running, Alive: &alive}} {
		require.Empty(t, NeedOf(&run), "%s", run.Status)
	}
	for _, run := range []client.Run{{Status: pipeline.Blocked}, {Status: pipeline.Failed}, {Status: pipeline.Interrupted}, {Status: pipeline.Running, Alive: &dead}} {
		require.NotEmpty(t, NeedOf(&run), "%s", run.Status)
	}
	anew := client.Run{Status: pipeline.Failed, Reason: "in refused row 3 with CONVERT (the cure takes a new run)"}
	require.NotContains(t, NeedOf(&anew), "resumed")
}

// TestAnEmptyPageWithANext does not say that there is nothing: nobody has looked at all.
func TestAnEmptyPageWithANext(t *testing.T) {
	for says, bodies := range map[string][2]any{
		"Nobody asked for a run":  {Starts{Next: "/more"}, Starts{}},
		"No run matches":          {Runs{Next: "/more"}, Runs{}},
		"Nobody was shown values": {Access{Next: "/more"}, Access{}},
		"No run is on record":     {Home{More: true}, Home{}},
	} {
		more, err := Render(Page{Body: bodies[0]})
		require.NoError(t, err)
		require.NotContains(t, string(more), says)
		none, err := Render(Page{Body: bodies[1]})
		require.NoError(t, err)
		require.Contains(t, string(none), says)
	}
}

// TestWhatTemporalDoesNotSayIsUnknown: a run is neither shown as one that somebody executes, nor as one that nobody
// does.
func TestWhatTemporalDoesNotSayIsUnknown(t *testing.T) {
	for says, alive := range map[string]*bool{
		"": new(true), "nobody works for it": new(false), "Temporal does not say": nil,
	} {
		run := client.Run{ID: "r", Pipeline: "p", Status: pipeline.Running, Alive: alive}
		page, err := Render(Page{Body: Runs{Runs: []client.Run{run}}})
		require.NoError(t, err)
		require.Contains(t, string(page), says)
		for _, other := range []string{"nobody works for it", "Temporal does not say"} {
			if other != says {
				require.NotContains(t, string(page), other)
			}
		}
	}
}

// TestAccounts shows that a row that is nowhere is a difference.
func TestAccounts(t *testing.T) {
	edge := client.Edge{ID: "in:out", EdgeCount: landscape.EdgeCount{EdgeKey: landscape.EdgeKey{From: "in", To: "out"}, Kind: landscape.FlowEdge, Rows: 7}}
	none := client.Edge{ID: "in:quarantine", EdgeCount: landscape.EdgeCount{EdgeKey: landscape.EdgeKey{From: "in", To: "quarantine"}, Kind: landscape.ErrorEdge}}
	accounts := Accounts([]landscape.NodeCount{{Node: "in", In: 10, Created: 2, Out: 7, Dropped: 1, Diverted: 1, Consumed: 2, Held: 1}}, []client.Edge{edge, none})
	require.True(t, Balanced(accounts))
	require.Equal(t, []client.Edge{edge}, accounts[0].Edges)
	accounts[0].Held = 0
	require.False(t, Balanced(accounts))
	require.EqualValues(t, 1, accounts[0].Difference())
}

// TestOnlyARunThatWentThroughBalances: one that stopped before it read anything has accounts without a difference, too.
func TestOnlyARunThatWentThroughBalances(t *testing.T) {
	for status, balances := range map[pipeline.RunStatus]bool{pipeline.Completed: true, pipeline.Blocked: true, pipeline.Failed: false, pipeline.Cancelled: false} {
		report := &client.RunReport{Status: &client.Status{Run: client.Run{ID: "r", Status: status}}}
		page, err := Render(Page{Body: Run{RunReport: report, Figures: FiguresOf(report.Status, nil, 0)}})
		require.NoError(t, err)
		require.Equal(t, balances, strings.Contains(string(page), "all accounts balance"), status)
	}
}

// TestHomeIsNotSilent about slots that failed and starts that were refused, though no run needs anybody.
func TestHomeIsNotSilent(t *testing.T) {
	for says, home := range map[string]Home{
		"Nothing needs you": {Looked: 1},
		"no space":          {Looked: 1, Slots: []landscape.Slot{{Schedule: "default/p/nightly", Name: "2026-11-21", SlotFacts: landscape.SlotFacts{Reason: "no space"}}}},
		"no such parameter": {Looked: 1, Refused: []client.Start{{Run: "r", Pipeline: "p", Reason: "no such parameter"}}},
	} {
		page, err := Render(Page{Body: home})
		require.NoError(t, err)
		require.Contains(t, string(page), says)
		require.Equal(t, says == "Nothing needs you", strings.Contains(string(page), "Nothing needs you"))
	}
}

// TestServedDocumentsAreListed with the command that starts one, or why none does.
func TestServedDocumentsAreListed(t *testing.T) {
	page, err := Render(Page{Body: Pipelines{Served: []Served{{Name: "orders", Required: []string{"day"}}, {Name: "hello", Problem: "write name: hello"}}}})
	require.NoError(t, err)
	require.Contains(t, string(page), "waymark run --pipeline orders --param day=…")
	require.Contains(t, string(page), "write name: hello")
	require.NotContains(t, string(page), "--pipeline hello")
}

// TestGraphs shows that what rows took is drawn, and what could have been but was not an error.
func TestGraphs(t *testing.T) {
	edge := func(from, to, label string, kind landscape.EdgeKind, rows int64) client.Edge {
		return client.Edge{EdgeCount: landscape.EdgeCount{EdgeKey: landscape.EdgeKey{From: from, To: to, Label: label}, Kind: kind, Rows: rows}}
	}
	nodes := []landscape.NodeCount{{Node: "in", Kind: landscape.SourceNode, In: 10}, {Node: "f", In: 8}, {Node: "out", In: 5}}
	g := GraphOf(nodes, []client.Edge{
		edge("", "in", "", landscape.BeginEdge, 10), edge("in", "f", "", landscape.FlowEdge, 8), edge("in", "quarantine", "", landscape.ErrorEdge, 2),
		edge("f", "", "filter_dropped", landscape.EndEdge, 3), edge("f", "out", "", landscape.FlowEdge, 5), edge("f", "quarantine", "", landscape.ErrorEdge, 0),
	})
	require.Len(t, g.Nodes, 4)
	require.Len(t, g.Ways, 3)
	require.Equal(t, "quarantine", g.Nodes[3].ID)
	require.EqualValues(t, 2, g.Nodes[3].Rows)
	require.Equal(t, "3 filter dropped", g.Nodes[1].Below)
	require.Nil(t, GraphOf(nil, nil))
}

// TestBodies refuses what is no page.
func TestBodies(t *testing.T) {
	_, err := Render(Page{Body: 3})
	require.ErrorContains(t, err, "int is no body of a page")
	page, err := Render(Page{Title: "</title><script>", Body: Login{To: `"><script>`}})
	require.NoError(t, err)
	require.NotContains(t, string(page), "<script>")
}
