package rowproof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/rowproof"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/seal"
	"waymark/tests/sample"
)

// shown is a run of which fields of some rows can be disclosed: of row 8 both, of row 5 the id alone, of row 1 nothing.
var shown = landscapetest.Scene{Run: "shown", Chunks: 2, ChunkRows: 33, Fields: true}

func (s *scene) show(t *testing.T, of landscapetest.Scene, row int64, names ...string) (*rowproof.Proof, error) {
	t.Helper()
	recorded, err := s.evidence.Log.Run(t.Context(), of.Run)
	require.NoError(t, err)
	return rowproof.Show(t.Context(), s.evidence.Log.Reader, recorded, landscapetest.Source, row, rowproof.Shown{
		Names: names,
		Fields: func(_ context.Context, chunk landscape.Chunk) ([]seal.Fields, error) {
			return of.Passage(int(chunk.Chunk)).Fields, nil
		},
	})
}

func TestFieldsAreShown(t *testing.T) {
	s := newScene(t, shown)
	policy := policyOf(t, s.trusted)
	var files [][]byte
	for _, row := range []int64{2, 5, 8, 32, 35, 65} {
		p, err := s.show(t, shown, row, "id")
		require.NoError(t, err)
		file := text(t, p)
		require.LessOrEqual(t, len(file), 4096)
		require.NotContains(t, string(file), "verdict")
		require.NotContains(t, string(file), "body")
		report := rowproof.Verify(file, parsed(t, policy), nil)
		require.Empty(t, report.Problem)
		require.Equal(t, []string{"form", "log", "run", "chunk", "fields"}, report.Checks)
		require.Equal(t, row, report.Row)
		require.Equal(t, (row-1)%33%2, report.Hidden, "some rows have a verdict as well")
		require.Equal(t, "id", report.Fields[0].Name)
		require.Empty(t, report.SHA256)
		files = append(files, file)
		whole, err := s.prove(t, "shown", row)
		require.NoError(t, err)
		require.Empty(t, rowproof.Verify(text(t, whole), parsed(t, policy), nil).Problem, "the row is proven as a whole as well")
		require.NotContains(t, string(file), whole.Row.Salt)
		files = append(files, text(t, whole))
	}
	for _, said := range python(t, files, policy) {
		require.True(t, strings.HasPrefix(said, "0 "), said)
	}
	both, err := s.show(t, shown, 8, "verdict", "id")
	require.NoError(t, err)
	report := rowproof.Verify(text(t, both), nil, nil)
	require.Equal(t, []rowproof.Field{{Name: "id", Sink: "review", Value: json.RawMessage("7")}, {Name: "verdict", Sink: "review", Value: json.RawMessage(`"major"`)}}, report.Fields)
	require.Contains(t, rowproof.Verify(text(t, both), nil, []byte("a record")).Problem, "record: a proof of fields does not have the SHA-256")
}

