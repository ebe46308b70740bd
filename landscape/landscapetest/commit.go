package landscapetest

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

func commits(t *testing.T, d landscape.Driver) {
	begun(t, d, Scene{Run: "c"})
	event := func(seq int64, detail string) landscape.RunEvent {
		return landscape.RunEvent{Run: "c", Seq: seq, Event: "seen", Detail: detail, At: 1}
	}
	count := func(t *testing.T) int { return len(stored[landscape.RunEvent](t, d, "c")) }

	t.Run("a new key is inserted", func(t *testing.T) {
		require.NoError(t, insert(t, d, event(0, "a"), event(1, "b")))
		require.Equal(t, []landscape.RunEvent{event(0, "a"), event(1, "b")}, stored[landscape.RunEvent](t, d, "c"))
	})
	t.Run("an equal record is left alone", func(t *testing.T) {
		require.NoError(t, insert(t, d, event(0, "a"), event(2, "c")))
		require.Equal(t, 3, count(t))
	})
	t.Run("it says whether a record was there", func(t *testing.T) {
		for _, was := range []bool{false, true} {
			repeats := !was
			tx := landscape.Tx{Insert: []landscape.Record{event(50, "a"), event(51, "b")}, Repeats: &repeats}
			require.NoError(t, d.Commit(t.Context(), tx))
			require.Equal(t, was, repeats)
			require.NoError(t, insert(t, d, event(52, "c")))
		}
	})
	t.Run("another content diverges and nothing is stored", func(t *testing.T) {
		err := insert(t, d, event(3, "d"), event(1, "other"), event(4, "e"))
		var diverged *landscape.DivergedError
		require.ErrorAs(t, err, &diverged)
		require.Equal(t, landscape.DivergedError{Table: "run_events", Key: "c/1", Column: "detail"}, *diverged)
		require.Equal(t, 6, count(t))
		require.Equal(t, "b", stored[landscape.RunEvent](t, d, "c", int64(1))[0].Detail)
	})
	t.Run("a batch with the same new key twice diverges", func(t *testing.T) {
		var diverged *landscape.DivergedError
		require.ErrorAs(t, insert(t, d, event(5, "x"), event(5, "y")), &diverged)
		require.Equal(t, 6, count(t))
	})
	t.Run("columns tagged first or move are not compared", func(t *testing.T) {
		before := stored[landscape.Run](t, d, "c")[0]
		again := before
		again.Started, again.Host, again.Status = before.Started+5, "elsewhere", pipeline.Running
		require.NoError(t, insert(t, d, again))
		require.Equal(t, before, stored[landscape.Run](t, d, "c")[0])
	})
	t.Run("NULL, empty and zero are three things", func(t *testing.T) {
		chunk, _ := Scene{Run: "c", Chunks: 1}.Chunk(0)
		chunk.Read = 1
		empty := landscape.ChunkRowsRecord{Run: "c", Source: Source, Slice: 1, Lines: []byte{}}
		for range 2 {
			require.NoError(t, insert(t, d, chunk, landscape.ChunkRowsRecord{Run: "c", Source: Source}, empty))
		}
		rows := stored[landscape.ChunkRowsRecord](t, d, "c")
		require.Nil(t, rows[0].Lines)
		require.NotNil(t, rows[1].Lines)
		require.NotNil(t, rows[0].Offsets)
		none := stored[landscape.Effect](t, d, "c", "all")[0]
		require.Nil(t, none.Ordinal)
	})
	t.Run("many records in one batch", func(t *testing.T) {
		many := make([]landscape.Record, 5_000)
		for i := range many {
			many[i] = event(int64(100+i), "many")
		}
		require.NoError(t, insert(t, d, many...))
		require.Equal(t, 5_006, count(t))
		many[4_321] = event(4_421, "other")
		var diverged *landscape.DivergedError
		require.ErrorAs(t, insert(t, d, many...), &diverged)
		require.Equal(t, "c/4421", diverged.Key)
	})
	t.Run("Move", func(t *testing.T) { moves(t, d) })
	t.Run("the batch is not kept", func(t *testing.T) {
		read := landscape.ChunkRowsRecord{
			Run: "c", Source: Source, Slice: 2, Rows: 1, Offsets: make([]byte, 4), Lengths: make([]byte, 4), RawHashes: make([]byte, 32),
		}
		require.NoError(t, insert(t, d, read))
		read.Offsets[0] = 1
		require.Equal(t, make([]byte, 4), stored[landscape.ChunkRowsRecord](t, d, "c", Source, int64(0), int64(2))[0].Offsets)
	})
}

