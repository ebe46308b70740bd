package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/plan"
)

// Report is what a verification looked at and what it found.
type Report struct {
	Run       string    `json:"run"`
	Status    string    `json:"status"`
	Chunks    int64     `json:"chunks"`          // whose records were read again and sent through the steps again
	Rows      int64     `json:"rows"`            // in these chunks, of barriers as well
	Hashes    int64     `json:"hashes"`          // computed again and compared
	Folds     int64     `json:"folds,omitempty"` // of barriers, taken again
	Late      int64     `json:"late,omitempty"`  // rows that targets of sinks refused when they were written: which and why is believed
	Artifacts int       `json:"artifacts"`       // read again
	Problems  []Problem `json:"problems"`        // empty, not nil, if everything on record is true
	More      bool      `json:"more,omitempty"`  // there are more problems than Problems lists
	Notes     []string  `json:"notes,omitempty"`
}

// Problem is one thing on record that is not true, or not to be had.
type Problem struct {
	Kind   string `json:"kind"` // a word of the constants below, or the name of an audit check
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// Kinds of problems.
const (
	PayloadMissing   = "payload_missing"
	PayloadCorrupt   = "payload_corrupt"
	RecordDiffers    = "record_differs"    // the engine, given the stored records, comes to another result than is on record
	ArtifactDiffers  = "artifact_differs"  // a published file is missing or holds other bytes
	DocumentUnusable = "document_unusable" // the run's document does not compile to the run's plan here
	RecordIncomplete = "record_incomplete" // columns on record do not have the rows of their chunk
	SourceDiffers    = "source_differs"    // a source file looks as the run found it, and holds other bytes
)

// maxProblems bounds a report: what is wrong in a thousand places needs no longer list.
const maxProblems = 1000

// Verify holds a run against everything that can be checked: the audit sweep over every token, the document, the plan and
// the graph, every payload's bytes, the results of the steps, the errors and what barriers gave computed again, the places of
// the records, the source files if they are still as they were, and the published files. It reads only. The error says that the verification
// could not be done; what it found is in the report.
func (a *Auditor) Verify(ctx context.Context, id string) (*Report, error) {
	run, err := a.log.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	lanes, err := a.log.Lanes(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	v := &verification{
		Auditor: a, run: run, lanes: lanes, fed: map[string]map[chunkKey]bool{}, recomputed: map[chunkKey]bool{}, claimants: claimants{},
		report: &Report{Run: run.ID, Status: string(run.Status), Problems: []Problem{}},
	}
	for _, step := range []func(context.Context) error{
		v.sweep, v.verifyTables, v.readLists, v.verifyRun, v.verifyOrigins, v.verifyClaims, v.verifyFolds, v.verifyEffects, v.verifyStatus, v.verifyEpochs, v.verifyArtifacts, v.noteLate,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return v.report, nil
}

// verification is one call of Verify.
type verification struct {
	*Auditor
	run        landscape.Run
	report     *Report
	lanes      []landscape.Lane
	compiled   *plan.Plan // nil if it is not to be had
	writes     map[landscape.EffectKey]landscape.Effect
	effects    map[landscape.EffectKey]landscape.Effect // as they were when the verification began
	rows       int64                                    // of all sources, on record
	refused    int64                                    // tokens, on record
	chunks     int64                                    // of all origins, on record
	fed        map[string]map[chunkKey]bool             // by barrier: the chunks that bring something to it, and are not taken yet
	recomputed map[chunkKey]bool                        // chunks that went through the steps again
	claimants  claimants                                // of these chunks
	again      map[string]*fedAgain                     // by source: the records of another run that it feeds again
	headers    map[string]string                        // by file of the source that is looked at: digest of what its records are parsed with
}

func (v *verification) add(kind, where, format string, args ...any) {
	if len(v.report.Problems) == maxProblems {
		v.report.More = true
		return
	}
	v.report.Problems = append(v.report.Problems, Problem{kind, where, fmt.Sprintf(format, args...)})
}

func (v *verification) note(format string, args ...any) {
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}

// addDifferences reports records that are not stored as they should be.
func (v *verification) addDifferences(where string, differences []landscape.Difference) {
	for _, difference := range differences {
		v.add(RecordDiffers, where, "%s", difference)
	}
}

// sweep checks the record against itself. A run that is not concluded has open tokens by right: its sweep is left out.
func (v *verification) sweep(ctx context.Context) error {
	if !concluded(v.report.Status) {
		v.note("the run is %s: open rows are no problem of its record", v.report.Status)
		return nil
	}
	findings, err := v.log.Sweep(ctx, v.run.ID, true)
	for _, finding := range findings {
		v.add(finding.Check, cmp.Or(place(finding.Source, finding.Chunk), finding.Node), "%s", finding.String())
	}
	return err
}

func concluded(status string) bool {
	return slices.Contains([]string{"completed", "completed_with_failures", "empty"}, status)
}

func place(source string, chunk int64) string {
	if chunk < 0 {
		return source
	}
	return fmt.Sprintf("%s chunk %d", source, chunk)
}
