package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestLeaves(t *testing.T) {
	leaves := func(source string) (texts []string) {
		doc, _ := pipeline.Load("p.yaml", []byte(source), pipeline.Environment{})
		require.NotNil(t, doc)
		for _, leaf := range doc.Leaves() {
			text := leaf.Path + " = " + leaf.Text
			if leaf.Order {
				text = leaf.Path + " : " + leaf.Text
			}
			texts = append(texts, text)
		}
		return texts
	}
	const document = `name: p # of the shop
params: {limit: {type: int, default: "7"}}
sources: {in: {csv: {path: "in.csv"}, schema: {fields: {b: int, a: string}}}}
steps:
  - {name: large, filter: row.a > "1"}
  - name: small
    select: [a, b]
sinks: {out: {jsonl: {path: '${param:limit}.jsonl', overwrite: true}}}
`
	require.Equal(t, []string{
		"name = p", "params.limit.type = int", `params.limit.default = "7"`, "params.limit : type, default",
		"sources.in.csv.path = in.csv", "sources.in.schema.fields.b = int", "sources.in.schema.fields.a = string", "sources.in.schema.fields : b, a", "sources.in : csv, schema",
		"steps.large.name = large", `steps.large.filter = row.a > "1"`, "steps.small.name = small", "steps.small.select[0] = a", "steps.small.select[1] = b", "steps : large, small",
		"sinks.out.jsonl.path = ${param:limit}.jsonl", "sinks.out.jsonl.overwrite = true", "sinks.out.jsonl : path, overwrite",
	}, leaves(document))
	require.Equal(t, leaves("sinks: {}\nname: p\n"), leaves("# first\nname:   'p'\n\nsinks: {}\n"), "comments, layout, quotes and the order of the document's keys")
	require.Empty(t, (&pipeline.Document{}).Leaves())
}

func TestVaries(t *testing.T) {
	doc, err := pipeline.Load("p.yaml", []byte(`name: p
params: {day: {type: string, default: x}}
sources: {in: {csv: {path: in.csv}}}
sinks:
  a: {csv: {path: "${param:day}.csv", columns: [a]}}
  ab: {csv: {path: "$${param:day}.csv", columns: [a]}}
`), pipeline.Environment{})
	require.NoError(t, err)
	for path, varies := range map[string]bool{"sinks": true, "sinks.a.csv.path": true, "sinks.a.csv.columns": false, "sinks.ab": false, "sources": false} {
		require.Equal(t, varies, doc.Varies(path), path)
	}
}
