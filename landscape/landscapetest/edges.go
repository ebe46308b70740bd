package landscapetest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// edges counts the tokens on every edge of runs, and lists those behind each.
func edges(t *testing.T, d landscape.Driver) {
	graph := GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6}
	require.NoError(t, graph.Play(t.Context(), landscape.New(d, nil)))
	scene := Scene{Run: "scene", Chunks: 3, ChunkRows: 20}
	late := Scene{
		Run: "some late", Chunks: 2, ChunkRows: 20,
		Late: func(sink string, row int64) bool { return row%4 == 0 || row%20 == 1 || sink == "rejects" },
	}
	for _, s := range []Scene{scene, late} {
		require.NoError(t, s.Play(t.Context(), landscape.New(d, nil)))
	}
	for _, run := range []string{graph.Run, scene.Run, late.Run} {
		t.Run(run, func(t *testing.T) {
			log := landscape.New(d, nil)
			t.Run("as many go in as out", func(t *testing.T) { edgesBalance(t, log, run) })
			t.Run("an edge has the tokens that it counts", func(t *testing.T) { edgesListed(t, log, run) })
			t.Run("in sinks", func(t *testing.T) { inSinks(t, log, run) })
			t.Run("some at a time", func(t *testing.T) { behindPaged(t, log, run) })
		})
	}
	t.Run("of a graph", func(t *testing.T) { graphEdges(t, landscape.New(d, nil), graph) })
	t.Run("how tokens ended", func(t *testing.T) { endedAs(t, landscape.New(d, nil), graph, late) })
	t.Run("one chunk at a time, and no other", func(t *testing.T) { behindReadsFew(t, d) })
	t.Run("of no run", func(t *testing.T) {
		_, err := landscape.NewReader(d).EdgeCounts(t.Context(), "nobody")
		require.ErrorIs(t, err, landscape.ErrNotFound)
		_, err = behind(t.Context(), landscape.New(d, nil), "nobody", anyEdge, nil, 0)
		require.ErrorIs(t, err, landscape.ErrNotFound)
		_, err = behind(t.Context(), landscape.New(d, nil), graph.Run, anyEdge, &landscape.Token{Source: Orders, Row: 19}, 0)
		require.ErrorIs(t, err, landscape.ErrNotFound)
	})
}

func anyEdge(landscape.EdgeKey) bool { return true }

// behind returns so many tokens behind edges; all if limit is 0.
func behind(ctx context.Context, log *landscape.Log, run string, want func(landscape.EdgeKey) bool, after *landscape.Token, limit int) (list []landscape.Ended, err error) {
	for ended, err := range log.TokensBehind(ctx, run, want, after) {
		if err != nil {
			return list, err
		}
		if list = append(list, ended); len(list) == limit {
			break
		}
	}
	return list, nil
}

// edgesBalance compares the counts with each other, and with those of the nodes.
func edgesBalance(t *testing.T, log *landscape.Log, run string) {
	counts, err := log.EdgeCounts(t.Context(), run)
	require.NoError(t, err)
	summary, err := log.Summary(t.Context(), run)
	require.NoError(t, err)
	sum := func(match func(landscape.EdgeCount) bool) (rows int64) {
		for _, c := range counts {
			if match(c) {
				rows += c.Rows
			}
		}
		return rows
	}
	require.Equal(t, summary.Tokens, sum(func(c landscape.EdgeCount) bool { return c.Kind == landscape.BeginEdge }), "each token begins once")
	for _, n := range summary.Nodes {
		begun := sum(func(c landscape.EdgeCount) bool { return c.To == n.Node && c.Kind == landscape.BeginEdge })
		came := sum(func(c landscape.EdgeCount) bool { return c.To == n.Node && c.Kind != landscape.BeginEdge })
		if n.Kind == landscape.SourceNode {
			begun, came = 0, begun
		}
		refused := sum(func(c landscape.EdgeCount) bool { return c.From == n.Node && c.Kind == landscape.ErrorEdge })
		require.Equal(t, []int64{n.In, n.Created, n.Diverted}, []int64{came, begun, refused}, n.Node)
		left := sum(func(c landscape.EdgeCount) bool { return c.From == n.Node })
		if n.Kind == landscape.SinkNode {
			left += n.Out
		}
		require.Equal(t, came+begun, left, n.Node)
	}
}

