package graphs_test

import (
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/tests/graphs"
)

// features returns the cases that the document met.
func features(doc *pipeline.Document, result *graphs.Result) map[string]bool {
	met := map[string]bool{"several sources": len(doc.Pipeline.Sources) > 1}
	steps := map[string]*pipeline.Step{}
	for i := range doc.Pipeline.Steps {
		step := &doc.Pipeline.Steps[i]
		steps[step.Name] = step
		met["step: "+operation(doc, i)], met["step: "+kind(doc, i)] = true, true
		noteRoutes(met, doc, step)
	}
	for _, source := range doc.Pipeline.Sources {
		met["several turns of a source"] = met["several turns of a source"] || result.Nodes[source.Name].In > doc.Pipeline.Chunk.Rows
	}
	for _, token := range result.Tokens {
		noteToken(met, steps, token)
	}
	for _, merge := range result.Merges {
		noteMerge(met, steps[merge.Node], merge, result)
	}
	for _, batch := range result.Batches {
		met["word: "+batch.Trigger] = true
		met["chunks of a barrier"] = met["chunks of a barrier"] || len(batch.Outs) > doc.Pipeline.Chunk.Rows
	}
	met["sink of refused rows"] = len(result.Refused) > 0
	for feature, is := range met {
		if !is {
			delete(met, feature)
		}
	}
	return met
}

// operation returns which key of the step says what it does.
func operation(doc *pipeline.Document, i int) string {
	at := slices.IndexFunc(pipeline.Operations(), func(key string) bool { return doc.Has(pipeline.Key(pipeline.Item("steps", i), key)) })
	return pipeline.Operations()[at]
}

// kind returns what a barrier does, or the step's operation.
func kind(doc *pipeline.Document, i int) string {
	step := &doc.Pipeline.Steps[i]
	switch {
	case step.Aggregate != nil:
		return step.Aggregate.Mode
	case step.Expand != nil && step.Expand.Split != "":
		return "split"
	case step.Expand != nil:
		return "expand"
	case step.Deduplicate != nil && step.Deduplicate.Keep == "last":
		return "last"
	}
	return operation(doc, i)
}

// noteRoutes notes where gates lead, and branches that go together.
func noteRoutes(met map[string]bool, doc *pipeline.Document, step *pipeline.Step) {
	for _, route := range step.Routes {
		for _, other := range doc.Pipeline.Steps {
			if route.Value == other.Name && other.Coalesce != nil {
				met["gate routes into a coalesce"] = true
			}
		}
	}
	for i, entry := range step.Coalesce {
		for _, other := range step.Coalesce[:i] {
			if other.Value == entry.Value {
				met["branches that go together"] = true
			}
		}
	}
}

func noteToken(met map[string]bool, steps map[string]*pipeline.Step, token *graphs.Token) {
	step := steps[token.Node]
	met["path: "+string(token.Path)] = true
	if token.Refused != nil {
		met["code: "+token.Refused.Code] = true
		met["refused row comes out of a barrier"] = met["refused row comes out of a barrier"] || token.Source == token.Node && step != nil
		met["refused row in a branch"] = met["refused row in a branch"] || token.Lane != ""
	}
	switch {
	case token.Path == pipeline.GateRouted && token.Lane != "":
		met["gate routes to a sink in a branch"] = true
	case token.Path == pipeline.ForkParent && strings.Count(token.Lane, "/") >= 1:
		met["fork in the third depth"] = true
	case token.Path == pipeline.FilterDropped && step != nil && step.Expand != nil:
		met["expand to nothing"] = true
	case token.Lane != "" && (token.Path == pipeline.ExpandParent || token.Path == pipeline.BatchConsumed && step.Aggregate != nil && step.Aggregate.Mode == "transform"):
		met["gate routes into a barrier in a branch"] = true
	}
}

func noteMerge(met map[string]bool, step *pipeline.Step, merge *graphs.Merge, result *graphs.Result) {
	held := merge.Held
	inBranch := strings.Contains(merge.Key, "/")
	met["held coalesce"] = met["held coalesce"] || held
	met["coalesce in a branch"] = met["coalesce in a branch"] || inBranch
	met["held coalesce in a branch"] = met["held coalesce in a branch"] || inBranch && held
	met["collision"] = met["collision"] || len(merge.Collisions) > 0
	met["collision that the first wins"] = met["collision that the first wins"] || len(merge.Collisions) > 0 && step.Collision == "first"
	for _, word := range []string{merge.FiredBy, merge.Result, merge.Policy, step.Merge.Word} {
		met["word: "+word] = true
	}
	for _, lost := range merge.Lost {
		met["lost: "+string(lost.Reason)] = true
		met["cut by a held coalesce's sort or deduplicate"] = met["cut by a held coalesce's sort or deduplicate"] || held && lost.Reason == pipeline.BatchConsumed
	}
	late := held && len(merge.NotNeeded) > 0 && result.Tokens[merge.Key+"/"+merge.NotNeeded[0]] != nil
	met["late at a held coalesce"] = met["late at a held coalesce"] || late
	met["nothing at a held coalesce"] = met["nothing at a held coalesce"] || merge.Result == "nothing" && merge.Held
}
