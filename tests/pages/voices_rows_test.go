package pages_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"waymark/audit"
	"waymark/client"
	"waymark/landscape"
	"waymark/tests/serving"
)

// rowsAgree compares the rows behind some nodes, edges and sinks, and how each ended. A few of the lists are also asked of the command.
func (v *voice) rowsAgree(t *testing.T, r *onRecord) {
	t.Helper()
	lists := map[string][]string{}
	for node, tokens := range r.at {
		lists["node="+node] = tokens
	}
	for edge, tokens := range r.edges {
		lists["edge="+edge] = tokens
	}
	for sink, tokens := range r.held {
		lists["sink="+sink] = tokens
	}
	wanted := v.some(slices.Collect(maps.Keys(lists)), 16)
	for i, filter := range wanted {
		key, name, _ := strings.Cut(filter, "=")
		want := r.rowsOf(lists[filter])
		query := "/runs/" + r.run + "/rows?" + url.Values{key: {name}}.Encode()
		var sent []client.Row
		for _, item := range v.items(t, "/v1"+query) {
			var row client.Row
			require.NoError(t, json.Unmarshal(item, &row))
			sent = append(sent, row)
		}
		require.Equal(t, want, sent, "%s of %s", filter, r.run)
		require.Equal(t, want, v.shownRows(t, query, len(want)), "%s of %s", filter, r.run)
		if i < 4 {
			require.Equal(t, want, serving.Listed[client.Row](t, v.Server, "rows", r.run, "--"+key, name, "--limit", "0"), "%s of %s", filter, r.run)
		}
	}
}

// shownRows are the rows that the pages of a list show, with the number that the title says.
func (v *voice) shownRows(t *testing.T, path string, count int) (rows []client.Row) {
	t.Helper()
	for path += "&limit=" + strconv.Itoa(20+v.rng.IntN(300)); path != ""; {
		page := v.page(t, path)
		number, said := titleNumber(page)
		require.True(t, said, path)
		require.Equal(t, count, number, path)
		for _, cells := range table(page, "By source and row") {
			rows = append(rows, client.Row{Token: cells[0], Path: pathOf(cells[1]), Node: cells[2], Sink: cells[3]})
		}
		path = ""
		for link := range links(page) {
			if link["rel"] == "next" {
				path = link["href"]
			}
		}
	}
	return rows
}

// refusalsAgree compares why rows were refused, one by one and in groups.
func (v *voice) refusalsAgree(t *testing.T, r *onRecord) {
	t.Helper()
	v.requireItems(t, "/v1/runs/"+r.run+"/errors/rows", "errors", r.run, "--each", "--limit", "0")
	var want []client.RowError
	v.query(t, r.run, `with t as materialized (select token_id, source, row, lane from tokens where run_id = @run)
		select t.token_id || '@' || x.node, t.token_id, x.node, x.source, x.row, x.line, x.code, x.field, x.message, x.sent_to
		from errors x join t on t.source = x.source and t.row = x.row and t.lane = x.lane where x.run_id = @run order by x.source, x.row, x.lane, x.node`,
		func(rows *sql.Rows) error {
			var e client.RowError
			err := rows.Scan(&e.ID, &e.Token, &e.Node, &e.Source, &e.Row, &e.Line, &e.Code, &e.Field, &e.Message, &e.SentTo)
			want = append(want, e)
			return err
		})
	require.Equal(t, want, serving.Listed[client.RowError](t, v.Server, "errors", r.run, "--each", "--limit", "0"), r.run)

	type group struct{ node, code, field string }
	counts, told, sent, shown := map[group]int64{}, [][]string{}, [][]string{}, [][]string{}
	for _, e := range want {
		counts[group{e.Node, e.Code, e.Field}]++
	}
	for _, g := range serving.Listed[client.ErrorGroup](t, v.Server, "errors", r.run) {
		counts[group{g.Node, g.Code, g.Field}] -= g.Count
		told = append(told, append(grouped(g.Count), g.Code, g.Node, g.Field))
	}
	for of, left := range counts {
		require.Zero(t, left, "%v of %s", of, r.run)
	}
	for _, item := range v.items(t, "/v1/runs/"+r.run+"/errors") {
		var g client.ErrorGroup
		require.NoError(t, json.Unmarshal(item, &g))
		sent = append(sent, append(grouped(g.Count), g.Code, g.Node, g.Field))
	}
	page := v.page(t, "/runs/"+r.run+"/errors")
	for i := 1; elementWith(page, "id", "group-"+strconv.Itoa(i)) != nil; i++ {
		shown = append(shown, shownGroup(elementWith(page, "id", "group-"+strconv.Itoa(i))))
	}
	require.Equal(t, told, sent, r.run)
	require.Equal(t, told, shown, r.run)
	total, said := titleNumber(page)
	require.Equal(t, []any{true, len(want)}, []any{said, total}, r.run)
}