func moves(t *testing.T, d landscape.Driver) {
	head := func() landscape.RunHead { return stored[landscape.RunHead](t, d, "c")[0] }
	running := head()
	failed := running
	failed.Status, failed.Finished, failed.Reason = pipeline.Failed, 7, "broken"
	to := func(from, to landscape.RunHead) error {
		return d.Commit(t.Context(), landscape.Tx{
			Insert: []landscape.Record{landscape.Action{Run: "c", Seq: int64(to.Finished), Verb: "v", At: 1}},
			Move:   []landscape.Move{{From: from, To: to}},
		})
	}
	t.Run("sets the columns tagged move, and no others", func(t *testing.T) {
		other := failed
		other.Pipeline = "renamed"
		require.NoError(t, to(running, other))
		require.Equal(t, failed, head())
	})
	t.Run("from another state is stale and nothing is stored", func(t *testing.T) {
		later := failed
		later.Finished = 9
		require.ErrorIs(t, to(running, later), landscape.ErrStale)
		require.Equal(t, failed, head())
		require.Len(t, stored[landscape.Action](t, d, "c"), 1)
	})
	t.Run("of a record that is not there is stale", func(t *testing.T) {
		ghost := running
		ghost.ID = "ghost"
		require.ErrorIs(t, d.Commit(t.Context(), landscape.Tx{Move: []landscape.Move{{From: ghost, To: ghost}}}), landscape.ErrStale)
	})
	t.Run("that is stale counts before what follows and could only be done after it", func(t *testing.T) {
		var events []landscape.Event
		for _, about := range []string{"stale/1", "stale/2"} {
			e := landscape.Event{About: about, ID: about, Kind: "k", Subject: about, Body: "{}", At: 1}
			require.NoError(t, insert(t, d, e))
			events = append(events, e)
		}
		head := stored[landscape.OutboxHead](t, d)[0]
		place := func(e landscape.Event) error {
			there, placed := head, e
			there.Size, placed.Position = head.Size+1, head.Size+1
			return d.Commit(t.Context(), landscape.Tx{Move: []landscape.Move{{From: head, To: there}, {From: e, To: placed}}})
		}
		require.NoError(t, place(events[0]))
		require.ErrorIs(t, place(events[1]), landscape.ErrStale, "no position is given twice")
	})
	t.Run("from NULL", func(t *testing.T) {
		again := running
		again.Epoch = 1
		resumption := resumptionOf("c", 1)
		resumption.Was, resumption.At = pipeline.Failed, 1
		require.NoError(t, d.Commit(t.Context(), landscape.Tx{
			Insert: []landscape.Record{resumption}, Move: []landscape.Move{{From: failed, To: again}},
		}))
		require.Equal(t, again, head())
		failed.Epoch = 1
		require.NoError(t, to(again, failed))
		require.Equal(t, failed, head())
	})
}