// edgesListed lists the tokens behind every edge.
func edgesListed(t *testing.T, log *landscape.Log, run string) {
	counts, err := log.EdgeCounts(t.Context(), run)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(counts, func(c landscape.EdgeCount) bool { return c.Rows > 0 }))
	for _, c := range counts {
		list, err := behind(t.Context(), log, run, func(key landscape.EdgeKey) bool { return key == c.EdgeKey }, nil, 0)
		require.NoError(t, err)
		require.Len(t, list, int(c.Rows), "%+v", c)
		for i, ended := range list {
			require.True(t, i == 0 || compareTokens(list[i-1].Token, ended.Token) < 0, "%+v comes before %+v", list[max(i, 1)-1], ended)
			way, err := log.WayOf(t.Context(), run, ended.Token)
			require.NoError(t, err)
			require.Contains(t, []string{way.Last(), way.Sink}, ended.Node)
			if c.Kind == landscape.EndEdge || c.Kind == landscape.ErrorEdge { // the sink of refused rows may refuse one in its turn
				require.Contains(t, []string{c.From, c.To}, ended.Node)
			}
		}
	}
}

// inSinks counts, of the tokens that came to each sink, those that its target holds.
func inSinks(t *testing.T, log *landscape.Log, run string) {
	summary, err := log.Summary(t.Context(), run)
	require.NoError(t, err)
	for _, sink := range summary.Sinks {
		came, err := behind(t.Context(), log, run, func(key landscape.EdgeKey) bool { return key.To == sink.Sink }, nil, 0)
		require.NoError(t, err)
		require.Len(t, came, int(sink.Planned), sink.Sink)
		var held int64
		for _, ended := range came {
			if ended.InSink {
				require.Equal(t, sink.Sink, ended.Sink)
				held++
			}
		}
		require.Equal(t, sink.Finalized, held, sink.Sink)
	}
}

func compareTokens(a, b landscape.Token) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Lane, b.Lane))
}

// behindPaged lists the tokens behind all edges, which are all tokens, and behind those to one node, some at a time.
func behindPaged(t *testing.T, log *landscape.Log, run string) {
	summary, err := log.Summary(t.Context(), run)
	require.NoError(t, err)
	for name, want := range map[string]func(landscape.EdgeKey) bool{
		"all": anyEdge, "refused": func(key landscape.EdgeKey) bool { return key.To == pipeline.Quarantine },
	} {
		all, err := behind(t.Context(), log, run, want, nil, 0)
		require.NoError(t, err)
		require.Len(t, all, int(map[string]int64{"all": summary.Tokens, "refused": summary.Quarantined}[name]))
		for _, limit := range []int{1, 7, len(all), len(all) + 1} {
			var paged []landscape.Ended
			for after := (*landscape.Token)(nil); ; after = &paged[len(paged)-1].Token {
				page, err := behind(t.Context(), log, run, want, after, limit)
				require.NoError(t, err)
				if page == nil {
					break
				}
				paged = append(paged, page...)
			}
			require.Equal(t, all, paged, "%s, %d at a time", name, limit)
		}
	}
}

