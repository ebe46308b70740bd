package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

// versioned are plugins that say their versions.
type versioned struct {
	formats.Formats
	source, sink int
}

type versionedSource struct {
	plugin.Source
	version int
}

func (s versionedSource) Version() int { return s.version }

type versionedSink struct {
	plugin.Sink
	version int
}

func (s versionedSink) Version() int { return s.version }

func (p versioned) Source(name string, spec pipeline.Source) (plugin.Source, error) {
	source, err := p.Formats.Source(name, spec)
	return versionedSource{source, p.source}, err
}

func (p versioned) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	sink, err := p.Formats.Sink(name, spec)
	return versionedSink{sink, p.sink}, err
}

func (p versioned) Table(string, pipeline.Lookup) (*plugin.Table, error) { return towns, nil }

// withVersions compiles a document of one source, step and sink with plugins of these versions.
func withVersions(t *testing.T, ofSource, ofSink int) *plan.Plan {
	t.Helper()
	loaded, err := pipeline.Load("p.yaml", []byte(source+`
steps: [{name: a, drop: [id]}]
sinks: {out: {jsonl: {path: o}}}`), pipeline.Environment{})
	require.NoError(t, err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	compiled, err := plan.Compile(loaded, versioned{formats.Formats{Files: file.Access{Root: root}}, ofSource, ofSink})
	require.NoError(t, err)
	return compiled
}

func TestPluginVersionChangesPlan(t *testing.T) {
	first := withVersions(t, 1, 1)
	for name, other := range map[string]*plan.Plan{"source": withVersions(t, 2, 1), "sink": withVersions(t, 1, 3)} {
		require.NotEqual(t, first.Digest(), other.Digest(), name)
	}
	var versions []int
	for _, node := range withVersions(t, 2, 3).Describe().Nodes {
		versions = append(versions, node.Version)
	}
	require.Equal(t, []int{2, 0, 3}, versions, "a step has none")
}

func TestVersion1IsNotWritten(t *testing.T) {
	require.NotContains(t, string(withVersions(t, 1, 1).JSON()), `"version":`)
}

func TestBesideIsPartOfPlan(t *testing.T) {
	plain := withVersions(t, 1, 1)
	aside := *plain
	aside.Beside = "retry-1"
	require.NotEqual(t, plain.Digest(), aside.Digest())
	var described plan.Description
	require.NoError(t, json.Unmarshal(aside.JSON(), &described))
	require.Equal(t, "retry-1", described.Beside)
}
