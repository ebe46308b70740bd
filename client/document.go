package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"waymark/activities/bundle"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/worker"
)

// maxDocumentBytes is one byte more than pipeline.Load takes, so that it says what is wrong with a file that is too long.
const maxDocumentBytes = 1<<20 + 1

// Document is a pipeline document that compiles.
type Document struct {
	File   string // as the caller named it
	Folder string // absolute; the document's relative paths start there
	Source []byte
	Params map[string]string
	Slot   string     // the name of the slot that it is about; empty for none. What depends on it is in Params
	Plan   *plan.Plan // nil if only workers can compile it

	Overridden map[string]string // by name of a parameter, the value that it would have because of the slot, where Params has another one

	others   pipeline.Map[pipeline.Schedule] // schedules of the pipeline that were made by command, as far as they matter
	schedule string                          // whose slot it is about; empty for the only one, and for none

	standing    plan.Standing         // by which a server gives it secrets
	version     int64                 // of the deployed pipeline that it is; 0 for a file
	environment string                // in which that is deployed; empty for a file
	values      landscape.Environment // of that
	bundle      bundle.Bundle         // of that version
}

// ReadDocument reads the file of a document, or enough of it to see that it is too long.
func ReadDocument(file string) ([]byte, error) {
	if file == "" {
		return nil, errors.New("the name of the document's file is empty")
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info, err := in.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name a file in it, such as pipeline.yaml", file)
	}
	return ReadText(in)
}

// ReadText reads the text of a document, or of a schedule, or enough of it to see that it is too long.
func ReadText(in io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(in, maxDocumentBytes)) }

// Open reads the file of a document without compiling it.
func Open(file string, params map[string]string) (*Document, error) {
	source, err := ReadDocument(file)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidDocument, Message: err.Error(), Err: err}
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidDocument, Message: err.Error(), Err: err}
	}
	return &Document{File: file, Folder: filepath.Dir(absolute), Source: source, Params: params}, nil
}

// Compile reads the file of a document and compiles it. The error is an *Error of kind Invalid; about a document with problems, it
// wraps all of them as pipeline.Problems.
func Compile(planner worker.Planner, file string, params map[string]string) (*Document, error) {
	doc, err := Open(file, params)
	if err != nil {
		return nil, err
	}
	return doc, doc.compile(planner, "")
}

// CompileRerun compiles the run that the planner executes again. The error is as that of Compile.
func CompileRerun(planner worker.Planner) (*Document, error) {
	run := planner.Rerun.Run
	d := &Document{File: run.Pipeline + ".yaml", Folder: run.BaseDir, Source: []byte(run.Document), Params: planner.Rerun.Params()}
	return d, d.compile(planner, "")
}

// compile compiles the document with outputs that have the word in their names, if there is one.
func (d *Document) compile(planner worker.Planner, beside string) error {
	return d.compileAs(planner, plan.Request{
		Folder: d.Folder, Beside: beside, Deployed: d.version > 0, Files: d.bundle.Files, Standing: d.standing,
	})
}

// compileToBegin compiles the document of which a run is to begin, now or later.
func (d *Document) compileToBegin(planner worker.Planner) error {
	if err := d.compile(planner, ""); err != nil {
		return err
	}
	return d.admitted(planner)
}

// admitted refuses a document of which no run may begin with a planner.
func (d *Document) admitted(planner worker.Planner) error {
	if err := planner.Admits(d.Plan.Document); err != nil {
		return documentError(d.File, err)
	}
	return nil
}

// compileAs compiles the document, which the request need not have.
func (d *Document) compileAs(planner worker.Planner, request plan.Request) (err error) {
	if request.Values, err = d.values.Values(); err != nil {
		return err
	}
	request.ValuesOf = d.values.Label()
	return d.compileWith(planner, request)
}

// compileWith compiles the document, which the request need not have, with the values of the request.
func (d *Document) compileWith(planner worker.Planner, request plan.Request) (err error) {
	request.File, request.Document, request.Params = d.File, d.Source, d.Params
	if d.Plan, err = planner.Plan(request); err != nil {
		return documentError(d.File, err)
	}
	return nil
}

// documentError is the error about a document: of one with problems, all of them.
func documentError(file string, err error) *Error {
	if problems, ok := errors.AsType[pipeline.Problems](err); ok {
		count := fmt.Sprint(len(problems), " problems")
		if len(problems) == 1 {
			count = "1 problem"
		}
		wrong := &Error{Kind: Invalid, Code: InvalidDocument, Message: fmt.Sprintf("%s has %s\n%v", file, count, problems), Err: err}
		if problems.Given() {
			wrong.Code = InvalidInput
		}
		if problems[len(problems)-1].Input == pipeline.NoSlot { // its message is the last one
			wrong.Cure = NameSlot
		}
		return wrong
	}
	return &Error{Kind: Invalid, Code: InvalidDocument, Message: err.Error(), Err: err}
}

// Name is the pipeline's name, or the file's if that is not known here.
func (d *Document) Name() string {
	if d.Plan == nil {
		return filepath.Base(d.File)
	}
	return d.Plan.Document.Pipeline.Name
}

// ReadsInput reports whether the document reads standard input.
func (d *Document) ReadsInput() bool { return d.Plan != nil && d.Plan.Document.Pipeline.ReadsInput() }

// PrintsOutput reports whether a run of the document writes rows to standard output; false if only workers can compile it.
func (d *Document) PrintsOutput() bool {
	return d.Plan != nil && printer(d.Plan.Describe()) != ""
}

// bytes is how much a run of the document reads; 0 if that is not known here.
func (d *Document) bytes(ctx context.Context) int64 {
	if d.Plan == nil {
		return 0
	}
	ctx, done := context.WithTimeout(ctx, AnswerTimeout)
	defer done()
	return sourceBytes(ctx, d.Plan)
}

// needsFiles reports whether only workers that see the files of this machine can execute the plan.
func needsFiles(compiled *plan.Plan) bool {
	for i := range compiled.Nodes {
		node := &compiled.Nodes[i]
		if node.Table != nil {
			return true
		}
		for _, place := range []any{node.Source, node.Sink} {
			if local, ok := place.(plugin.OnHost); ok && local.OnHost() {
				return true
			}
		}
	}
	return false
}

// PlanOf returns the recorded description of a run's plan.
func PlanOf(run landscape.Run) (description plan.Description, err error) {
	if err := json.Unmarshal([]byte(run.Plan), &description); err != nil {
		return description, fmt.Errorf("run %s: the plan on record: %w", run.ID, err)
	}
	return description, nil
}

// paramsOf returns the parameters that a run has on record, with given ones in their place; never nil.
func paramsOf(run landscape.Run, given map[string]string) (map[string]string, error) {
	params := map[string]string{}
	if err := json.Unmarshal([]byte(run.Params), &params); err != nil {
		return nil, fmt.Errorf("run %s: the parameters on record: %w", run.ID, err)
	}
	maps.Copy(params, given)
	return params, nil
}

// documentPath returns where the document of a run was read; empty if it is that of a version.
func documentPath(run landscape.Run) string {
	if run.Version > 0 {
		return ""
	}
	if filepath.IsAbs(run.File) {
		return run.File
	}
	return filepath.Join(run.BaseDir, run.File)
}
