package pages_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/serving"
)

// pathOf is the path that a page writes with spaces.
func pathOf(words string) pipeline.Path { return pipeline.Path(strings.ReplaceAll(words, " ", "_")) }

// fates are where the tokens of each record of a run ended, and what they were on their way, by source, row and digest of the record.
type fates map[string]fate

type fate struct {
	ends     []string
	trail    []string
	refused  bool
	together string
}

// fatesOf reads the fates of the records of a run, in SQL alone. Rows that barriers make are of no record.
func (v *voice) fatesOf(t *testing.T, run string) fates {
	t.Helper()
	records, all := map[string]string{}, fates{}
	v.query(t, run, `select source || ':' || row, raw_hash from rows where run_id = @run`, func(rows *sql.Rows) error {
		var token, hash string
		err := rows.Scan(&token, &hash)
		records[token] = token + " " + hash
		all[records[token]] = fate{}
		return err
	})
	v.query(t, run, `select source || ':' || row, last_node, path, coalesce(sink, '') from token_outcomes where run_id = @run order by source, row, lane`, func(rows *sql.Rows) error {
		var token, node, sink string
		var path pipeline.Path
		err := rows.Scan(&token, &node, &path, &sink)
		record, of := records[token]
		if !of {
			return err
		}
		one, at := all[record], node
		if sink != "" && !strings.HasPrefix(sink, "__") {
			at = sink
		}
		if name := audit.EndName(at, path); name != "" {
			one.ends = append(one.ends, name)
		}
		one.refused = one.refused || path.Outcome() == pipeline.Failure
		all[record] = one
		return err
	})
	v.query(t, run, `select s.source || ':' || s.row, l.name || ' ' || s.node || ' ' || s.label || ' ' || coalesce(s.output_hash, '')
		from (select * from node_states where run_id = @run) s join lanes l on l.run_id = @run and l.lane = s.lane order by s.source, s.row, l.name, s.seq`, func(rows *sql.Rows) error {
		var token, visit string
		err := rows.Scan(&token, &visit)
		if record, of := records[token]; of {
			one := all[record]
			one.trail = append(one.trail, visit)
			all[record] = one
		}
		return err
	})
	for record, one := range all {
		slices.Sort(one.ends)
		one.together = audit.Together(one.ends)
		all[record] = one
	}
	return all
}

// flips are how many rows ended in one way before, and in another one after.
type flips map[[2]string]int64

// compared compares two runs in all ways.
func (v *voice) compared(t *testing.T, before, after string) {
	t.Helper()
	query := "/runs/" + after + "/compare?with=" + url.QueryEscape(before)
	raw, found := printed[client.Comparison](t, v, "compare", before, after)
	_, body := v.Ask(t, "GET", "/v1"+query, v.Tokens[landscape.Auditor], "")
	require.JSONEq(t, raw, string(body))

	was, is := v.fatesOf(t, before), v.fatesOf(t, after)
	var rows, flipped, refused, changed int64
	ends, flipsSeen := flips{}, flips{}
	for record, one := range was {
		other, both := is[record]
		if !both {
			continue
		}
		rows++
		pair := [2]string{one.together, other.together}
		ends[pair]++
		switch {
		case one.together != other.together:
			flipped++
			flipsSeen[pair]++
			if !one.refused && other.refused {
				refused++
			}
		case !slices.Equal(one.trail, other.trail):
			changed++
		}
	}
	place := []any{"%s and %s", before, after}
	require.Equal(t, []int64{rows, flipped, refused, changed}, []int64{found.Rows, found.Flipped, found.Refused, found.Changed}, place...)
	v.flipped, v.changed = v.flipped+flipped, v.changed+changed
	told := flips{}
	for _, f := range found.Flips {
		told[[2]string{f.From, f.To}] += f.Rows
	}
	require.Equal(t, flipsSeen, told, place...)
	told = flips{}
	for _, e := range found.Ends {
		told[[2]string{e.Was, e.Is}] += e.Rows
	}
	require.Equal(t, ends, told, place...)
	var blamed int64
	for _, b := range found.Disagreed {
		blamed += b.Rows
	}
	require.Equal(t, flipped+changed, blamed, place...)
	v.comparisonIsShown(t, v.page(t, query), found)
	want := map[[2]string][]string{} // rows of the earlier run, by where they ended in both
	for record, one := range was {
		if other, both := is[record]; both {
			token, _, _ := strings.Cut(record, " ")
			pair := [2]string{one.together, other.together}
			want[pair] = append(want[pair], token)
		}
	}
	for pair, tokens := range want {
		query := url.Values{"with": {before}, "from": {pair[0]}, "to": {pair[1]}, "limit": {"500"}}
		_, body := v.Ask(t, "GET", "/v1/runs/"+after+"/compare/rows?"+query.Encode(), v.Tokens[landscape.Auditor], "")
		var page remote.Page[compare.PairedRow]
		require.NoError(t, json.Unmarshal(body, &page))
		require.Equal(t, serving.Listed[compare.PairedRow](t, v.Server, "compare", before, after, "--rows", "--from", pair[0], "--to", pair[1], "--limit", "500"), page.Items)
		listed := []string{}
		for _, row := range page.Items {
			listed = append(listed, row.Was)
		}
		require.ElementsMatch(t, tokens, listed, "%v of %s and %s", pair, before, after)
	}
}

// comparisonIsShown looks for a comparison on its page.
func (v *voice) comparisonIsShown(t *testing.T, page *html.Node, found client.Comparison) {
	t.Helper()
	if !found.Same() {
		said := textOf(elementWith(page, "class", "sentence"))
		require.Contains(t, said, fmt.Sprintf("%s ended elsewhere", grouped(found.Flipped)[0]))
		require.Contains(t, said, fmt.Sprintf("; %s more ended alike", grouped(found.Changed)[0]))
	}
	var want [][]string
	for _, f := range found.Flips {
		want = append(want, append(grouped(f.Rows), strings.ReplaceAll(f.From, "_", " "), strings.ReplaceAll(f.To, "_", " ")))
	}
	require.Equal(t, want, columns(table(page, "The most frequent first"), 0, 1, 2))
	want = nil
	for _, b := range found.Disagreed {
		want = append(want, append([]string{b.Node}, grouped(b.Rows, b.Flipped)...))
	}
	require.Equal(t, want, columns(table(page, "The first node at which"), 0, 1, 2))
	want = nil
	for _, o := range found.Outputs {
		counts := []string{"–", "–"}
		for i, n := range []*int64{o.Was, o.Is} {
			if n != nil {
				counts[i] = grouped(*n)[0]
			}
		}
		said := map[bool]string{true: "● the same", false: "✗ differ"}[o.Same]
		for _, f := range o.Fields {
			said += fmt.Sprintf("field %s: %s → %s", f.Field, f.Was.Text(), f.Is.Text())
		}
		want = append(want, append([]string{o.Sink}, append(counts, said)...))
	}
	require.Equal(t, want, table(page, "As they were published"))
}
