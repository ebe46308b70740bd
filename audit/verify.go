package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/engine/firsts"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/landscape/sweep"
	"waymark/payload"
)

// Report is what a verification looked at and what it found.
type Report struct {
	Run        string            `json:"run"`
	Status     string            `json:"status"`
	Chunks     int64             `json:"chunks"`          // whose records were read again and sent through the steps again
	Rows       int64             `json:"rows"`            // in these chunks, of barriers as well
	Hashes     int64             `json:"hashes"`          // computed again and compared
	Folds      int64             `json:"folds,omitempty"` // of barriers, taken again
	Late       int64             `json:"late,omitempty"`  // rows that targets of sinks rejected when they were written: which and why is believed
	Artifacts  int               `json:"artifacts"`       // read again
	Problems   []Problem         `json:"problems"`        // empty, not nil, if nothing that was compared is wrong
	More       bool              `json:"more,omitempty"`  // there are more problems than Problems lists
	Checked    []Check           `json:"checked"`         // what was compared, in the order in which it was
	NotChecked []Check           `json:"not_checked"`     // what was not, and why; empty, not nil, if all that can be compared was
	Believed   string            `json:"believed"`        // the sentence Believed or BelievedSealed
	Notes      []string          `json:"notes,omitempty"`
	Sealed     *Sealed           `json:"sealed,omitempty"` // the run's seal; nil if it has none, or is running
	SignOffs   []persons.SignOff `json:"sign_offs,omitempty"`

	Orders []persons.SignedOrder `json:"approval_requests,omitempty"` // by digest

	purged []Problem // payloads that were purged: what hangs on them cannot be looked at again
}

// Check is something that was compared, or was not.
type Check struct {
	What   string `json:"what"`           // a word of the constants below
	Name   string `json:"name,omitempty"` // of a source, a barrier, a sink or a table
	Detail string `json:"detail"`         // of what was compared, with what; of what was not, why
}

// What is compared. Stored in reports; never rename.
const (
	CheckedTokens   = "tokens"    // the end of every row, and the balance of every node
	CheckedViews    = "views"     // the same through the views of the database
	CheckedDatabase = "database"  // the database itself: its pages and indexes
	CheckedSchema   = "schema"    // tables, views, triggers, checks and functions of the database
	CheckedDocument = "document"  // the document, the plan and the graph
	CheckedRecords  = "records"   // the records as they were read
	CheckedSteps    = "steps"     // what the steps make of the records
	CheckedFolds    = "folds"     // what the barriers make of them
	CheckedSource   = "source"    // a source's own files or rows
	CheckedEffects  = "effects"   // what was written, by their events
	CheckedOutput   = "output"    // a published output
	CheckedLatest   = "latest"    // where the name of the latest output leads
	CheckedRetries  = "retries"   // which records are retried, by which run
	CheckedPolicies = "policies"  // what the policies of the document come to
	CheckedSeals    = "seals"     // the roots that seal what is recorded of each row
	CheckedSignOffs = "sign-offs" // what people signed about the run
	CheckedOrders   = "approvals" // approval requests about the run, with the signatures under them
)

