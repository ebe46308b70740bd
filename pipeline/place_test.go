package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestPathsLeadToTheirPlaces(t *testing.T) {
	doc, err := loadSmall(`name: x
sources: {in: {csv: {path: in.csv}}}
steps:
- name: a
  set:
    total: "1"
    "a.b": "2"
    'q"]x': "3"
- {name: b, gate: row.x, routes: {yes: out}}
sinks: {out: {csv: {path: out.csv}}}
`)
	require.NoError(t, err)
	set := pipeline.Key(pipeline.Item("steps", 0), "set")
	for _, c := range []struct {
		path         string
		line, column int
	}{
		{"", 1, 1},
		{"name", 1, 7},
		{"sources", 2, 1},
		{"sources.in.csv.path", 2, 28},
		{"sources.in.csv.delimiter", 2, 16},
		{"steps[0]", 4, 3},
		{set, 5, 3},
		{pipeline.Key(set, "total"), 6, 12},
		{pipeline.Key(set, "a.b"), 7, 12},
		{pipeline.Key(set, `q"]x`), 8, 13},
		{pipeline.Key(set, "none"), 5, 3},
		{"steps[1]", 9, 3},
		{"steps[1].routes", 9, 26},
		{"steps[1].routes.yes", 9, 40},
		{"steps[2].name", 3, 1},
		{"steps[x].name", 3, 1},
		{"[", 1, 1},
		{".", 1, 1},
	} {
		line, column := doc.Position(c.path)
		require.Equal(t, []int{c.line, c.column}, []int{line, column}, c.path)
	}
	require.Equal(t, `x.yaml:9:40: steps[1].routes.yes: no sink named "out"`, doc.Problem("steps[1].routes.yes", "no sink named %q", "out").String())
}

func TestNearest(t *testing.T) {
	words := []string{"review", "archive", "all", "quarantine"}
	for word, want := range map[string]string{
		"reveiw": "review", "Review": "review", "reviews": "review", "quarentin": "quarantine", "al": "all", "x": "", "": "", "review": "", "unrelated": "",
	} {
		require.Equal(t, want, pipeline.Nearest(word, words), word)
	}
}

func TestSizes(t *testing.T) {
	var size pipeline.ByteSize
	for text, want := range map[string]pipeline.ByteSize{"0": 0, "4096": 4096, "64KiB": 64 << 10, "8MiB": 8 << 20, "1GiB": 1 << 30} {
		require.NoError(t, size.UnmarshalText([]byte(text)))
		require.Equal(t, want, size, text)
	}
	for _, text := range []string{"", "8MB", "8 MiB", "-1", "1.5MiB", "010", "0x10", "1e6", "MiB", "9223372036854775808", "8589934592GiB"} {
		require.Error(t, size.UnmarshalText([]byte(text)), text)
	}
}

func TestSizesMayStandInQuotes(t *testing.T) {
	doc, err := loadSmall(small + "chunk: {bytes: \"64MiB\"}\n")
	require.NoError(t, err)
	require.Equal(t, pipeline.ByteSize(64<<20), doc.Pipeline.Chunk.Bytes)
}
