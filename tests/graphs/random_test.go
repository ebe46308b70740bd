package graphs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin/file"
	"waymark/plugin/lookup"
	"waymark/tests/graphs"
	"waymark/tests/sample"
	"waymark/worker/formats"
)

// documents is how many random documents CI runs for real.
const documents = 2000

// TestRandomDocuments shows that random documents are valid, that everything in the result adds up, and that a second
// interpretation gives the same. It takes seeds that do not run for real.
func TestRandomDocuments(t *testing.T) {
	for seed := uint64(documents); seed < documents+150; seed += uint64(sample.Step(4)) {
		doc, files := random(t, seed)
		_, err := plan.Compile(doc, pluginsIn(t, doc, files))
		require.NoError(t, err, "seed %d", seed)
		result := interpret(t, doc, files)
		require.Empty(t, result.Balance(), "seed %d", seed)
		if seed%20 == 0 {
			again, filesAgain := random(t, seed)
			require.Equal(t, doc.Source, again.Source, "seed %d", seed)
			require.Equal(t, result.Text(), interpret(t, again, filesAgain).Text(), "seed %d", seed)
		}
	}
}

// TestRandomDocumentsMeetEverything counts the documents in which each case came up that is worth testing: one in a
// hundred, at least.
func TestRandomDocumentsMeetEverything(t *testing.T) {
	tried := uint64(200)
	if sample.All() {
		tried = 500
	}
	met := map[string]int{}
	for seed := range tried {
		doc, files := random(t, seed)
		for feature := range features(doc, interpret(t, doc, files)) {
			met[feature]++
		}
	}
	for _, feature := range wanted() {
		require.GreaterOrEqual(t, met[feature], int(tried/100), "documents of %d with: %s", tried, feature)
		t.Logf("%4d %s", met[feature], feature)
	}
}

func random(t *testing.T, seed uint64) (*pipeline.Document, map[string]string) {
	text, files := graphs.Random(seed)
	doc, err := pipeline.Load("random.yaml", []byte(text), pipeline.Environment{})
	require.NoError(t, err, "seed %d\n%s", seed, text)
	return doc, files
}

func interpret(t *testing.T, doc *pipeline.Document, files map[string]string) *graphs.Result {
	result, err := graphs.Interpret(doc, graphs.Read(doc, files))
	require.NoError(t, err)
	return result
}

// pluginsIn returns the plugins of the document, with the contents of its lookups' tables.
func pluginsIn(t *testing.T, doc *pipeline.Document, files map[string]string) plan.Plugins {
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	tables := map[string][]byte{}
	for _, step := range doc.Pipeline.Steps {
		if step.Lookup != nil {
			tables[step.Name] = []byte(files[step.Lookup.CSV.Path])
		}
	}
	return formats.Formats{Files: file.Access{Root: root}, Tables: lookup.Kept{Tables: tables}}
}

// wanted lists the cases that random documents must meet.
func wanted() []string {
	list := strings.Split("several sources|several turns of a source|held coalesce|coalesce in a branch|held coalesce in a branch|"+
		"fork in the third depth|branches that go together|gate routes into a coalesce|gate routes to a sink in a branch|"+
		"gate routes into a barrier in a branch|expand to nothing|cut by a held coalesce's sort or deduplicate|late at a held coalesce|"+
		"refused row comes out of a barrier|refused row in a branch|collision|collision that the first wins|"+
		"nothing at a held coalesce|chunks of a barrier|sink of refused rows", "|")
	for _, reason := range []pipeline.Path{
		pipeline.DefaultFlow, pipeline.GateRouted, pipeline.GateDiscarded, pipeline.FilterDropped, pipeline.OnErrorRouted, pipeline.Unrouted,
		pipeline.SinkDiscarded, pipeline.ForkParent, pipeline.BatchConsumed, pipeline.ExpandParent,
	} {
		list = append(list, "lost: "+string(reason), "path: "+string(reason))
	}
	for _, word := range strings.Fields("INCOMPLETE_BRANCHES QUORUM_NOT_MET SELECT_BRANCH_MISSING COLLISION BATCH_ROWS LOOKUP_MISSING NOT_A_LIST UNROUTED " +
		"NULL_OPERAND DIVISION_BY_ZERO NO_SUCH_FIELD RESULT_TYPE CONVERT REQUIRED SYNTAX FIELD_COUNT") {
		list = append(list, "code: "+word)
	}
	for _, word := range strings.Fields("rows when end arrival all quorum first lost merged refused nothing require_all best_effort union nested select") {
		list = append(list, "word: "+word)
	}
	for _, word := range append(pipeline.Operations(), "transform", "passthrough", "split", "last") {
		list = append(list, "step: "+word)
	}
	return list
}
