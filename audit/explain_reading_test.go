package audit_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/payload"
	"waymark/payload/payloadtest"
)

// TestExplainReadsAFrameOfAPack asks for rows of one chunk, by number and by key: of its pack of many frames little is read.
func TestExplainReadsAFrameOfAPack(t *testing.T) {
	const rows = 25_000
	s := newFixture(t)
	random, lines := rand.New(rand.NewPCG(1, 2)), []string{"id,words"}
	for i := range rows {
		var words [128]byte
		for k := 0; k < len(words); k += 8 {
			binary.LittleEndian.PutUint64(words[k:], random.Uint64())
		}
		lines = append(lines, fmt.Sprintf("%d,%x", 1_000_000+i, words))
	}
	s.Write(t, map[string]string{"in.csv": strings.Join(lines, "\n") + "\n"})
	_, err := s.Run(t, run, `name: wide
sources: {rows: {csv: {path: in.csv}, key: [id], schema: {fields: {id: int, words: string}}}}
steps: [{name: triage, gate: row.id % 2 == 0, routes: {"true": odd, "false": continue}}]
sinks: {odd: {jsonl: {path: out/odd.jsonl}}, all: {jsonl: {path: out/all.jsonl}, from: triage}}
`)
	require.NoError(t, err)
	for name, q := range map[string]audit.Question{
		"first": {Row: 1}, "row": {Row: 17_001}, "last": {Row: rows}, "line": {Sink: "all", Line: 5000},
		"key": {Key: map[string]string{"id": "1017000"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &payloadtest.Metered{Backend: s.objects}
			q.Run = run
			story, err := audit.New(s.Log.Reader, payload.New(m, payload.Options{}), s.Planner).Explain(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, audit.Stored, story.Source.State)
			require.Equal(t, lines[story.Source.Row], story.Source.Raw)
			require.NotEmpty(t, story.Nodes)
			for _, visit := range story.Nodes {
				require.True(t, visit.Verified, visit.Node)
			}
			info, err := s.objects.Stat(t.Context(), story.Source.Payload)
			require.NoError(t, err)
			reads := 1
			if q.Key != nil {
				reads = 2 // the candidate, and then the row
			}
			require.Less(t, 4*m.Bytes, reads*int(info.Bytes), "%d bytes were read of a pack of %d", m.Bytes, info.Bytes)
			t.Logf("%d bytes were read of a pack of %d", m.Bytes, info.Bytes)
		})
	}
}
