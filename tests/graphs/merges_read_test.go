package graphs_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is asked of every run.
const (
	parentsQuery = `select token_id, parent_token_id from token_parents where run_id = ? order by token_id, ordinal`
	tokensQuery  = `select token_id, path, last_node, coalesce(sink, '-'), coalesce(join_group_id, '')
		from token_outcomes where run_id = ? and completed`
	decisionsQuery = `select fork_group_id, coalesce(merged_token_id, ''), policy, merge_strategy, coalesce(quorum, 0), branches_expected,
		branches_arrived, branches_lost, branches_not_needed, arrival_order, fired_by, result, code, collisions, field_origins, coalesce(merged_hash, '')
		from coalesce_events where run_id = ?`
	sinksQuery = `select sink, token_id from sink_rows where run_id = ? order by sink, line_number`
)

// told is what is recorded about the rows of a run, by the number of the source's row.
type told struct {
	*record
	run     string
	parents map[string][]string // of a token, in their order
	stories map[string]*story
}

// stories reads back what the run left: its outputs, and its record by SQL.
func (r *record) stories(t *testing.T, run string) map[string]*story {
	t.Helper()
	read := &told{r, run, map[string][]string{}, map[string]*story{}}
	r.Query(t, run, parentsQuery, func(rows *sql.Rows) error {
		var token, parent string
		err := rows.Scan(&token, &parent)
		read.parents[token] = append(read.parents[token], parent)
		return err
	})
	read.readTokens(t)
	read.readDecisions(t)
	read.readSinks(t)
	return read.stories
}

// of returns the story that the token belongs to: that of the row it was copied or made from.
func (r *told) of(t *testing.T, token string) *story {
	t.Helper()
	root, _, _ := strings.Cut(token, "/")
	for up := r.parents[token]; len(up) > 0; up = r.parents[up[0]] {
		root, _, _ = strings.Cut(up[0], "/")
	}
	for _, parent := range r.parents[token] {
		require.Same(t, r.of(t, root), r.of(t, parent), "%s comes from several rows", token)
	}
	require.True(t, strings.HasPrefix(root, source+":"), "%s comes from nowhere", token)
	if r.stories[root] == nil {
		r.stories[root] = &story{Tokens: map[string]string{}}
	}
	return r.stories[root]
}

// nameOf names a token without its row: by its lane, or by what it came out of.
func nameOf(token string) string {
	origin, lane, _ := strings.Cut(token, "/")
	name, _, _ := strings.Cut(origin, ":")
	if name == source && lane != "" {
		return lane
	}
	return name
}

func namesOf(tokens []string) string {
	names := make([]string, len(tokens))
	for i, token := range tokens {
		names[i] = nameOf(token)
	}
	return words(names)
}

func (r *told) readTokens(t *testing.T) {
	t.Helper()
	r.Query(t, r.run, tokensQuery, func(rows *sql.Rows) error {
		var token, path, node, sink, joined string
		if err := rows.Scan(&token, &path, &node, &sink, &joined); err != nil {
			return err
		}
		end := words([]string{path, node, sink})
		if joined != "" {
			require.Same(t, r.of(t, token), r.of(t, joined), "%s became part of %s", token, joined)
			end += " > " + nameOf(joined)
		}
		if parents := r.parents[token]; len(parents) > 0 {
			end += " < " + namesOf(parents)
		}
		tokens := r.of(t, token).Tokens
		require.NotContains(t, tokens, nameOf(token), "%s ended twice", token)
		tokens[nameOf(token)] = end
		return nil
	})
}

func (r *told) readDecisions(t *testing.T) {
	t.Helper()
	r.Query(t, r.run, decisionsQuery, func(rows *sql.Rows) error {
		var d decision
		var key, merged, order string
		err := rows.Scan(&key, &merged, &d.Policy, &d.Merge, &d.Quorum, &d.Expected, &d.Arrived, &d.Lost, &d.NotNeeded, &order,
			&d.FiredBy, &d.Result, &d.Code, &d.Collisions, &d.Origins, &d.Hash)
		if err != nil {
			return err
		}
		about := r.of(t, key)
		require.Empty(t, about.Decision, "%s was decided twice", key)
		if merged != "" {
			require.Same(t, about, r.of(t, merged), "%s was made of %s", merged, key)
			d.Merged = nameOf(merged)
		}
		for _, list := range []*string{&d.Expected, &d.Arrived, &d.NotNeeded, &d.Collisions} {
			*list = words(decoded[[]string](t, *list))
		}
		var tokens []string
		for i, arrival := range decoded[[]arrival](t, order) {
			require.Equal(t, strings.Fields(d.Arrived)[i], arrival.Branch)
			require.Same(t, about, r.of(t, arrival.Token))
			tokens = append(tokens, arrival.Token)
		}
		d.Order = namesOf(tokens)
		about.Decision = d
		return nil
	})
}

// arrival is one entry of arrival_order.
type arrival struct {
	Branch string `json:"branch"`
	Token  string `json:"token_id"`
	Offset int64  `json:"offset_ms"`
}

func decoded[V any](t *testing.T, text string) V {
	t.Helper()
	var v V
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

// readSinks reads the lines of the sinks, and by SQL which token each line is.
func (r *told) readSinks(t *testing.T) {
	t.Helper()
	out, refused := r.lines(t, "out.jsonl"), r.lines(t, "refused.jsonl")
	r.Query(t, r.run, sinksQuery, func(rows *sql.Rows) error {
		var sink, token string
		if err := rows.Scan(&sink, &token); err != nil {
			return err
		}
		switch about := r.of(t, token); sink {
		case "out":
			require.Empty(t, about.Line)
			about.Line, out = strings.TrimSuffix(out[0], "\n"), out[1:]
		case "refused":
			require.Empty(t, about.Raw)
			about.Raw, refused = decoded[struct{ Raw string }](t, refused[0]).Raw, refused[1:]
		}
		return nil
	})
	require.Empty(t, out, "lines that are no token on record")
	require.Empty(t, refused, "lines that are no token on record")
}

func (r *told) lines(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.Folder, r.run, file))
	require.NoError(t, err)
	return slices.Collect(strings.Lines(string(content)))
}