// graphEdges holds every count of a graph.
func graphEdges(t *testing.T, log *landscape.Log, s GraphScene) {
	counts, err := log.EdgeCounts(t.Context(), s.Run)
	require.NoError(t, err)
	count := func(kind landscape.EdgeKind, from, to, label string, rows int64) landscape.EdgeCount {
		return landscape.EdgeCount{EdgeKey: landscape.EdgeKey{From: from, To: to, Label: label}, Kind: kind, Rows: rows}
	}
	const begin, flow, route, refused, end = landscape.BeginEdge, landscape.FlowEdge, landscape.RouteEdge, landscape.ErrorEdge, landscape.EndEdge
	require.Equal(t, []landscape.EdgeCount{
		count(begin, "", Orders, "", 18), count(flow, Orders, "split", "", 12), count(refused, Orders, pipeline.Quarantine, "", 6),
		count(begin, "", "split", "", 24), count(route, "split", "price", "cost", 12), count(route, "split", "decide", "species", 12),
		count(end, "split", "", "fork_parent", 12),
		count(flow, "price", "decide", "", 6), count(refused, "price", pipeline.Quarantine, "", 6),
		count(begin, "", "decide", "", 12), count(flow, "decide", "totals", "", 6), count(refused, "decide", pipeline.Quarantine, "", 6),
		count(end, "decide", "", "coalesced", 18),
		count(begin, "", "totals", "", 2), count(flow, "totals", "spread", "", 2), count(refused, "totals", pipeline.Quarantine, "", 0),
		count(end, "totals", "", "buffered", 6),
		count(begin, "", "spread", "", 4), count(route, "spread", "ranked", "best", 2), count(route, "spread", "both", "raw", 2),
		count(end, "spread", "", "fork_parent", 2),
		count(begin, "", "ranked", "", 2), count(flow, "ranked", "both", "", 2), count(refused, "ranked", pipeline.Quarantine, "", 0),
		count(end, "ranked", "", "buffered", 2),
		count(begin, "", "both", "", 2), count(flow, "both", "report", "", 2), count(refused, "both", pipeline.Quarantine, "", 0),
		count(end, "both", "", "buffered", 4),
	}, counts)
	ways, err := log.WayCounts(t.Context(), s.Run)
	require.NoError(t, err)
	require.Len(t, ways, len(graphWays()))
	for _, way := range ways {
		require.Equal(t, way.ID, way.Way.ID())
		require.Equal(t, Lanes()[way.Way.Lane].Source, way.Source)
	}
}

// bare is how a token ended, without the way that led there.
func bare(ended landscape.Ended) landscape.Ended {
	ended.Way = landscape.Way{}
	return ended
}

// endedAs looks how tokens ended that a barrier took, and those that a target refused.
func endedAs(t *testing.T, log *landscape.Log, graph GraphScene, late Scene) {
	taken, err := behind(t.Context(), log, graph.Run, func(key landscape.EdgeKey) bool { return key.Label == string(pipeline.Buffered) }, nil, 0)
	require.NoError(t, err)
	require.Len(t, taken, 12)
	for _, ended := range taken {
		in, err := log.BatchOf(t.Context(), graph.Run, ended.Token)
		require.NoError(t, err)
		require.Equal(t, landscape.Ended{Token: ended.Token, Path: in.Fired.Path, Node: in.Node}, bare(ended))
	}
	came, err := behind(t.Context(), log, late.Run, func(key landscape.EdgeKey) bool { return key.To == "review" }, nil, 0)
	require.NoError(t, err)
	refused := 0
	for _, ended := range came {
		if late.Late("review", ended.Token.Row) {
			refused++
			require.Equal(t, landscape.Ended{Token: ended.Token, Path: pipeline.OnErrorRouted, Node: "review", Sink: pipeline.QuarantineSink}, bare(ended))
			continue
		}
		require.Equal(t, landscape.Ended{Token: ended.Token, Path: pipeline.GateRouted, Node: "triage", Sink: "review", InSink: true}, bare(ended))
	}
	require.Positive(t, refused)
	endsByChunk(t, log, graph.Run)
	endsByChunk(t, log, late.Run)

	open := GraphScene{Run: "open", Chunks: 1, ChunkRows: 6}
	turns := open.turns()
	require.NoError(t, open.Begin(t.Context(), log))
	for n, turn := range turns[:3] { // the chunk, its passage, and the fold of totals that holds it
		require.NoError(t, turn.do(t.Context(), log))
		if n == 0 {
			continue
		}
		held, err := behind(t.Context(), log, open.Run, func(key landscape.EdgeKey) bool { return key.To == "totals" }, nil, 0)
		require.NoError(t, err)
		require.Len(t, held, 2)
		for _, ended := range held {
			require.Equal(t, landscape.Ended{Token: ended.Token, Path: pipeline.Buffered, Node: "totals"}, bare(ended))
		}
	}
}

