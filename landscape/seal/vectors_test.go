package seal_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/seal"
	"waymark/tests/services"
)

var write = flag.Bool("write", false, "write the files of testdata")

const vectors = "testdata/rows.json"

// vector is what docs/seal.py reads as well.
type vector struct {
	Name     string   `json:"name"`
	Key      string   `json:"key"`
	Source   string   `json:"source"`
	Chunk    int64    `json:"chunk"`
	Rows     rows     `json:"rows"`
	ChunkKey string   `json:"chunk_key"`
	Salts    []string `json:"salts"`
	Bodies   []string `json:"bodies"`
	Root     string   `json:"root"`
}

type rows struct {
	First   int64     `json:"first"`
	Hashes  string    `json:"hashes"`
	Offsets []uint32  `json:"offsets"`
	Lengths []uint32  `json:"lengths"`
	Lines   []uint32  `json:"lines"`
	Ways    []codes   `json:"ways"`
	Columns []column  `json:"columns"`
	Keys    []column  `json:"keys"`
	Firsts  []column  `json:"firsts"`
	Errors  []refused `json:"errors"`
	Joins   []codes   `json:"joins"`
	Parents *parents  `json:"parents"`
}

type codes struct {
	Lane  uint16   `json:"lane"`
	IDs   []string `json:"ids"`
	Codes []uint16 `json:"codes"`
}

type column struct {
	Lane   uint16 `json:"lane"`
	Node   uint16 `json:"node"`
	Values string `json:"values"`
}

type refused struct {
	Row  int    `json:"row"`
	Lane uint16 `json:"lane"`
	Node uint16 `json:"node"`
	Line string `json:"line"`
}

type parents struct {
	Batches string `json:"batches"`
	Tokens  string `json:"tokens,omitempty"`
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}

// sealed returns the rows as the package takes them.
func (r rows) sealed(t testing.TB) *seal.Rows {
	t.Helper()
	lanes := func(list []codes) (out []seal.Codes) {
		for _, c := range list {
			lane := seal.Codes{Lane: c.Lane, Codes: c.Codes}
			for _, id := range c.IDs {
				lane.IDs = append(lane.IDs, [8]byte(unhex(t, id)))
			}
			out = append(out, lane)
		}
		return out
	}
	columns := func(list []column) (out []seal.Column) {
		for _, c := range list {
			out = append(out, seal.Column{Lane: c.Lane, Node: c.Node, Values: unhex(t, c.Values)})
		}
		return out
	}
	out := &seal.Rows{
		First: r.First, Hashes: unhex(t, r.Hashes), Offsets: r.Offsets, Lengths: r.Lengths, Lines: r.Lines,
		Ways: lanes(r.Ways), Columns: columns(r.Columns), Keys: columns(r.Keys), Firsts: columns(r.Firsts), Joins: lanes(r.Joins),
	}
	for _, e := range r.Errors {
		out.Errors = append(out.Errors, seal.Error{Row: e.Row, Lane: e.Lane, Node: e.Node, Digest: seal.Digest([]byte(e.Line))})
	}
	if r.Parents != nil {
		out.Parents.Batches = unhex(t, r.Parents.Batches)
		if r.Parents.Tokens != "" {
			out.Parents.Tokens = unhex(t, r.Parents.Tokens)
		}
	}
	return out
}

// expect fills in what follows from the rest.
func (v *vector) expect(t testing.TB) {
	t.Helper()
	key := seal.Key(unhex(t, v.Key)).Chunk(v.Source, v.Chunk)
	sealed := v.Rows.sealed(t)
	v.ChunkKey, v.Salts, v.Bodies = hex.EncodeToString(key[:]), []string{}, []string{}
	for i := range sealed.Len() {
		salt := saltOf(key, i, sealed.Len())
		v.Salts, v.Bodies = append(v.Salts, hex.EncodeToString(salt[:])), append(v.Bodies, hex.EncodeToString(sealed.Body(i)))
	}
	root := chunkRootOf(sealed, key)
	v.Root = hex.EncodeToString(root[:])
}