// TestChangedFields changes bytes of a proof of fields, and puts parts of others into it.
func TestChangedFields(t *testing.T) {
	s := newScene(t, shown)
	policy := policyOf(t, s.trusted)
	p, err := s.show(t, shown, 8, "verdict")
	require.NoError(t, err)
	good := text(t, p)
	want := rowproof.Verify(good, parsed(t, policy), nil)
	require.Empty(t, want.Problem)
	var hostile [][]byte
	for at := 0; at < len(good); at += sample.Step(13) {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		report := rowproof.Verify(changed, parsed(t, policy), nil)
		if report.Problem == "" { // how many leaves the tree of the chunk has may be said wrongly, as long as the path is the same
			require.Equal(t, want, report, "byte %d: %s", at, changed)
			continue
		}
		if at%39 == 0 {
			hostile = append(hostile, changed)
		}
	}
	neighbour, err := s.show(t, shown, 14, "verdict")
	require.NoError(t, err)
	other, err := s.show(t, shown, 8, "id")
	require.NoError(t, err)
	whole, err := s.prove(t, "shown", 8)
	require.NoError(t, err)
	const sealed = " of sink review: its name or its value is not what was sealed as field "
	line := func(from, to string) func(p *rowproof.Proof) {
		return func(p *rowproof.Proof) { p.Fields[0].Line = strings.Replace(p.Fields[0].Line, from, to, 1) }
	}
	for name, h := range map[string]struct {
		change func(p *rowproof.Proof)
		want   string
	}{
		"another value":            {line(`"major"`, `"minor"`), "fields: verdict" + sealed + "2 of 2 of the row"},
		"another name":             {line(`"verdict"`, `"reason"`), "fields: reason" + sealed + "2 of 2 of the row"},
		"another row":              {line(`"row":8`, `"row":9`), "fields: verdict" + sealed},
		"another sink":             {line(`"review"`, `"all"`), "fields: verdict of sink all: its name or its value is not"},
		"another lane":             {line(`"lane":0`, `"lane":1`), "fields: verdict" + sealed},
		"no line of a field":       {line(`"field"`, `"fields"`), "fields: "},
		"a commitment of its row":  {func(p *rowproof.Proof) { p.Fields[0].Leaf = other.Fields[0].Leaf }, "fields: verdict" + sealed + "1 of 2 of the row"},
		"a commitment of another":  {func(p *rowproof.Proof) { p.Fields[0].Leaf = neighbour.Fields[0].Leaf }, "fields: verdict" + sealed},
		"a field of another row":   {func(p *rowproof.Proof) { p.Fields = neighbour.Fields }, "fields: verdict" + sealed},
		"fields of another row":    {func(p *rowproof.Proof) { p.Fields, p.Root = neighbour.Fields, neighbour.Root }, "chunk: the root of the row's fields is not under"},
		"the place of another row": {func(p *rowproof.Proof) { p.Row = neighbour.Row }, "chunk: the root of the row's fields is not under"},
		"the body in its place":    {func(p *rowproof.Proof) { p.Row.Path = whole.Row.Path }, "chunk: the root of the row's fields is not under"},
		"no root":                  {func(p *rowproof.Proof) { p.Root = p.Root[1:] }, "chunk: "},
		"a field twice":            {func(p *rowproof.Proof) { p.Fields = append(p.Fields, p.Fields[0]) }, "form: the fields are not in order"},
		"another number of fields": {func(p *rowproof.Proof) { p.Fields = append(other.Fields, p.Fields[0]); p.Fields[1].Leaves++ }, "form: the fields are not in order, or not of one row"},
		"no field":                 {func(p *rowproof.Proof) { p.Fields = nil }, "form: "},
		"a body besides":           {func(p *rowproof.Proof) { p.Body = whole.Body }, "form: "},
		"a salt of the row":        {func(p *rowproof.Proof) { p.Row.Salt = whole.Row.Salt }, "form: "},
		"more records":             {func(p *rowproof.Proof) { p.Records = whole.Records }, "form: "},
		"another version":          {func(p *rowproof.Proof) { p.Proof = 2 }, "form: "},
	} {
		t.Run(name, func(t *testing.T) {
			changed := new(rowproof.Proof)
			require.NoError(t, json.Unmarshal(good, changed))
			h.change(changed)
			file := text(t, changed)
			require.Contains(t, rowproof.Verify(file, parsed(t, policy), nil).Problem, h.want)
			hostile = append(hostile, file)
		})
	}
	for i, said := range python(t, hostile, policy) {
		problem := rowproof.Verify(hostile[i], parsed(t, policy), nil).Problem
		check, _, _ := strings.Cut(problem, ":")
		require.True(t, strings.HasPrefix(said, "4 NOT verified: "+check+": "), "Go says %s, and Python %s: %s", problem, said, hostile[i])
	}
}

func TestWhatCannotBeShown(t *testing.T) {
	s := newScene(t, shown, one)
	for of, want := range map[string]string{
		"sum": `does not declare that "sum" can be shown; it declares id, verdict at sink review`,
		"id":  "it reached no sink that declares fields with disclose",
	} {
		_, err := s.show(t, shown, 1, of)
		require.ErrorIs(t, err, rowproof.ErrNotShown)
		require.ErrorContains(t, err, want)
	}
	_, err := s.show(t, shown, 5, "id", "verdict")
	require.ErrorIs(t, err, rowproof.ErrNotShown)
	require.ErrorContains(t, err, `it did not reach the sink that declares "verdict", or does not have the field`)
	_, err = s.show(t, one, 2, "id")
	require.ErrorIs(t, err, rowproof.ErrNotShown)
	require.ErrorContains(t, err, "the document of run one declares no field that can be shown")
	_, err = s.show(t, shown, 67, "id")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	recorded, err := s.evidence.Log.Run(t.Context(), "shown")
	require.NoError(t, err)
	_, err = rowproof.Show(t.Context(), s.evidence.Log.Reader, recorded, landscapetest.Source, 2, rowproof.Shown{
		Names: []string{"id"},
		Fields: func(context.Context, landscape.Chunk) ([]seal.Fields, error) {
			fields := shown.Passage(0).Fields
			fields[0].Values[0]++
			return fields, nil
		},
	})
	require.ErrorIs(t, err, landscape.ErrSealBroken)
}
