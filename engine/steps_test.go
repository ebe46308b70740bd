package engine_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
	"waymark/plugin"
)

// mixed has every operation that changes rows, on short rows and on long ones, in branches that add to the same row and
// are merged again.
const mixed = `name: mixed
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string, note: string}}}}
steps:
  - {name: add, set: {m: row.id + 1, zz: row.note + '!', aa: row.kind + row.note}}
  - {name: some, filter: row.id != 3}
  - {name: replace, set: {kind: row.kind + '?', id: row.id * 10}}
  - {name: both, set: {m: row.m + 1, b: row.m}}
  - {name: number, cast: {m: float}}
  - {name: named, rename: {aa: y, id: "0"}}
  - {name: less, drop: [zz, m]}
  - {name: found, lookup: {csv: {path: kinds.csv}, schema: {fields: {kind: string, label: string}}, on: {kind: kind}, add: {label: label}}}
  - {name: copies, fork: [left, right]}
  - {name: l1, from: left, set: {left: row.b + 1}}
  - {name: l2, set: {more: row.left + 1}}
  - {name: r1, from: right, set: {right: row.b + 2}}
  - {name: r2, gate: row.b > 4, routes: {"true": r3, "false": discard}}
  - {name: r3, set: {longer: row.y + row.y + row.y}}
  - {name: merged, coalesce: {left: l2, right: r3}, policy: best_effort}
  - {name: last, set: {end: "row.kind + 'e'"}}
  - {name: chosen, select: [y, end, "0", kind]}
sinks: {out: {jsonl: {path: out.jsonl}}}
`

func mixedRows() string {
	var in strings.Builder
	in.WriteString("id,kind,note\n")
	for i := range 8 {
		fmt.Fprintf(&in, "%d,%s,%s\n", i, []string{"a", "bb"}[i%2], strings.Repeat("words ", 60*(i%4)))
	}
	return in.String()
}

// TestHashesAreThoseOfTheRows holds the hashes that are made one of the other against those of every row by itself.
func TestHashesAreThoseOfTheRows(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(mixedRows()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kinds.csv"), []byte("kind,label\na?,first\n"), 0o600))
	p := compile(t, folder, mixed)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	chunk := read(t, p)
	result, err := runner.Run(begin(p, chunk))
	require.NoError(t, err)
	require.Empty(t, result.Rejected)
	hashes := map[string]bool{}
	for _, column := range result.Columns {
		for i := range chunk.Len() {
			if hash := string(column.Hashes[32*i : 32*i+32]); strings.Trim(hash, "\x00") != "" {
				hashes[fmt.Sprintf("%d %d %d %x", column.Lane, column.Node, i, hash)] = true
			}
		}
	}
	made := 0
	for i := range chunk.Len() {
		story, err := runner.Trace(begin(p, chunk), i)
		require.NoError(t, err)
		for _, event := range story.Events {
			merges := event.Decision != nil
			if p.Nodes[event.Node].Changes() && (p.Nodes[event.Node].Name != "merged" || merges) {
				at := fmt.Sprintf("%d %d %d %x", event.Lane, event.Node, i, event.Hash())
				require.True(t, hashes[at], "%s, row %d", p.Nodes[event.Node].Name, i)
				made++
			}
		}
	}
	require.Len(t, hashes, made)
	require.Greater(t, made, 8*12)
}

// TestBranchesAddToTheSameRow holds that a branch does not see what another one made of the row that both began with.
func TestBranchesAddToTheSameRow(t *testing.T) {
	p, _, result := run(t, `name: branches
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
steps:
  - {name: room, set: {a: row.id + 1}}
  - {name: copies, fork: [one, two]}
  - {name: o1, from: one, set: {o1: row.a + 10}}
  - {name: o2, set: {a: row.o1 + 1, o2: row.o1 + 1}}
  - {name: t1, from: two, set: {t1: row.a + 20}}
  - {name: t2, set: {a: row.t1 + 1}}
  - {name: t3, set: {t3: row.a + row.t1}}
  - {name: merged, coalesce: {one: o2, two: t3}, merge: nested}
  - {name: last, set: {z: "1"}}
sinks: {out: {jsonl: {path: out.jsonl}}}
`, "id\n1\n2\n")
	require.Equal(t, `{"one":{"a":13,"id":1,"o1":12,"o2":13},"two":{"a":23,"id":1,"t1":22,"t3":45},"z":1}
{"one":{"a":14,"id":2,"o1":13,"o2":14},"two":{"a":24,"id":2,"t1":23,"t3":47},"z":1}
`, output(p, result, "out"))
}

// TestHashesBehindABarrier holds that rows which have no hash at their origin are not taken for those before them.
func TestHashesBehindABarrier(t *testing.T) {
	p := compile(t, t.TempDir(), `name: behind
sources: {in: {csv: {path: in.csv, header: none, columns: [id]}, schema: {fields: {id: int}}}}
steps:
  - {name: sorted, sort: {by: {id: asc}}}
  - {name: add, set: {next: row.id + 1}}
sinks: {out: {jsonl: {path: out.jsonl}}}
`)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	chunk := &plugin.Chunk{Data: []byte(`{"id":1}{"id":22}`), FirstRow: 1, Offsets: []uint32{0, 8}, Lengths: []uint32{8, 9}}
	result, err := runner.Run(engine.Input{Origin: p.Find("sorted"), Chunk: chunk, FieldOrders: [][]string{{"id"}}})
	require.NoError(t, err)
	one, two := sha256.Sum256([]byte(`{"id":1,"next":2}`)), sha256.Sum256([]byte(`{"id":22,"next":23}`))
	require.Equal(t, append(one[:], two[:]...), result.Columns[0].Hashes)
}

// A look-up compares numbers as == does, whatever the types of the field and of the table's key are.
func TestNumbersFindNumbersInATable(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("i,f,d\n1,1.0,1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "t.csv"), []byte("k,label\n1.00,one\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "j.jsonl"), []byte(`{"k":1.0,"label":"json"}`+"\n"), 0o600))
	p := compile(t, folder, `name: numbers
sources: {in: {csv: {path: in.csv}, schema: {fields: {i: int, f: float, d: decimal}}}}
steps:
  - {name: a, lookup: {csv: {path: t.csv}, schema: {fields: {k: decimal, label: string}}, on: {i: k}, add: {a: label}}}
  - {name: b, lookup: {csv: {path: t.csv}, schema: {fields: {k: decimal, label: string}}, on: {f: k}, add: {b: label}}}
  - {name: c, lookup: {csv: {path: t.csv}, schema: {fields: {k: float, label: string}}, on: {d: k}, add: {c: label}}}
  - {name: j, lookup: {jsonl: {path: j.jsonl}, schema: {fields: {k: json, label: string}}, on: {i: k}, add: {j: label}}}
sinks: {out: {jsonl: {path: out.jsonl}}}
`)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	result, err := runner.Run(begin(p, read(t, p)))
	require.NoError(t, err)
	require.Equal(t, `{"i":1,"f":1.0,"d":1,"a":"one","b":"one","c":"one","j":"json"}`+"\n", output(p, result, "out"))
}
