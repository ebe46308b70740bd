package landscape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestScopes holds that records with different keys are in different scopes, whatever the numbers are.
func TestScopes(t *testing.T) {
	for name, records := range map[string][]landscape.Record{
		"surrogates":     {landscape.Chunk{Run: "r", Source: "s", Chunk: 0xd800}, landscape.Chunk{Run: "r", Source: "s", Chunk: 0xd801}},
		"beyond Unicode": {landscape.Chunk{Run: "r", Source: "s", Chunk: 1 << 21}, landscape.Chunk{Run: "r", Source: "s", Chunk: 1<<21 + 1}},
		"below zero":     {landscape.Chunk{Run: "r", Source: "s", Chunk: -1}, landscape.Chunk{Run: "r", Source: "s", Chunk: -2}},
		"words":          {landscape.Chunk{Run: "r", Source: "a b"}, landscape.Chunk{Run: "r a", Source: "b"}},
		"hashes":         {landscape.ClaimRecord{KeyHash: []byte{1}}, landscape.ClaimRecord{KeyHash: []byte{2}}},
		"tables":         {landscape.BatchRecord{Run: "r", Node: "n", Batch: 1}, landscape.MergeRecord{Run: "r", Node: "n", Batch: 1}},
		"part of a key":  {landscape.KeysRecord{Run: "r", Chunk: 0xd800}, landscape.KeysRecord{Run: "r", Chunk: 0xd801}},
	} {
		t.Run(name, func(t *testing.T) {
			scope := func(r landscape.Record) string {
				table := landscape.TableOf(r)
				name, _ := table.Scope(table.AppendValues(nil, r))
				return name
			}
			require.NotEqual(t, scope(records[0]), scope(records[1]))
		})
	}
}
