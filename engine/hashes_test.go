package engine_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
)

// TestHashesAreTakenSliceBySlice holds that slices of any length together are the columns that a result has without them, and that
// nothing else of the result depends on who takes the hashes.
func TestHashesAreTakenSliceBySlice(t *testing.T) {
	const document = `name: hashes
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string}}}}
steps:
  - {name: some, filter: row.id != 3}
  - {name: copies, fork: [left, right]}
  - {name: twice, from: left, set: {twice: row.id * 2}}
  - {name: late, from: right, filter: row.id > 4}
  - {name: named, from: late, set: {name: row.kind + '!'}}
sinks:
  one: {jsonl: {path: one.jsonl}, from: twice}
  two: {jsonl: {path: two.jsonl}, from: named}
`
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind\n1,a\nx,b\n3,c\n4,d\n5,e\n6,f\n7,g\n"), 0o600))
	p := compile(t, folder, document)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	chunk := read(t, p)
	want, err := runner.Run(begin(p, chunk))
	require.NoError(t, err)
	require.NotEmpty(t, want.Columns)
	for every := range chunk.Len() + 2 {
		t.Run(fmt.Sprint("every ", every), func(t *testing.T) {
			type place struct{ lane, node int }
			taken := map[place][]byte{}
			in := begin(p, chunk)
			in.Hashes = &engine.Hashes{Every: every, Take: func(column engine.Column, from int) {
				at := place{column.Lane, column.Node}
				require.Len(t, column.Hashes, sha256.Size*min(every, chunk.Len()-from))
				if taken[at] == nil {
					taken[at] = make([]byte, sha256.Size*chunk.Len())
				}
				copy(taken[at][sha256.Size*from:], column.Hashes)
			}}
			result, err := runner.Run(in)
			require.NoError(t, err)
			require.Empty(t, result.Columns)
			require.Equal(t, want.Lanes, result.Lanes)
			require.Equal(t, want.Rejected, result.Rejected)
			require.Equal(t, want.Parts, result.Parts)
			if every == 0 {
				require.Empty(t, taken)
				return
			}
			require.Len(t, taken, len(want.Columns))
			for _, column := range want.Columns {
				require.Equal(t, column.Hashes, taken[place{column.Lane, column.Node}])
			}
		})
	}
}
