package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/plugin"
)

// ResumeRun resumes a run that stopped, or whose process died: it makes sure that nothing changed that its rows depend on,
// finds out where it stands, and moves it to its next epoch. From then on nothing that was begun in an earlier epoch counts.
// Unless it gets that far, it writes nothing to the landscape.
//
// It may run twice: the epoch belongs to the workflow execution that began it.
func (a *Activities) ResumeRun(ctx context.Context, in ResumeInput) (Resumed, error) {
	resume := func(inEpoch *Activities, ctx context.Context, in ResumeInput) (resumed Resumed, err error) {
		if resumed.State, err = a.resumeRun(ctx, inEpoch, in); err == nil {
			resumed.Labels, err = a.labelsOf(ctx, in.Run)
		}
		return resumed, err
	}
	return anyAttempt(ctx, a, in.Run, in.Epoch, in, resume)
}

// resumeRun reads with a, and writes with inEpoch what is written after the epoch began.
func (a *Activities) resumeRun(ctx context.Context, inEpoch *Activities, in ResumeInput) (resumepoint.State, error) {
	from, err := a.askOrigin(ctx)
	if err == nil {
		err = a.next(ctx, in, from)
	}
	if err == nil {
		err = a.forget(in.Run)
	}
	if err != nil {
		return resumepoint.State{}, err
	}
	r, err := a.check(ctx, in.Run)
	if err != nil {
		return resumepoint.State{}, a.here(err)
	}
	if err := a.seen(ctx, r); err != nil {
		return resumepoint.State{}, err
	}
	if err := a.checkMarker(ctx, in.Run); err != nil {
		return resumepoint.State{}, err
	}
	pause, err := a.pause(ctx, in)
	if err != nil {
		return resumepoint.State{}, err
	}
	actor, _ := from.who()
	err = a.log.Resume(ctx, landscape.Resumption{
		Run: in.Run, Epoch: in.Epoch, Claim: from.Execution.Execution, Actor: actor, Why: in.Why, Code: a.code, Host: a.host,
	}, from.Execution)
	if err == nil {
		err = a.keepPause(ctx, inEpoch, in, pause)
	}
	if err != nil {
		return resumepoint.State{}, err
	}
	state, err := a.stand(ctx, r) // again: until now, an earlier attempt may have put something on record
	if err != nil {
		return resumepoint.State{}, err
	}
	state.Epoch, state.Plan, state.Pause = in.Epoch, a.bind(r.plan, state.Plan), pause
	a.keep(r)
	return state, inEpoch.openSinks(ctx, r)
}

// next requires that the epoch is the one that comes next, or that the execution has begun it. An execution that repeats an earlier one,
// which had that epoch, may take another one: the error is an *ExistsError then.
func (a *Activities) next(ctx context.Context, in ResumeInput, from *origin) error {
	on, err := a.log.Run(ctx, in.Run)
	switch {
	case err != nil:
		return err
	case on.Epoch < in.Epoch-1:
		return final{TypeInput, fmt.Errorf("the input's resume.epoch is %d, and run %s is in epoch %d: the next is %d", in.Epoch, in.Run, on.Epoch, on.Epoch+1)}
	case on.Epoch < in.Epoch || !from.again:
		return nil
	}
	owners, err := a.log.Executions(ctx, in.Run, in.Epoch)
	if err != nil || len(owners) > 0 && owners[0].Execution == from.Execution.Execution {
		return err
	}
	return a.exists(ctx, on, from, "somebody started it again")
}

// pause returns the pause of the run that outlasts its resuming, if the input says that one does; nil if there is none.
func (a *Activities) pause(ctx context.Context, in ResumeInput) (*resumepoint.Pause, error) {
	if !in.Pause {
		return nil, nil
	}
	since, err := a.resumedAt(ctx, in.Run, in.Epoch-1) // which ended earlier ones
	if err != nil {
		return nil, err
	}
	actions, err := a.log.Actions(ctx, in.Run)
	var pause *resumepoint.Pause
	for _, action := range actions {
		switch {
		case action.Verb == landscape.VerbContinue:
			pause = nil
		case action.Verb == landscape.VerbPause && action.At >= since:
			pause = &resumepoint.Pause{Actor: action.Actor, Why: action.Why}
		}
	}
	return pause, err
}

// resumedAt returns when the run was last resumed, in this epoch or before; 0 if it never was.
func (a *Activities) resumedAt(ctx context.Context, run string, epoch int64) (at landscape.Micros, err error) {
	resumptions, err := a.log.Resumptions(ctx, run)
	for _, r := range resumptions {
		if r.Epoch <= epoch {
			at = r.At
		}
	}
	return at, err
}

// keepPause records that a pause outlasts the resume: a search for the run's pause begins there.
func (a *Activities) keepPause(ctx context.Context, inEpoch *Activities, in ResumeInput, pause *resumepoint.Pause) error {
	if pause == nil {
		return nil
	}
	since, err := a.resumedAt(ctx, in.Run, in.Epoch)
	if err == nil {
		err = inEpoch.log.RecordOrder(ctx, in.Run, landscape.VerbPause, pause.Actor, pause.Why, since)
	}
	return err
}

// Check says why the run cannot be resumed, if it cannot: it is complete or was ended permanently, its document compiles to
// another plan by now, a source changed, or the record contradicts itself. It writes nothing. It is not a method: those
// are activities, which anybody at Temporal starts.
func Check(ctx context.Context, a *Activities, run string) error {
	_, err := a.log.Resumable(ctx, run)
	if err == nil {
		_, err = a.check(ctx, run)
	}
	return err
}

