package seal_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/seal"
)

const runVectors = "testdata/run.json"

// runVector is what docs/seal.py reads as well.
type runVector struct {
	Name  string   `json:"name"`
	Key   string   `json:"key"`
	Seq   int64    `json:"seq"`
	Lines []string `json:"lines"`
	Marks string   `json:"marks"`
	Root  string   `json:"root"`
}

// expect computes what follows from the lines.
func (v *runVector) expect(t *testing.T) {
	t.Helper()
	bytes, err := hex.DecodeString(v.Key)
	require.NoError(t, err)
	key, err := seal.ParseKey(bytes)
	require.NoError(t, err)
	salts := seal.RunSaltsOf(key, v.Seq)
	tree := seal.NewRunTree(salts)
	var marks []byte
	for i, line := range v.Lines {
		hash := tree.Add([]byte(line))
		require.Equal(t, hash, leafOf(t, salts, i, line))
		marks = append(marks, hash[:4]...)
	}
	root := tree.Root()
	v.Marks, v.Root = hex.EncodeToString(marks), hex.EncodeToString(root[:])
}

func runsMade() (list []runVector) {
	for i, n := range []int{0, 1, 2, 3, 33, 1025} {
		v := runVector{Name: fmt.Sprint(n, " records"), Key: fmt.Sprintf("%032x", i+7), Seq: int64(i), Lines: []string{}}
		for line := range n {
			v.Lines = append(v.Lines, fmt.Sprintf(`{"label":"Zürich\\n%d","table":"edges"}`, line))
		}
		list = append(list, v)
	}
	return list
}

// TestRunVectors holds the trees of runs, and docs/seal.py, to vectors. They never change: roots are stored.
func TestRunVectors(t *testing.T) {
	if *write {
		list := runsMade()
		for i := range list {
			list[i].expect(t)
		}
		text, err := json.Marshal(list)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(runVectors, append(text, '\n'), 0o600))
	}
	text, err := os.ReadFile(runVectors)
	require.NoError(t, err)
	var list []runVector
	require.NoError(t, json.Unmarshal(text, &list))
	require.Len(t, list, 6)
	for _, want := range list {
		got := want
		got.expect(t)
		require.Equal(t, want, got)
	}
	list[2].Root = strings.Repeat("0", 64)
	text, err = json.Marshal(list)
	require.NoError(t, err)
	wrong := t.TempDir() + "/wrong.json"
	require.NoError(t, os.WriteFile(wrong, text, 0o600))
	out, err := python(t, runVectors)
	require.NoError(t, err, out)
	require.Equal(t, "6 vectors\n", out)
	out, err = python(t, wrong)
	require.Error(t, err)
	require.Contains(t, out, "2 records: root is")
}