// endsByChunk holds that the ends of the rows of a chunk, column by column, are those of its tokens.
func endsByChunk(t *testing.T, log *landscape.Log, run string) {
	t.Helper()
	tokens, err := behind(t.Context(), log, run, func(landscape.EdgeKey) bool { return true }, nil, 0)
	require.NoError(t, err)
	require.NotEmpty(t, tokens)
	endsOf, err := log.EndsOf(t.Context(), run)
	require.NoError(t, err)
	sources, err := log.Sources(t.Context(), run)
	require.NoError(t, err)
	var told []landscape.Ended
	for _, source := range sources {
		for chunk, err := range log.Chunks(t.Context(), run, source.Source) {
			require.NoError(t, err)
			lanes, err := endsOf(t.Context(), chunk.Key())
			require.NoError(t, err)
			for i := range chunk.Rows {
				for _, lane := range lanes {
					if code := lane.Codes[i]; code != landscape.NoToken {
						ended := lane.Ends[code]
						ended.Token = landscape.Token{Source: source.Source, Lane: lane.Lane, Row: chunk.FirstRow + i}
						told = append(told, ended)
					}
				}
			}
			var raw []byte
			require.NoError(t, log.RawHashes(t.Context(), run, chunk.Key(), func(hashes []byte) bool {
				raw = append(raw, hashes...)
				return true
			}))
			records, err := log.Records(t.Context(), run, chunk.Key())
			require.NoError(t, err)
			require.Equal(t, records.Hashes, raw)
		}
	}
	require.ElementsMatch(t, tokens, told)
}

// behindReadsFew plays a run whose chunks differ in their ways, and holds which way codes are read for a few tokens.
func behindReadsFew(t *testing.T, d landscape.Driver) {
	const chunks, rows = 9, 20
	s := Scene{Run: "differing", Chunks: chunks, ChunkRows: rows, Way: func(row int64) int {
		if chunk := (row - 1) / rows; chunk%3 == 1 && row%2 == 0 {
			return 3 // keep drops it
		}
		return 0
	}}
	require.NoError(t, s.Play(t.Context(), landscape.New(d, nil)))
	watched := &codesRead{Driver: d}
	log := landscape.New(watched, nil)
	dropped := func(key landscape.EdgeKey) bool { return key.Label == string(pipeline.FilterDropped) }
	next, stop := iter.Pull2(log.TokensBehind(t.Context(), s.Run, dropped, nil))
	defer stop()
	for i := range int64(3 * rows / 2) {
		ended, err, found := next()
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, landscape.Ended{Token: tokens((1+3*(i/10))*rows + 2*(i%10) + 2)[0], Path: pipeline.FilterDropped, Node: "keep"}, bare(ended))
		require.Equal(t, []int64{1, 4, 7}[:i/10+1], watched.chunks)
	}
	_, _, found := next()
	require.False(t, found)
	require.Equal(t, []int64{1, 4, 7}, watched.chunks)

	watched.chunks = nil
	after := tokens(4*rows + 4)[0]
	page, err := behind(t.Context(), log, s.Run, dropped, &after, 3)
	require.NoError(t, err)
	require.EqualValues(t, 4*rows+6, page[0].Token.Row)
	require.Equal(t, []int64{4}, watched.chunks)
}

// codesRead is a driver that notes of which chunks the way codes are read.
type codesRead struct {
	landscape.Driver
	chunks []int64
}

func (c *codesRead) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	return c.Driver.Read(ctx, kind, q, func(r landscape.Record) bool {
		if p, is := r.(landscape.PassageRecord); is {
			c.chunks = append(c.chunks, p.Chunk)
		}
		return yield(r)
	})
}