// shownGroup is a group of refusals as its page shows it: how many, code, node and field.
func shownGroup(section *html.Node) []string {
	said := map[string]string{}
	term, heading := "", []string{}
	for node := range section.Descendants() {
		switch node.Data {
		case "h2":
			heading = strings.Fields(textOf(node))
		case "dt":
			term = textOf(node)
		case "dd":
			said[term] = textOf(node)
		}
	}
	return []string{heading[0], heading[2], said["Node"], said["Field"]}
}

// effectsAgree compares the completion records.
func (v *voice) effectsAgree(t *testing.T, r *onRecord) {
	t.Helper()
	v.requireItems(t, "/v1/runs/"+r.run+"/effects", "effects", r.run, "--limit", "0")
	var want, told, shown [][]string
	v.query(t, r.run, `select case chunk when -1 then sink else sink || '/' || source || ':' || chunk end, state, fence, rows, bytes from effects where run_id = @run order by sink, source, chunk`,
		func(rows *sql.Rows) error {
			var id, state string
			var attempts, count, size int64
			err := rows.Scan(&id, &state, &attempts, &count, &size)
			want = append(want, append([]string{id, "✓ " + state}, grouped(attempts, count, size)...))
			return err
		})
	type effect struct {
		Effect                string
		State                 string
		Attempts, Rows, Bytes int64
	}
	for _, e := range serving.Listed[effect](t, v.Server, "effects", r.run, "--limit", "0") {
		told = append(told, append([]string{e.Effect, "✓ " + e.State}, grouped(e.Attempts, e.Rows, e.Bytes)...))
	}
	for path := "/runs/" + r.run + "/effects?limit=30"; path != ""; {
		page := v.page(t, path)
		shown = append(shown, columns(table(page, "Of each part of each output"), 0, 1, 2, 3, 4)...)
		path = ""
		for link := range links(page) {
			if link["rel"] == "next" {
				path = link["href"]
			}
		}
	}
	require.Equal(t, want, told, r.run)
	require.Equal(t, want, shown, r.run)
}

// storiesAgree compares what is said of a few rows: where they came along, and where they are.
func (v *voice) storiesAgree(t *testing.T, r *onRecord) {
	t.Helper()
	for _, token := range v.some(names(r.tokens), 4) {
		query := "/runs/" + r.run + "/explain?token=" + url.QueryEscape(token)
		raw, story := printed[audit.Explanation](t, v, "explain", r.run, "--token", token)
		_, body := v.Ask(t, "GET", "/v1"+query, v.Tokens[landscape.Auditor], "")
		require.JSONEq(t, raw, string(body), token)
		require.True(t, story.True(), token)
		v.storyAgrees(t, r, v.page(t, query), token, story)
	}
	for _, token := range v.some(slices.Collect(maps.Keys(r.lines)), 2) {
		at := r.lines[token]
		_, story := printed[audit.Explanation](t, v, "explain", r.run, "--sink", at.sink, "--line", fmt.Sprint(at.line))
		require.Equal(t, token, story.Token)
		page := v.page(t, fmt.Sprintf("/runs/%s/explain?sink=%s&line=%d", r.run, at.sink, at.line))
		require.Contains(t, textOf(page), fmt.Sprintf("row %s of %s", grouped(at.line)[0], at.sink))
	}
}

// storyAgrees compares an explanation and its page with the record.
func (v *voice) storyAgrees(t *testing.T, r *onRecord, page *html.Node, token string, story audit.Explanation) {
	t.Helper()
	end := r.rowsOf([]string{token})[0]
	require.Equal(t, []string{token, string(end.Path), r.lines[token].sink}, []string{story.Token, story.Path, heldIn(story)}, token)
	require.Equal(t, r.lines[token].line, story.Line, token)
	var visited, shown []string
	for _, visit := range story.Nodes {
		visited = append(visited, visit.Node)
	}
	own := r.visits[token]
	require.GreaterOrEqual(t, len(visited), len(own), token)
	require.Equal(t, own, visited[len(visited)-len(own):], token) // what came before a fork is on record of the row that was forked
	for heading := range page.Descendants() {
		if heading.Data == "h3" && strings.HasPrefix(textOf(heading), fmt.Sprint(len(shown)+1)+" ") {
			shown = append(shown, strings.Fields(textOf(heading))[1])
		}
	}
	if len(story.Tokens) == 0 {
		require.Equal(t, visited, shown, token)
	}
	require.Contains(t, textOf(page), strings.ReplaceAll(string(end.Path), "_", " "), token)
}

// heldIn is the sink whose target holds a row.
func heldIn(story audit.Explanation) string {
	if story.Line == 0 {
		return ""
	}
	return story.Sink
}