// check compiles the run again, and requires that its sources are what they were, that it may still write to its
// targets, and that its record makes sense.
func (a *Activities) check(ctx context.Context, id string) (*run, error) {
	r, err := a.recall(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.checkSources(ctx, r); err != nil {
		return nil, err
	}
	on, err := a.log.Run(ctx, id)
	if err == nil && on.Version > 0 {
		err = a.taken(ctx, r.plan) // another pipeline may have published there since the run began
	}
	if err != nil {
		return nil, err
	}
	state, err := a.stand(ctx, r)
	if err != nil {
		return nil, err
	}
	return r, a.checkHeaders(ctx, id, state)
}

// stand finds out where the run stands.
func (a *Activities) stand(ctx context.Context, r *run) (resumepoint.State, error) {
	sum, err := resumepoint.PlanOf(r.plan, r.pins)
	if err != nil {
		return resumepoint.State{}, err
	}
	return resumepoint.Find(ctx, a.log.Reader, r.id, sum)
}

// checkHeaders requires that what a source's cursor says of the header is what its last chunk was read with: all rows that follow
// are read with it.
func (a *Activities) checkHeaders(ctx context.Context, run string, state resumepoint.State) error {
	for _, source := range state.Sources {
		if source.Chunk == 0 || len(source.Cursor.Context) == 0 {
			continue
		}
		chunk, err := a.log.Chunk(ctx, run, landscape.ChunkKey{Source: source.Source, Chunk: source.Chunk - 1})
		if err != nil {
			return err
		}
		header, err := recompute.Header(ctx, a.log.Reader, a.payloads, chunk)
		if err != nil {
			return fmt.Errorf("records of %s, chunk %d: %w", chunk.Source, chunk.Chunk, err)
		}
		if header != string(source.Cursor.Context) {
			return resumepoint.Diverged("chunk %d of %s was read with the header %.60q, and the cursor on record continues with %.60q",
				chunk.Chunk, chunk.Source, header, source.Cursor.Context)
		}
	}
	return nil
}

// checkSources requires that the sources are what they were when the run began, if anything of them can still be read. Of what arrived, files that were read may be gone.
func (a *Activities) checkSources(ctx context.Context, r *run) error {
	if accounted, err := a.accounted(ctx, r); err != nil || accounted {
		return err
	}
	for _, i := range r.plan.Sources() {
		node := &r.plan.Nodes[i]
		if r.pins[node.Name].Trigger != "" {
			continue // each of its files is compared with the record when it is read
		}
		now, err := node.Source.Stat(ctx)
		if err != nil {
			return err
		}
		if then := r.pins[node.Name]; !reflect.DeepEqual(now, then) {
			return final{TypeSourceChanged, fmt.Errorf("SOURCE_CHANGED: source %s is not what it was when run %s began: %s; "+
				"put back what was there, or start over with --fork", node.Name, r.id, changes(then, now))}
		}
	}
	return nil
}

// accounted reports whether all rows of a run that people sign off are in its sinks. Nothing of its sources is read again then: what became of them while it
// waited for signatures is not in its outputs.
func (a *Activities) accounted(ctx context.Context, r *run) (bool, error) {
	if r.plan.SignOffs == nil {
		return false, nil
	}
	evaluated, err := a.log.PolicyResults(ctx, r.id)
	if err != nil || evaluated == nil {
		return false, err
	}
	err = a.balanced(ctx, r.id)
	if _, open := errors.AsType[*landscape.ImbalanceError](err); open {
		return false, nil
	}
	return err == nil, err
}

// changes says what differs between two looks at a source.
func changes(then, now plugin.SourceInfo) string {
	before := map[string]plugin.FileInfo{}
	for _, file := range then.Files {
		before[file.Path] = file
	}
	var said []string
	for _, file := range now.Files {
		old, known := before[file.Path]
		delete(before, file.Path)
		switch {
		case !known:
			said = append(said, file.Path+" is new")
		case old != file:
			said = append(said, fmt.Sprintf("%s had %d bytes and was last changed %s, and has %d bytes, changed %s",
				file.Path, old.Bytes, moment(old.ModifiedMicros), file.Bytes, moment(file.ModifiedMicros)))
		}
	}
	for _, file := range then.Files {
		if _, gone := before[file.Path]; gone {
			said = append(said, file.Path+" is gone")
		}
	}
	if said == nil {
		return "its files are in another order"
	}
	return strings.Join(said, "; ")
}

func moment(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.000000 MST")
}

// planDifferenceBytes bounds what an error tells of a changed plan: it travels through workflow history.
const planDifferenceBytes = 2_000

// planDifference shows how two plans differ.
func planDifference(then, now []byte) string {
	return Difference("plan on record", indented(then), "plan now", indented(now), planDifferenceBytes)
}

// Difference shows line by line how a text that has a name differs from what it is now, without the last line's end. Of a long
// difference it shows whole lines, as many as fit into most bytes, and says that there are more.
func Difference(thenName string, then []byte, nowName string, now []byte, most int) string {
	text := strings.TrimSuffix(string(diff.Diff(thenName, then, nowName, now)), "\n")
	if len(text) <= most {
		return text
	}
	return text[:strings.LastIndexByte(text[:most], '\n')+1] + "…"
}

func indented(text []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return text
	}
	out.WriteByte('\n')
	return out.Bytes()
}
