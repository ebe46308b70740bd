package landscape

import (
	"context"
	"encoding/json"
	"fmt"

	"waymark/pipeline"
)

// TriggerAction is how a trigger became what it is. Stored; never rename one.
type TriggerAction string

// The actions.
const (
	SetTrigger    TriggerAction = "set"    // a version of its pipeline that has it as it is became current
	RemoveTrigger TriggerAction = "remove" // the version that became current does not have it, or the pipeline was retired
	PauseTrigger  TriggerAction = "pause"
	ResumeTrigger TriggerAction = "resume"
)

// Trigger says what a trigger of a deployed pipeline is, until its next row does.
type Trigger struct {
	ID          string        `db:"trigger,key"` // ENVIRONMENT/PIPELINE/NAME
	Seq         int64         `db:"seq,key"`     // from 0; set by Log
	Environment string        `db:"environment"`
	Pipeline    string        `db:"pipeline"`
	Name        string        `db:"name"`
	Action      TriggerAction `db:"action"`
	Spec        string        `db:"spec"`    // JSON: pipeline.ArrivalTrigger
	Version     int64         `db:"version"` // of the pipeline, that has it
	Paused      bool          `db:"paused"`  // what arrives is recorded, and gets no run
	Actor       string        `db:"actor"`
	Why         string        `db:"why"`
	At          Micros        `db:"at_us"` // set by Log
}

// Table returns triggers.
func (Trigger) Table() string { return "triggers" }

// Removed reports whether nobody looks for what arrives any more.
func (t Trigger) Removed() bool { return t.Action == RemoveTrigger }

// Declared returns the trigger in the words of documents.
func (t Trigger) Declared() (declared pipeline.ArrivalTrigger, err error) {
	if err := json.Unmarshal([]byte(t.Spec), &declared); err != nil {
		return declared, fmt.Errorf("trigger %s: %w", t.ID, err)
	}
	return declared, nil
}

// ChangeTrigger appends what change makes of the last row of a trigger, which is nil if there is none. If change returns nil, nothing is
// stored. It is called again if somebody else changed the trigger meanwhile.
func (l *Log) ChangeTrigger(ctx context.Context, id string, change func(last *Trigger) (*Trigger, error)) error {
	err := settle(Trigger{}.Table(), func() error {
		last, err := lastOf[Trigger](ctx, l.from, id)
		if err != nil {
			return err
		}
		next, err := change(last)
		if err != nil || next == nil {
			return err
		}
		row := *next
		row.ID, row.Seq, row.At = id, 0, l.now()
		if last != nil {
			row.Seq = last.Seq + 1
		}
		return l.plain.Commit(ctx, Tx{Insert: []Record{row}})
	})
	if err != nil {
		return fmt.Errorf("trigger %s: %w", id, err)
	}
	return nil
}

// Trigger returns the last row of a trigger. The error wraps ErrNotFound if there is none.
func (r *Reader) Trigger(ctx context.Context, id string) (Trigger, error) {
	last, err := lastOf[Trigger](ctx, r.from, id)
	if err == nil && last == nil {
		err = fmt.Errorf("trigger %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return Trigger{}, err
	}
	return *last, nil
}

// TriggerHistory returns all rows of a trigger, the first one first; nil if there is none.
func (r *Reader) TriggerHistory(ctx context.Context, id string) ([]Trigger, error) {
	return Select[Trigger](ctx, r.from, id)
}

// Triggers returns the last row of every trigger, by id, also of those that were removed; nil if there is none.
func (r *Reader) Triggers(ctx context.Context) ([]Trigger, error) {
	return lastOfEach(ctx, r.from, func(t Trigger) string { return t.ID })
}

// TriggersOf returns the last row of every trigger that a pipeline has, or had, in an environment, by id; nil if there
// is none.
func (r *Reader) TriggersOf(ctx context.Context, environment, pipeline string) ([]Trigger, error) {
	return lastOfPlace(ctx, r.from, environment, pipeline, func(t Trigger) string { return t.ID })
}
