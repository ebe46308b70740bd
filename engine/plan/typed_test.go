package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

// typedPlugins have sinks that note the fields of which they are asked for an encoder.
type typedPlugins struct {
	formats.Formats
	asked map[string][]plugin.Field
}

type typedSink struct {
	plugin.Sink
	name  string
	asked map[string][]plugin.Field
}

func (s typedSink) TypedEncoder(fields []plugin.Field, open bool) (plugin.Encoder, error) {
	s.asked[s.name] = fields
	return s.Encoder(nil, open)
}

func (p typedPlugins) Sink(name string, spec pipeline.Sink) (plugin.Sink, error) {
	sink, err := p.Formats.Sink(name, spec)
	return typedSink{sink, name, p.asked}, err
}

// TestLayoutKnowsWhatIsDeclared: of a field whose type nothing declares, an output's schema says what was seen.
func TestLayoutKnowsWhatIsDeclared(t *testing.T) {
	loaded, err := pipeline.Load("p.yaml", []byte(`name: p
sources: {in: {jsonl: {path: in}, schema: {mode: flexible, fields: {a: int, j: json}}}}
steps:
  - {name: set, set: {x: row.id, y: row.a + 1}}
  - {name: some, select: [a, j, id, x, y]}
  - {name: fork, fork: [all, few]}
  - name: sum
    from: few
    aggregate: {group_by: [id], compute: {first: first(row.x), most: max(row.a)}}
sinks: {rows: {jsonl: {path: o}, from: all}, sums: {jsonl: {path: s}, from: sum}}
`), pipeline.Environment{})
	require.NoError(t, err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	p, err := plan.Compile(loaded, formats.Formats{Files: file.Access{Root: root}})
	require.NoError(t, err)
	declared := map[string]string{}
	for _, i := range p.Sinks() {
		encoder, err := p.Nodes[i].Encoder()
		require.NoError(t, err)
		for _, field := range p.Nodes[i].Layout(encoder).Fields {
			if field.Kinds != 0 {
				declared[p.Nodes[i].Name] += field.Name + " "
			}
		}
	}
	require.Equal(t, map[string]string{"rows": "a j y ", "sums": "most "}, declared)
}

func TestATypedSinkIsToldTheTypesOfItsRows(t *testing.T) {
	loaded, err := pipeline.Load("p.yaml", []byte(`name: p
sources: {in: {jsonl: {path: in}, schema: {fields: {id: int, at: "timestamp?"}}, on_invalid: bad}}
steps: [{name: a, set: {half: "row.id > 2"}}]
sinks: {out: {jsonl: {path: o}}, bad: {jsonl: {path: b}}}
`), pipeline.Environment{})
	require.NoError(t, err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	asked := map[string][]plugin.Field{}
	_, err = plan.Compile(loaded, typedPlugins{formats.Formats{Files: file.Access{Root: root}}, asked})
	require.NoError(t, err)
	require.Equal(t, []plugin.Field{
		{Name: "id", Kind: row.Int}, {Name: "at", Kind: row.Timestamp, Optional: true}, {Name: "half", Kind: row.Bool},
	}, asked["out"])
	var names []string
	for _, field := range asked["bad"] {
		names = append(names, field.Name)
		require.Equal(t, field.Name == "row" || field.Name == "line", field.Kind == row.Int, field.Name)
		require.Equal(t, field.Name == "field" || field.Name == "raw" || field.Name == "raw_base64", field.Optional, field.Name)
	}
	require.Equal(t, plan.ErrorFields, names)
}
