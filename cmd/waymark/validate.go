package main

import (
	"io"

	"github.com/spf13/cobra"

	"waymark/engine/plan"
	"waymark/internal/text"
	"waymark/pipeline"
	"waymark/plugin"
)

// validation is the result of `waymark validate --json`.
type validation struct {
	OK       bool              `json:"ok"`
	Pipeline string            `json:"pipeline,omitempty"`
	Sinks    []sinkPromise     `json:"sinks,omitempty"`
	Problems []documentProblem `json:"problems,omitempty"`
}

type sinkPromise struct {
	Sink      string           `json:"sink"`
	Guarantee plugin.Guarantee `json:"guarantee"`
	Location  string           `json:"location"`
}

type documentProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func (a *app) validateCommand() *cobra.Command {
	var params []string
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a pipeline document; show all problems, or what each sink guarantees",
		Args:  exactlyOne("document"),
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := a.compile(args[0], params)
			if found := problems(err); found != nil && a.json {
				return endWith(exitUsage, a.print(failedValidation(found), nil))
			}
			if err != nil {
				return err
			}
			result := validation{OK: true, Pipeline: doc.Plan.Document.Pipeline.Name, Sinks: promises(doc.Plan)}
			return a.print(result, result.write)
		},
	}
	paramFlag(cmd, &params)
	return cmd
}

// paramFlag defines --param.
func paramFlag(cmd *cobra.Command, params *[]string) {
	cmd.Flags().StringArrayVar(params, "param", nil, "parameter of the document as `NAME=VALUE`; repeat for more")
}

func failedValidation(found pipeline.Problems) validation {
	var result validation
	for _, p := range found {
		result.Problems = append(result.Problems, documentProblem{p.File, p.Line, p.Column, p.Path, p.Message})
	}
	return result
}

func promises(compiled *plan.Plan) []sinkPromise {
	var sinks []sinkPromise
	for _, node := range compiled.Describe().Nodes {
		if node.Kind == plan.Sink {
			sinks = append(sinks, sinkPromise{node.Name, node.Guarantee, node.Location})
		}
	}
	return sinks
}

// meanings say in words what a guarantee promises about a run that was killed and resumed.
var meanings = map[plugin.Guarantee]string{
	plugin.Transactional: "every row once, in the target's own transaction",
	plugin.Idempotent:    "every row once: a repeat writes the same bytes to the same place",
	plugin.Reconcilable:  "every row once: the target is asked before a repeat",
	plugin.AtLeastOnce:   "every row at least once: a repeat may write it twice",
}

func (v validation) write(w io.Writer) error {
	lines := [][]string{{v.Pipeline + ": ok", "", "", ""}}
	for _, sink := range v.Sinks {
		lines = append(lines, []string{"  " + sink.Sink, string(sink.Guarantee), meanings[sink.Guarantee], sink.Location})
	}
	return text.Table(w, lines...)
}
