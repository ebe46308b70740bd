package client

import (
	"errors"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin"
)

// Validation says what a document promises, or what is wrong with it.
type Validation struct {
	OK       bool              `json:"ok"`
	Pipeline string            `json:"pipeline,omitempty"`
	Sinks    []SinkPromise     `json:"sinks,omitempty"`
	Problems []DocumentProblem `json:"problems,omitempty"` // all of them, in the order of the document
}

// SinkPromise is what a sink guarantees about the rows of a run that was killed and resumed.
type SinkPromise struct {
	Sink      string           `json:"sink"`
	Guarantee plugin.Guarantee `json:"guarantee"`
	Location  string           `json:"location"`
}

// DocumentProblem is one thing that is wrong with a document, and where. Lines and columns count from 1.
type DocumentProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Validated turns what Compile returned into a Validation. The error is Compile's, unless that is about problems of the document.
func Validated(doc *Document, err error) (*Validation, error) {
	if problems, ok := errors.AsType[pipeline.Problems](err); ok {
		v := &Validation{}
		for _, p := range problems {
			v.Problems = append(v.Problems, DocumentProblem{p.File, p.Line, p.Column, p.Path, p.Message})
		}
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v := &Validation{OK: true, Pipeline: doc.Name()}
	for _, node := range doc.Plan.Describe().Nodes {
		if node.Kind == plan.Sink {
			v.Sinks = append(v.Sinks, SinkPromise{node.Name, node.Guarantee, node.Location})
		}
	}
	return v, nil
}
