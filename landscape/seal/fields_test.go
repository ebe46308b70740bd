package seal_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape/seal"
)

const fieldVectors = "testdata/fields.json"

// fieldVector is what docs/seal.py reads as well. Its rows have nothing but their numbers and fields.
type fieldVector struct {
	Name   string     `json:"name"`
	Key    string     `json:"key"`
	Source string     `json:"source"`
	Chunk  int64      `json:"chunk"`
	First  int64      `json:"first"`
	Rows   int        `json:"rows"`
	Values []valueOf  `json:"values"` // in any order
	Lines  [][]string `json:"lines"`  // by row
	Roots  []string   `json:"roots"`  // by row
	Root   string     `json:"root"`   // of the chunk
}

// valueOf is a field of a row.
type valueOf struct {
	Row   int    `json:"row"`
	Lane  int64  `json:"lane"`
	Sink  string `json:"sink"`
	Field string `json:"field"`
	Value string `json:"value"` // in canonical form
}

// fields returns the values as the package takes them.
func (v fieldVector) fields() (all []seal.Fields) {
	for _, of := range []struct {
		lane  int64
		sink  string
		names []string
	}{{0, "a", []string{"amount", "ünlike"}}, {0, "b", []string{"id"}}, {2, "a", []string{"amount", "ünlike"}}} {
		f := seal.Fields{Lane: of.lane, Sink: of.sink, Names: of.names}
		for i := range v.Rows {
			here := slices.DeleteFunc(slices.Clone(v.Values), func(x valueOf) bool { return x.Row != i || x.Lane != of.lane || x.Sink != of.sink })
			if len(here) == 0 {
				continue
			}
			f.Rows = append(f.Rows, i)
			for _, name := range of.names {
				if at := slices.IndexFunc(here, func(x valueOf) bool { return x.Field == name }); at >= 0 {
					f.Values = append(f.Values, here[at].Value...)
				}
				f.Ends = append(f.Ends, len(f.Values))
			}
		}
		all = append(all, f)
	}
	return all
}

// bare are rows with fields and nothing else.
func (v fieldVector) bare(key seal.Key) *seal.Rows {
	return &seal.Rows{
		First: v.First, Hashes: make([]byte, 32*v.Rows), Offsets: make([]uint32, v.Rows), Lengths: make([]uint32, v.Rows),
		Fields: seal.FieldRoots(seal.Whole(key, v.Rows), v.First, v.Rows, v.fields()),
	}
}

// expect fills in what follows from the rest.
func (v *fieldVector) expect(t testing.TB) {
	t.Helper()
	key := seal.Key(unhex(t, v.Key)).Chunk(v.Source, v.Chunk)
	rows := v.bare(key)
	v.Lines, v.Roots = make([][]string, v.Rows), nil
	for i := range v.Rows {
		v.Lines[i] = []string{}
		for _, leaf := range seal.Commitments(saltOf(key, i, v.Rows), v.First, i, v.fields()) {
			v.Lines[i] = append(v.Lines[i], string(leaf.Line))
		}
		v.Roots = append(v.Roots, hex.EncodeToString(rows.Fields[32*i:32*i+32]))
	}
	root := chunkRootOf(rows, key)
	v.Root = hex.EncodeToString(root[:])
}

// TestFieldVectors holds this package, and docs/seal.py, to the vectors. They never change: roots are stored.
func TestFieldVectors(t *testing.T) {
	if *write {
		v := fieldVector{Name: "fields of 40 rows", Key: strings.Repeat("07", 16), Source: "orders", Chunk: 3, First: 101, Rows: 40}
		for i := range v.Rows {
			for k, value := range []valueOf{
				{i, 0, "b", "id", fmt.Sprint(7000 + i)}, {i, 0, "a", "ünlike", `"\"late\"\n"`}, {i, 0, "a", "amount", `{"$decimal":"1.50"}`}, {i, 2, "a", "amount", "null"},
			} {
				if i%7 != 6 && (i%4 == k || i%5 == 0) {
					v.Values = append(v.Values, value)
				}
			}
		}
		v.expect(t)
		text, err := json.Marshal([]fieldVector{v})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(fieldVectors, append(text, '\n'), 0o600))
	}
	text, err := os.ReadFile(fieldVectors)
	require.NoError(t, err)
	var list []fieldVector
	require.NoError(t, json.Unmarshal(text, &list))
	require.Len(t, list, 1)
	got := list[0]
	got.expect(t)
	require.Equal(t, list[0], got)
	out, err := python(t, fieldVectors)
	require.NoError(t, err, out)
	require.Equal(t, "1 vectors\n", out)
	list[0].Values[3].Value = "8"
	text, err = json.Marshal(list)
	require.NoError(t, err)
	wrong := t.TempDir() + "/wrong.json"
	require.NoError(t, os.WriteFile(wrong, text, 0o600))
	out, err = python(t, wrong)
	require.Error(t, err)
	require.Contains(t, out, "fields of 40 rows: root is")
}

