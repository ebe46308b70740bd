package landscape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestScopes holds that records with different keys are in different scopes, whatever the numbers are.
func TestScopes(t *testing.T) {
	chunk := func(n int64) landscape.Record { return landscape.Chunk{Run: "r", Source: "s", Chunk: n} }
	for name, records := range map[string][]landscape.Record{
		"surrogates":     {chunk(0xd800), chunk(0xd801)},
		"beyond Unicode": {chunk(1 << 21), chunk(1<<21 + 1)},
		"below zero":     {chunk(-1), chunk(-2)},
		"words":          {landscape.Chunk{Run: "r", Source: "a b"}, landscape.Chunk{Run: "r a", Source: "b"}},
		"lookup_tables": {
			landscape.BatchRecord{Run: "r", Node: "n", Batch: 1},
			landscape.MergeRecord{Run: "r", Node: "n", Batch: 1},
		},
		"part of a key": {landscape.KeyHashes{Run: "r", Chunk: 0xd800}, landscape.KeyHashes{Run: "r", Chunk: 0xd801}},
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