func reads(t *testing.T, d landscape.Driver) {
	for _, run := range []string{"b", "a", "ab"} {
		begun(t, d, Scene{Run: run})
	}
	t.Run("in key order, by prefix", func(t *testing.T) {
		var ids []string
		for _, r := range stored[landscape.RunHead](t, d) {
			ids = append(ids, r.ID)
		}
		require.Equal(t, []string{"a", "ab", "b"}, ids)
		for _, n := range stored[landscape.Node](t, d, "a") {
			require.Equal(t, "a", n.Run)
		}
		require.Len(t, stored[landscape.Node](t, d, "a"), 8)
		require.Len(t, stored[landscape.Edge](t, d, "a", "triage", "route"), 4)
	})
	t.Run("a page of a table", func(t *testing.T) { pages(t, d) })
	t.Run("no match is no error", func(t *testing.T) {
		require.Nil(t, stored[landscape.Node](t, d, "none"))
	})
	t.Run("ends when yield says so", func(t *testing.T) {
		seen := 0
		require.NoError(t, d.Read(t.Context(), landscape.Node{}, landscape.Query{Prefix: []any{"a"}}, func(landscape.Record) bool { seen++; return seen < 3 }))
		require.Equal(t, 3, seen)
	})
	t.Run("the fields of kind are the columns", func(t *testing.T) {
		head, run := stored[landscape.RunHead](t, d, "a")[0], stored[landscape.Run](t, d, "a")[0]
		require.Equal(t, head, run.RunHead)
		require.NotEmpty(t, run.Document)
	})
	t.Run("records belong to the caller", func(t *testing.T) {
		log := landscape.New(d, nil)
		scene := Scene{Run: "a", Chunks: 1, ChunkRows: 10}
		chunk, records := scene.Chunk(0)
		require.NoError(t, log.RecordChunk(t.Context(), chunk, records))
		first := stored[landscape.ChunkRowsRecord](t, d, "a")[0]
		want := first.RawHashes[0]
		first.RawHashes[0]++
		records.Hashes[1]++
		again := stored[landscape.ChunkRowsRecord](t, d, "a")[0]
		require.Equal(t, want, again.RawHashes[0])
		require.NotEqual(t, records.Hashes[1], again.RawHashes[1])
	})
}

// edgeEnd is an Edge whose key has other columns.
type edgeEnd struct {
	Run   string `db:"run_id,key"`
	Kind  string `db:"kind,key"`
	To    string `db:"to_node,key"`
	From  string `db:"from_node,key"`
	Label string `db:"label,key"`
}

// Table returns edges.
func (edgeEnd) Table() string { return "edges" }

// pages holds every query of the edges of a run, by the table's key and by another, against what is left of all of them.
func pages(t *testing.T, d landscape.Driver) {
	edges, ends := stored[landscape.Edge](t, d, "a"), stored[edgeEnd](t, d, "a")
	require.Len(t, ends, len(edges))
	require.True(t, slices.IsSortedFunc(ends, func(a, b edgeEnd) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From), cmp.Compare(a.Label, b.Label))
	}), ends)
	for _, prefix := range []int{0, 1, 2} {
		pagesOf(t, d, stored[landscape.Edge](t, d), prefix)
		pagesOf(t, d, stored[edgeEnd](t, d), prefix)
	}
}

// pagesOf asks for what comes before and after some of all the records of a table, of those that share their first key columns.
func pagesOf[T landscape.Record](t *testing.T, d landscape.Driver, all []T, prefix int) {
	table := landscape.TableOf(all[0])
	keys := make([][]any, len(all))
	for i, r := range all {
		keys[i] = table.AppendValues(nil, r)[:table.Keys]
	}
	for i := 0; i < len(keys); i += 9 {
		key := keys[i]
		for after := range table.Keys - prefix + 1 {
			for _, descending := range []bool{false, true} {
				q := landscape.Query{Prefix: key[:prefix], After: key[prefix : prefix+after], Descending: descending}
				var want []T
				for i, other := range keys {
					order := slices.CompareFunc(other[prefix:prefix+after], q.After, func(a, b any) int { return cmp.Compare(a.(string), b.(string)) })
					if slices.Equal(other[:prefix], q.Prefix) && (after == 0 || order > 0 && !descending || order < 0 && descending) {
						want = append(want, all[i])
					}
				}
				if descending {
					slices.Reverse(want)
				}
				for _, q.Limit = range []int{0, 1, 3} {
					part := want
					if q.Limit > 0 {
						part = want[:min(q.Limit, len(want))]
					}
					found, err := landscape.Page[T](t.Context(), d, q)
					require.NoError(t, err)
					require.Equal(t, len(part), len(found), "%+v", q)
					if len(part) > 0 {
						require.Equal(t, part, found, "%+v", q)
					}
				}
			}
		}
	}
}

// tokens are rows of a scene before any fork.
func tokens(rows ...int64) []landscape.Token {
	list := make([]landscape.Token, len(rows))
	for i, row := range rows {
		list[i] = landscape.Token{Source: Source, Row: row}
	}
	return list
}
