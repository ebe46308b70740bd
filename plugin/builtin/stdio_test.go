package builtin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

// inputOf returns a source of standard input, of a process that executes the run.
func inputOf(t *testing.T, folder, run string) plugin.Source {
	t.Helper()
	source, err := Plugins{Stdio: Stdio{Folder: folder, Run: run}}.Source("in", pipeline.Source{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "-"}}})
	require.NoError(t, err)
	return source
}

// TestStandardInputIsAFile shows that what is kept of standard input is read as any file is, and belongs to one run.
func TestStandardInputIsAFile(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, Stdio{Folder: folder}.InputFile("one"), messy)
	source, is := inputOf(t, folder, "one").(*csvSource)
	require.True(t, is)
	source.format.comment = '#'
	want := readCSV(t, messy, messyOptions, pipeline.Schema{})
	require.Equal(t, want, requireSamePieces(t, source, &source.fileSource))
	require.True(t, source.OnHost())
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	require.Equal(t, "-", info.Files[0].Path)

	for run, message := range map[string]string{"two": "what run two got by standard input is not in the state folder any more", "": "standard input is read when a run begins"} {
		o := collect(t, inputOf(t, folder, run), large)
		require.Equal(t, codeNotFound, o.Err)
		require.Contains(t, o.Message, message)
	}
	writeFile(t, Stdio{Folder: folder}.InputFile("one"), messy+"1,2\n")
	_, err = source.Open(t.Context(), plugin.Cursor{}, info)
	require.ErrorContains(t, err, codeSourceChanged)
}

// TestStandardOutputIsAFile shows that every run has an output of its own, with all that a file sink promises.
func TestStandardOutputIsAFile(t *testing.T) {
	folder := t.TempDir()
	sink, err := Plugins{Stdio: Stdio{Folder: folder}, Beside: "retry-1"}.Sink("out", pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: pipeline.FileTarget{Path: "-"}}})
	require.NoError(t, err)
	require.Equal(t, "-", sink.Location())
	require.Equal(t, plugin.Idempotent, sink.Guarantee())
	for _, run := range []string{"one", "two"} {
		o := plugintest.NewOutput("", "{}\n{}\n")
		o.Write(t, sink.Target(run))
		artifact, err := sink.Target(run).Publish(t.Context(), o.Header, o.Parts)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(folder, "stdio", run+".jsonl"), artifact.Path)
		data, err := os.ReadFile(artifact.Path)
		require.NoError(t, err)
		require.Equal(t, string(o.Whole()), string(data))
	}
}

// TestNoStdio: a process without standard input and output refuses both, and one whose folder is away can try again.
func TestNoStdio(t *testing.T) {
	for _, p := range []Plugins{{}, {Beside: "retry-1"}} {
		_, err := p.Source("in", pipeline.Source{JSONL: &pipeline.JSONLSource{Files: pipeline.Files{Path: "-"}}})
		require.ErrorContains(t, err, "a worker of a cluster has none")
		_, err = p.Sink("out", pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: pipeline.FileTarget{Path: "-"}}})
		require.ErrorContains(t, err, "a worker of a cluster has none")
		_, err = p.Sink("out", pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: pipeline.FileTarget{Path: "s3://bucket/out"}}})
		require.ErrorContains(t, err, "only files on this host")
	}
	place, err := Stdio{Folder: filepath.Join(t.TempDir(), "away")}.output("out", ".csv")
	require.NoError(t, err)
	_, err = place.Target("one").Open(t.Context(), nil)
	require.ErrorContains(t, err, "state folder")
	var fault *plugin.TargetError
	require.NotErrorAs(t, err, &fault)
}