// Problem is one thing on record that is not true, or not to be had.
type Problem struct {
	Kind   string `json:"kind"` // a word of the constants below, or the name of an audit check
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// Kinds of problems; docs/codes.md lists them.
const (
	PayloadMissing   = "payload_missing"
	PayloadPurged    = "payload_purged" // which is no problem, and in no report
	PayloadCorrupt   = "payload_corrupt"
	RecordDiffers    = "record_differs"    // the engine, given the stored records, comes to another result than is recorded
	ArtifactDiffers  = "artifact_differs"  // a published file is missing or holds other bytes
	DocumentUnusable = "document_unusable" // the run's document does not compile to the run's plan here
	RecordIncomplete = "record_incomplete" // columns on record do not have the rows of their chunk
	SourceDiffers    = "source_differs"    // a source file looks as the run found it, and holds other bytes
	DatabaseDamaged  = "database_damaged"  // the database says that it is not whole: a page, an index or a constraint
	SchemaDiffers    = "schema_differs"    // an object of the database's schema is not as this program makes it
	SealBroken       = "seal_broken"       // what is recorded is not what was sealed
	SignOffBroken    = "sign_off_broken"   // what a person is said to have signed about the run does not count
	OrderBroken      = "approval_broken"   // an approval request about the run, or a signature under it, does not hold
	EntryMissed      = "entry_missed"      // the log has an entry about something of the run that is not recorded so
)

// Believed is what no verification can find wrong, for people. docs/landscape.md has the columns.
const Believed = "who did something, when and why, what others were told of it, how the run began, and what other runs did (waymark log check compares its beginning with the log)"

// BelievedSealed is Believed of a run whose records fit its seal: they are what they were then.
const BelievedSealed = "that it was true when the run was sealed: who did something, when and why, what others were told of it, how the run began, and what other runs did (waymark log check compares its beginning and its seals with the log)"

// maxProblems bounds a report: what is wrong in a thousand places needs no longer list.
const maxProblems = 1000

// Firsts is what a verification needs of a firsts.Index.
type Firsts interface {
	First(v firsts.Value, token uint64) (uint64, error)
	Find(v firsts.Value) (uint64, error)
	Close() error
}

// VerifyOptions say how a run is verified.
type VerifyOptions struct {
	// Approvers are those whose keys may sign off runs and sign orders; nil to take the line that is recorded with each signature.
	Approvers *persons.Approvers

	// Logged, if not nil, returns what the log says of the run and is not recorded so: what somebody removed, and what was lost with a restored backup.
	Logged func(ctx context.Context, run string) (removed, lost []string, err error)

	Deep bool // ask the database of every token through its views as well, as auditors do, and a large one whether it is whole: it takes much longer

	// Firsts, if not nil, remembers which token is the first with a value, in the place of a firsts.Index among
	// temporary files. It is empty, and closed at the end.
	Firsts Firsts

	// Progress, if not nil, is called with how much of the work is done, from one goroutine at a time: each row counts when its
	// token is counted, and when it went through the steps again.
	Progress func(done, total int64)
}

// Verify does what VerifyWith does, in full.
func (a *Auditor) Verify(ctx context.Context, id string) (*Report, error) {
	return a.VerifyWith(ctx, id, VerifyOptions{Deep: true})
}

// VerifyWith holds a run against everything that can be checked: every token's end and every count, the document, the plan and
// the graph, every payload's bytes, the results of the steps, the errors and what barriers gave computed again, the places of
// the records, the source files if they are still as they were, and the published files. It reads only. The error says that the verification
// could not be done; what it found is in the report.
func (a *Auditor) VerifyWith(ctx context.Context, id string, options VerifyOptions) (report *Report, err error) {
	index := options.Firsts
	if index == nil {
		index = firsts.New("")
	}
	a = &Auditor{log: a.log.Marked(), payloads: a.payloads, planner: a.planner}
	v := &verification{
		Auditor: a, options: options, fed: map[string]map[landscape.ChunkKey]bool{}, recomputed: map[landscape.ChunkKey]bool{}, indexed: map[landscape.ChunkKey]bool{},
		firsts: index, progress: new(progress),
		report: &Report{Run: id, Problems: []Problem{}, Checked: []Check{}, NotChecked: []Check{}, Believed: Believed},
	}
	defer func() { err = errors.Join(err, v.firsts.Close()) }()
	if err := v.verifyAll(ctx, id); err != nil && !v.endsEarly(ctx, err) {
		return nil, err
	}
	return v.report, nil
}

func (v *verification) verifyAll(ctx context.Context, id string) (err error) {
	if err := v.verifyDatabase(ctx); err != nil {
		return err
	}
	v.broken = len(v.report.Problems) > 0
	if err := v.verifySchema(ctx); err != nil {
		return err
	}
	v.broken = len(v.report.Problems) > 0
	if v.missesTable {
		v.skipAll()
		return nil
	}
	v.run, err = v.log.Run(ctx, id)
	if errors.Is(err, landscape.ErrNotFound) {
		return v.verifyStray(ctx, id, err)
	}
	if err != nil {
		return err
	}
	v.report.Status = string(v.run.Status)
	for _, step := range []func(context.Context) error{
		v.beginProgress, v.readLanes, v.sweep, v.verifyTables, v.readLists, v.verifyRun, v.indexFirsts, v.verifyOrigins, v.verifyFolds, v.verifySeals, v.verifySalts, v.verifyRunSeal, v.verifySignOffs, v.verifyOrders, v.verifyErased, v.verifyLogged,
		v.verifyEffects, v.verifyPolicies, v.verifyStatus, v.verifyEpochs, v.verifyFed, v.verifyArtifacts, v.noteWork,
	} {
		if err := v.guard(ctx, v.run.Pipeline, step); err != nil {
			return err
		}
	}
	return nil
}

// verifyStray reports a run of which there are records, and which is not recorded itself. notFound is the error if there are none.
func (v *verification) verifyStray(ctx context.Context, id string, notFound error) error {
	nodes, err := v.log.Nodes(ctx, id)
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return notFound
	}
	v.add(RecordDiffers, id, "%s of it are recorded, and the run itself is not", plural(int64(len(nodes)), "node"))
	v.skipped(CheckedRecords, "", "the run itself is not recorded")
	return nil
}

// guard does something with what is recorded, and reports what makes no sense there. An error says that the database, the payload
// store or the index of values failed, or that ctx ended.
func (v *verification) guard(ctx context.Context, where string, do func(context.Context) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			v.add(RecordDiffers, where, "what is recorded makes no sense: %v", cause)
			err = nil
		}
	}()
	err = do(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, landscape.ErrUnavailable) || errors.Is(err, payload.ErrUnavailable) || errors.Is(err, errIndex) {
		return errors.Join(err, ctx.Err())
	}
	v.add(kindOf(err, RecordDiffers), where, "what is recorded makes no sense: %v", err)
	return nil
}