// TestFieldsAreCommittedTo: the root over the fields of a row is that over its commitments, both lead to the root of the chunk, and a row without fields has the leaf that it would have
// if no row had any.
func TestFieldsAreCommittedTo(t *testing.T) {
	var v fieldVector
	text, err := os.ReadFile(fieldVectors)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(bytes.Trim(text, "[]\n"), &v))
	key := seal.Key{9}
	cover := seal.Whole(key, v.Rows)
	rows, plain := v.bare(key), v.bare(key)
	plain.Fields = nil
	root, salts := rows.Root(cover), map[seal.Key]bool{}
	with, without := rows.Leaves(cover), plain.Leaves(cover)
	for i := range v.Rows {
		require.Equal(t, with[i], rows.Leaf(cover, i))
		salt, path, ok := rows.Prove(cover, i)
		require.True(t, ok)
		fields, beside, ok := rows.ProveFields(cover, i)
		require.Equal(t, len(v.Lines[i]) > 0, ok)
		if !ok {
			require.Equal(t, without[i], with[i])
			continue
		}
		require.NotEqual(t, without[i], with[i])
		leaves := seal.Commitments(saltOf(key, i, v.Rows), v.First, i, v.fields())
		require.Equal(t, fields, seal.FieldRoot(leaves))
		body := seal.LeafHash(salt, rows.Body(i))
		require.Equal(t, []seal.Hash{fields, body}, []seal.Hash{path[0], beside[0]})
		require.NoError(t, tlog.CheckRecord(path[1:], int64(v.Rows), root, int64(i), tlog.NodeHash(body, fields)))
		require.Equal(t, path[1:], beside[1:])
		require.NotEqual(t, saltOf(key, i, v.Rows), salt, "from what a proof of the row shows, no salt of a field follows")
		for _, leaf := range append(leaves, seal.Commitment{Salt: salt}) {
			require.False(t, salts[leaf.Salt], "every leaf has a salt of its own")
			salts[leaf.Salt] = true
		}
	}
	punctured := cover.Without(5)
	roots := seal.FieldRoots(punctured, v.First, v.Rows, v.fields())
	require.Equal(t, make([]byte, 32), roots[32*5:32*6], "nothing tells what was committed to")
	require.Equal(t, rows.Fields[32*6:], roots[32*6:])
	rows.Forgotten = map[int]seal.Hash{5: with[5]}
	require.Equal(t, root, rows.Root(punctured))
	_, _, ok := rows.ProveFields(punctured, 5)
	require.False(t, ok)
	require.Nil(t, seal.FieldRoots(cover, v.First, v.Rows, nil))
}

// BenchmarkFields commits to three fields of each row of a chunk of 32,768. ns/row × 1,000,000 is what a million rows cost beside BenchmarkRoot.
func BenchmarkFields(b *testing.B) {
	const n = 32_768
	f := seal.Fields{Sink: "decisions", Names: []string{"decision", "id", "reason"}}
	for i := range n {
		f.Rows = append(f.Rows, i)
		for _, value := range []string{`"accept"`, fmt.Sprint(i), `"income covers the rates"`} {
			f.Values = append(f.Values, value...)
			f.Ends = append(f.Ends, len(f.Values))
		}
	}
	key := seal.Key{1}
	b.ReportAllocs()
	for b.Loop() {
		seal.FieldRoots(seal.Whole(key, n), 1, n, []seal.Fields{f})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
