package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
	"waymark/plugin/plugintest"
)

// inputOf returns a source of standard input, of a process that executes the run.
func inputOf(t *testing.T, folder, run string) *plainSource {
	t.Helper()
	source, err := newPlainSource(pipeline.Files{Path: "-"}, Access{Stdio: Stdio{Folder: folder, Run: run}})
	require.NoError(t, err)
	return source
}

// TestStandardInputIsAFile shows that what is kept of standard input is read as any file is, and belongs to one run.
func TestStandardInputIsAFile(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, Stdio{Folder: folder}.InputFile("one"), filetest.Messy)
	source := inputOf(t, folder, "one")
	want := filetest.Collect(t, sourceOfText(t, filetest.Messy, pipeline.Files{}), filetest.Large)
	require.Equal(t, want, filetest.SamePieces(t, source, &source.Buffer))
	require.NotEmpty(t, want.Rows)
	require.True(t, source.OnHost())
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	require.Equal(t, "-", info.Files[0].Path)

	for run, message := range map[string]string{"two": "what run two got by standard input is not in the state folder any more", "": "standard input is read when a run begins"} {
		o := filetest.Collect(t, inputOf(t, folder, run), filetest.Large)
		require.Equal(t, CodeNotFound, o.Err)
		require.Contains(t, o.Message, message)
	}
	writeFile(t, Stdio{Folder: folder}.InputFile("one"), filetest.Messy+"1,2\n")
	_, err = source.Open(t.Context(), plugin.Cursor{}, info)
	require.ErrorContains(t, err, CodeSourceChanged)
}

// TestStandardOutputIsAFile shows that every run has an output of its own, with all that a file sink promises.
func TestStandardOutputIsAFile(t *testing.T) {
	folder := t.TempDir()
	at, err := Access{Stdio: Stdio{Folder: folder}, Beside: "retry-1"}.Destination("out", ".jsonl", pipeline.FileTarget{Path: "-"})
	require.NoError(t, err)
	sink := NewSink(at, nil)
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

// TestNoStdio: a process without standard input and output rejects both, and one whose folder is away can try again.
func TestNoStdio(t *testing.T) {
	for _, a := range []Access{{}, {Beside: "retry-1"}} {
		_, err := a.Store(pipeline.Files{Path: "-"})
		require.ErrorContains(t, err, "a worker of a cluster has none")
		_, err = a.Destination("out", ".jsonl", pipeline.FileTarget{Path: "-"})
		require.ErrorContains(t, err, "a worker of a cluster has none")
		_, err = a.Destination("out", ".jsonl", pipeline.FileTarget{Path: "s3://bucket/out"})
		require.ErrorContains(t, err, "only files on this host")
	}
	place, err := Stdio{Folder: filepath.Join(t.TempDir(), "away")}.output("out", ".csv")
	require.NoError(t, err)
	_, err = place.Target("one").Open(t.Context(), nil)
	require.ErrorContains(t, err, "state folder")
	var fault *plugin.TargetError
	require.NotErrorAs(t, err, &fault)
}