// made returns vectors: chunks of few and of some rows, without anything but records, and with everything there can be.
func made() (list []vector) {
	random := rand.New(rand.NewPCG(6, 962))
	bytes := func(n int) string {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		return hex.EncodeToString(data)
	}
	// sparse is a column of which every third value is missing.
	sparse := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			if i%3 == 1 {
				b.WriteString(strings.Repeat("00", size))
				continue
			}
			b.WriteString(bytes(size))
		}
		return b.String()
	}
	for _, n := range []int{0, 1, 2, 3, 33} {
		for _, full := range []bool{false, true} {
			v := vector{Name: fmt.Sprintf("%d rows, full %v", n, full), Key: bytes(16), Source: "orders", Chunk: int64(n), Rows: rows{First: int64(1 + 100*n), Hashes: bytes(32 * n), Offsets: []uint32{}, Lengths: []uint32{}}}
			r := &v.Rows
			way := codes{Lane: 0, IDs: []string{bytes(8)}, Codes: []uint16{}}
			for i := range n {
				r.Offsets, r.Lengths, way.Codes = append(r.Offsets, uint32(50*i)), append(r.Lengths, uint32(40+i%9)), append(way.Codes, 0)
			}
			r.Ways = []codes{way}
			if full {
				v.Source = "Bestellungen/ß"
				branch, join := codes{Lane: 2, IDs: []string{bytes(8), bytes(8)}, Codes: []uint16{}}, codes{Lane: 3, IDs: []string{bytes(8)}, Codes: []uint16{}}
				for i := range n {
					branch.Codes, join.Codes = append(branch.Codes, []uint16{0, 1, seal.NoWay}[i%3]), append(join.Codes, []uint16{seal.NoWay, 0}[i%2])
					r.Lines = append(r.Lines, uint32(2*i))
					if i%5 == 0 {
						r.Errors = append(r.Errors, refused{i, 2, 4, fmt.Sprintf(`{"row":%d,"lane":2,"message":"ü"}`, i)}, refused{i, 0, 7, `{"row":0}`})
					}
				}
				r.Ways, r.Joins = []codes{branch, way}, []codes{join}
				r.Columns = []column{{2, 1, sparse(n, 32)}, {0, 5, sparse(n, 32)}, {0, 2, bytes(32 * n)}}
				r.Keys = []column{{0, 1, sparse(n, 4)}, {0, 0, bytes(4 * n)}}
				r.Firsts = []column{{0, 3, sparse(n, 8)}}
				if n > 0 {
					r.Parents = &parents{Batches: bytes(4 * n)}
				}
				if n > 2 {
					r.Parents.Tokens = bytes(8 * n)
				}
			}
			list = append(list, v)
		}
	}
	return list
}

// TestVectors holds this package, and docs/seal.py, to the vectors. They never change: roots are stored.
func TestVectors(t *testing.T) {
	if *write {
		list := made()
		for i := range list {
			list[i].expect(t)
		}
		text, err := json.Marshal(list)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(vectors, append(text, '\n'), 0o600))
	}
	text, err := os.ReadFile(vectors)
	require.NoError(t, err)
	var list []vector
	require.NoError(t, json.Unmarshal(text, &list))
	require.Len(t, list, 10)
	for _, want := range list {
		got := want
		got.expect(t)
		require.Equal(t, want, got)
	}
	// One that is wrong is noticed.
	list[5].Root = strings.Repeat("0", 64)
	text, err = json.Marshal(list)
	require.NoError(t, err)
	wrong := t.TempDir() + "/wrong.json"
	require.NoError(t, os.WriteFile(wrong, text, 0o600))
	out, err := python(t, vectors)
	require.NoError(t, err, out)
	require.Equal(t, "10 vectors\n", out)
	out, err = python(t, wrong)
	require.Error(t, err)
	require.Contains(t, out, "2 rows, full true: root is")
}

func python(t *testing.T, path string) (string, error) {
	t.Helper()
	program := services.Python(t)
	out, err := exec.CommandContext(t.Context(), program, "../../docs/seal.py", path).CombinedOutput()
	return string(out), err
}

// big returns a chunk as that of a large run: one lane, two nodes with hashes.
func big(n int) *seal.Rows {
	r := &seal.Rows{
		First: 1, Hashes: make([]byte, 32*n), Offsets: make([]uint32, n), Lengths: make([]uint32, n),
		Ways: []seal.Codes{{IDs: [][8]byte{{1}, {2}}, Codes: make([]uint16, n)}}, Columns: []seal.Column{{Node: 0}, {Node: 1}},
	}
	for c := range r.Columns {
		r.Columns[c].Values = make([]byte, 32*n)
	}
	for i := range n {
		binary.BigEndian.PutUint64(r.Hashes[32*i:], uint64(i))
		r.Columns[0].Values[32*i], r.Columns[1].Values[32*i] = 1, 2
	}
	return r
}

// BenchmarkRoot seals a chunk of 32,768 rows. ns/row × 1,000,000 is what a million rows cost.
func BenchmarkRoot(b *testing.B) {
	const n = 32_768
	r, key := big(n), seal.Key{1}
	b.ReportAllocs()
	for b.Loop() {
		chunkRootOf(r, key)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
