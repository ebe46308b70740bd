package history_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/landscape"
	"waymark/landscape/history"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// records are those of a run of which one write is confirmed, one failed, and one has not begun.
var records = []landscape.Record{
	landscape.Run{RunHead: landscape.RunHead{ID: "r", Status: pipeline.Blocked, Finished: 900, Reason: "b is blocked", Pipeline: "orders", Started: 100}},
	landscape.Chunk{Run: "r", Source: "in", Chunk: 0, Rows: 3, File: "in\xff.csv", Read: 200},
	landscape.Chunk{Run: "r", Source: "in", Chunk: 1, Rows: 2, File: "in\xff.csv", Read: 300},
	refused(1, 0), refused(2, 0), refused(4, 1),
	effect("a", 0, landscape.Finalized, 2), effect("a", 1, landscape.Blocked, 1), effect("b", 0, landscape.Prepared, 1),
	happened(0, landscape.EffectBegan, 500), happened(0, landscape.EffectFinalized, 600), happened(0, landscape.EffectFenced, 650),
	happened(1, landscape.EffectBegan, 500),
	landscape.ArtifactRecord{Run: "r", Sink: "a", Path: "out/a.csv", Bytes: 20, Rows: 2, SHA256: "aa", Published: 700},
}

func refused(row, chunk int64) landscape.RowError {
	return landscape.RowError{ErrorHead: landscape.ErrorHead{ErrorKey: landscape.ErrorKey{Run: "r", Source: "in", Row: row, Node: "judge"}, Chunk: chunk, Code: "NULL", SentTo: "__quarantine__"}, At: landscape.Micros(400 + chunk)}
}

func effect(sink string, chunk int64, state landscape.EffectState, rows int64) landscape.Effect {
	return landscape.Effect{EffectKey: key(sink, chunk), Kind: landscape.WriteEffect, State: state, Rows: rows, Bytes: 10 * rows, Changed: 450}
}

func key(sink string, chunk int64) landscape.EffectKey {
	return landscape.EffectKey{Run: "r", Sink: sink, Source: "in", Chunk: chunk}
}

func happened(chunk int64, event landscape.EffectWord, at landscape.Micros) landscape.EffectEvent {
	return landscape.EffectEvent{EffectKey: key("a", chunk), Fence: 1, Event: event, Worker: "w", At: at}
}

func derive(t require.TestingT, tables []string) []history.Event {
	d := history.NewDerivation()
	for _, table := range tables {
		for _, r := range records {
			if r.Table() == table {
				require.NoError(t, d.Add(table, landscape.TableOf(r).AppendLine(nil, r)))
			}
		}
	}
	events, err := d.Events()
	require.NoError(t, err)
	return events
}

// TestEvents has the history of the records, in whatever order their tables come.
func TestEvents(t *testing.T) {
	var tables []string
	for _, r := range records {
		if !slices.Contains(tables, r.Table()) {
			tables = append(tables, r.Table())
		}
	}
	var types []string
	events := derive(t, tables)
	for _, e := range events {
		types = append(types, e.At[20:26]+" "+e.Type)
	}
	require.Equal(t, []string{
		"000100 run.began", "000200 chunk.read", "000300 chunk.read", "000400 rows.refused", "000401 rows.refused", "000450 effect.prepared",
		"000500 effect.began", "000500 effect.began", "000600 effect.finalized", "000650 effect.fenced", "000700 output.published", "000900 run.ended",
	}, types)
	require.JSONEq(t, `{"chunk":0,"code":"NULL","lane":0,"node":"judge","rows":2,"sent_to":"__quarantine__","source":"in"}`, string(events[3].Data))
	require.Contains(t, string(events[1].Data), `"file":"in␛ff.csv"`, "every reader of JSON reads it")
	require.NotContains(t, string(events[8].Data), "state", "something happened to the effect after that")
	rapid.Check(t, func(t *rapid.T) {
		require.Equal(t, events, derive(t, rapid.Permutation(tables).Draw(t, "tables")))
	})
}

func TestSnapshot(t *testing.T) {
	events := derive(t, []string{"runs", "chunks", "errors", "effects", "effect_events", "artifacts"})
	s, err := history.Fold(events)
	require.NoError(t, err)
	require.Equal(t, &history.Snapshot{
		Run: history.Run{
			ID: "r", Pipeline: "orders", Status: "blocked", Reason: "b is blocked",
			Began: "1970-01-01T00:00:00.000100Z", Ended: "1970-01-01T00:00:00.000900Z",
		},
		Sources:  []history.Source{{Source: "in", Chunks: 2, Rows: 5}},
		Refused:  []history.Refusal{{Node: "judge", Code: "NULL", SentTo: "__quarantine__", Rows: 3}},
		Barriers: []history.Barrier{},
		Sinks:    []history.Sink{{Sink: "a", Parts: 1, Rows: 2, Bytes: 20, Open: 1}, {Sink: "b", Open: 1}},
		Outputs:  []history.Output{{Sink: "a", Path: "out/a.csv", Bytes: 20, Rows: 2, SHA256: "aa", Published: "1970-01-01T00:00:00.000700Z"}},
		Events:   12,
		Head:     head(t, events),
	}, s)
}

func head(t *testing.T, events []history.Event) string {
	t.Helper()
	head, err := history.Head(events)
	require.NoError(t, err)
	return head
}

// TestChangedLines changes every byte of a history, and cuts it off behind every byte.
func TestChangedLines(t *testing.T) {
	var file bytes.Buffer
	events := derive(t, []string{"runs", "chunks", "errors", "effects", "effect_events", "artifacts"})
	require.NoError(t, history.Write(&file, events))
	text := file.String()
	read, torn, err := history.Read(strings.NewReader(text))
	require.NoError(t, err)
	require.False(t, torn)
	require.Equal(t, events, read)
	want := head(t, events)
	last := strings.LastIndexByte(text[:len(text)-1], '\n') + 1
	for at := 0; at < len(text); at += sample.Step(17) {
		changed := []byte(text)
		changed[at] ^= 1
		read, _, err := history.Read(bytes.NewReader(changed))
		if err != nil {
			require.ErrorIs(t, err, history.ErrBroken)
		} else { // only the snapshot has the hash of the last line
			require.GreaterOrEqual(t, at, last)
			require.NotEqual(t, want, head(t, read), "byte %d", at)
		}
		read, torn, err := history.Read(strings.NewReader(text[:at]))
		require.NoError(t, err)
		require.Equal(t, at > 0 && text[at-1] != '\n', torn, "byte %d", at)
		require.Len(t, read, strings.Count(text[:at], "\n"))
	}
}
