package landscape

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScopes holds that records with different keys are in different scopes, whatever the numbers are.
func TestScopes(t *testing.T) {
	for name, records := range map[string][]Record{
		"surrogates":     {Chunk{Run: "r", Source: "s", Chunk: 0xd800}, Chunk{Run: "r", Source: "s", Chunk: 0xd801}},
		"beyond Unicode": {Chunk{Run: "r", Source: "s", Chunk: 1 << 21}, Chunk{Run: "r", Source: "s", Chunk: 1<<21 + 1}},
		"below zero":     {Chunk{Run: "r", Source: "s", Chunk: -1}, Chunk{Run: "r", Source: "s", Chunk: -2}},
		"words":          {Chunk{Run: "r", Source: "a b"}, Chunk{Run: "r a", Source: "b"}},
		"hashes":         {ClaimRecord{KeyHash: []byte{1}}, ClaimRecord{KeyHash: []byte{2}}},
		"tables":         {BatchRecord{Run: "r", Node: "n", Batch: 1}, MergeRecord{Run: "r", Node: "n", Batch: 1}},
		"part of a key":  {KeysRecord{Run: "r", Chunk: 0xd800}, KeysRecord{Run: "r", Chunk: 0xd801}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, scopes(nil, records), 2)
		})
	}
}