// kindOf returns the kind of problem that an error tells of; other if it is none of a payload or a column.
func kindOf(err error, other string) string {
	switch {
	case errors.Is(err, payload.ErrPurged):
		return PayloadPurged
	case errors.Is(err, payload.ErrNotFound), errors.Is(err, payload.ErrBadKey):
		return PayloadMissing
	case errors.Is(err, payload.ErrCorrupt), errors.Is(err, payload.ErrTooLarge):
		return PayloadCorrupt
	case errors.Is(err, landscape.ErrIncomplete):
		return RecordIncomplete
	}
	return other
}

// lost reports whether an error says that a payload is not to be had.
func lost(err error) bool {
	kind := kindOf(err, "")
	return kind == PayloadMissing || kind == PayloadCorrupt || kind == PayloadPurged
}

// readLanes reads the lanes of the run.
func (v *verification) readLanes(ctx context.Context) (err error) {
	v.lanes, err = v.log.Lanes(ctx, v.run.ID)
	return err
}

// verification is one call of Verify.
type verification struct {
	*Auditor
	options     VerifyOptions
	run         landscape.Run
	report      *Report
	missesTable bool // the schema lacks a table of records
	broken      bool // the database is damaged, or its schema is not as this program makes it: the report says so
	lanes       []landscape.Lane
	compiled    *plan.Plan // nil if it is not to be had
	writes      map[landscape.EffectKey]landscape.Effect
	effects     map[landscape.EffectKey]landscape.Effect // as they were when the verification began
	passed      map[landscape.ChunkKey]bool              // chunks that had gone through the steps then
	ends        []landscape.SourceEnd                    // of the sources that had been read to their end then
	rows        int64                                    // of all sources, on record
	refused     int64                                    // tokens, on record
	chunks      int64                                    // of all origins, on record
	fed         map[string]map[landscape.ChunkKey]bool   // by barrier: the chunks that bring something to it, and are not taken yet
	recomputed  map[landscape.ChunkKey]bool              // chunks that went through the steps again
	firsts      Firsts                                   // which tokens are the first with their values
	indexed     map[landscape.ChunkKey]bool              // chunks whose values are in it
	again       map[string]*fedAgain                     // by source: the records of another run that it retries
	progress    *progress
	forgotten   []Problem         // of chunks: some of their rows
	headers     map[string]string // by file of the source that is looked at: digest of what its records are parsed with
}

func (v *verification) add(kind, where, format string, args ...any) {
	v.addProblem(Problem{kind, where, fmt.Sprintf(format, args...)})
}

func (v *verification) addProblem(problem Problem) {
	if problem.Kind == PayloadPurged { // by order, and on record
		v.report.purged = append(v.report.purged, problem)
		return
	}
	if len(v.report.Problems) == maxProblems {
		v.report.More = true
		return
	}
	v.report.Problems = append(v.report.Problems, problem)
}

// compared notes what was compared.
func (v *verification) compared(what, name, format string, args ...any) {
	v.report.Checked = append(v.report.Checked, Check{what, name, fmt.Sprintf(format, args...)})
}

// skipped notes what was not compared, and why. Of the same thing the first reason is enough.
func (v *verification) skipped(what, name, format string, args ...any) {
	ok := func(c Check) bool { return c.What == what && c.Name == name }
	if !slices.ContainsFunc(v.report.NotChecked, ok) {
		v.report.NotChecked = append(v.report.NotChecked, Check{what, name, fmt.Sprintf(format, args...)})
	}
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
		v.skipped(CheckedTokens, "", "the run is %s: open rows are no problem of its record", v.report.Status)
		return nil
	}
	v.compared(CheckedTokens, "", "the end of every row and the balance of every node, from the packed columns")
	if err := v.views(ctx); err != nil {
		return err
	}
	findings, err := v.log.Sweep(ctx, v.run.ID, v.options.Deep)
	if err != nil {
		return err
	}
	tokens, err := sweep.Packed(ctx, v.log, v.run.ID, v.progress.add)
	findings = append(findings, missing(tokens, findings)...)
	sweep.Sort(findings)
	for _, finding := range findings {
		v.add(finding.Check, cmp.Or(place(finding.Source, finding.Chunk), finding.Node), "%s", finding.String())
	}
	return err
}

// views notes whether the views of the database are asked.
func (v *verification) views(ctx context.Context) error {
	archive, err := v.log.ArchiveOf(ctx, v.run.ID)
	switch {
	case err != nil || !v.options.Deep:
	case archive != nil:
		v.skipped(CheckedViews, "", "the run is archived: the views of the database do not show it")
	default:
		v.compared(CheckedViews, "", "the same, through the views of the database")
	}
	return err
}

// missing returns the findings that are not among others.
func missing(findings, others []landscape.Finding) []landscape.Finding {
	there := map[landscape.Finding]bool{}
	for _, f := range others {
		f.Detail = ""
		there[f] = true
	}
	return slices.DeleteFunc(findings, func(f landscape.Finding) bool {
		f.Detail = ""
		return there[f]
	})
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
