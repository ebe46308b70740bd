package resumepoint

import (
	"fmt"

	"waymark/plugin"
)

// State is where a run stands at a moment when no chunk is in flight: all that its workflow must know to go on.
type State struct {
	Plan    Plan           `json:"plan"`
	Epoch   int64          `json:"epoch,omitempty"` // how often the run was resumed
	Sources []Reading      `json:"sources"`         // one for each source of the plan, in its order
	Outputs []Output       `json:"outputs"`         // one for each sink of the plan, in its order
	Held    []BarrierState `json:"held,omitempty"`  // one for each barrier of the plan, in its order
	Progress
	Redo  *Redo  `json:"redo,omitempty"`  // what is recorded beyond this state; nil if nothing is
	Pause *Pause `json:"pause,omitempty"` // of the run that was resumed, and outlasts that; nil if there is none
}

// Pause says by whom a run is paused, and why.
type Pause struct {
	Actor string `json:"actor"`
	Why   string `json:"why"`
}

// Reading is how far a source is read.
type Reading struct {
	Source string        `json:"source"`
	Cursor plugin.Cursor `json:"cursor"`
	Chunk  int64         `json:"chunk"` // ordinal of the next chunk
	AtEnd  bool          `json:"at_end,omitempty"`
}

// Advance notes that this many chunks of the source were read, up to the cursor. None means that the source ends there.
func (r *Reading) Advance(cursor plugin.Cursor, chunks int64) {
	r.Cursor, r.AtEnd = cursor, chunks == 0
	r.Chunk += chunks
}

// BarrierState is how far a barrier is.
type BarrierState struct {
	Barrier  string    `json:"barrier"`
	Folds    int64     `json:"folds"`              // done
	Saved    SavedFold `json:"saved"`              // the latest of its states that is stored
	Rows     int64     `json:"rows"`               // that came out
	Chunks   int64     `json:"chunks"`             // in which they came out
	Passed   int64     `json:"passed"`             // of these chunks
	Deadline int64     `json:"deadline,omitempty"` // when a batch is due, in microseconds since 1970; 0: none is
	Ended    bool      `json:"ended,omitempty"`    // nothing will arrive any more, and nothing is held
}

// Output is where a sink's next part belongs.
type Output struct {
	Ordinal int64 `json:"ordinal"`
	Offset  int64 `json:"offset"`
	Rows    int64 `json:"rows"`
}

// Progress counts rows. Rows in chunks that are in flight are in Read only.
type Progress struct {
	Read    int64 `json:"read"`
	Done    int64 `json:"done"`
	Refused int64 `json:"refused"`
	Bytes   int64 `json:"bytes"` // of decoded source text
}

// Redo orders what was recorded, beyond the state, when the run was resumed. It is done again in the same order, so
// that folds and places in outputs are those on record.
type Redo struct {
	Ticks []Tick `json:"ticks,omitempty"` // deadlines that were acted on, in order
	Turns int64  `json:"turns"`           // no other deadline is acted on before so many chunks of sources had their turns
}

// Next returns the deadline that must be acted on next; nil if there is none, or nothing to be done again.
func (r *Redo) Next() *Tick {
	if r == nil || len(r.Ticks) == 0 {
		return nil
	}
	return &r.Ticks[0]
}

// MayTick reports whether other deadlines may be acted on after so many turns.
func (r *Redo) MayTick(turns int64) bool { return r == nil || turns >= r.Turns && len(r.Ticks) == 0 }

// Tick is a deadline that was acted on.
type Tick struct {
	Turns    int64 `json:"turns"` // so many chunks of sources had had their turns
	Deadline int64 `json:"deadline"`
}

// NewState returns the state of a run of which nothing is read yet.
func NewState(plan Plan) State {
	state := State{Plan: plan, Outputs: make([]Output, len(plan.Sinks))}
	for i, sink := range plan.Sinks {
		state.Outputs[i].Offset = sink.HeaderBytes
	}
	for _, source := range plan.Sources {
		state.Sources = append(state.Sources, Reading{Source: source.Name})
	}
	for _, barrier := range plan.Barriers {
		state.Held = append(state.Held, BarrierState{Barrier: barrier.Name})
	}
	return state
}

// Check says what is wrong with a state that was handed on; nil if a run of its plan could be there.
func (s *State) Check() error {
	fresh := NewState(s.Plan)
	switch {
	case len(s.Outputs) != len(fresh.Outputs):
		return fmt.Errorf("it has %d outputs, and its plan %d sinks", len(s.Outputs), len(fresh.Outputs))
	case len(s.Sources) != len(fresh.Sources):
		return fmt.Errorf("it has %d sources, and its plan %d", len(s.Sources), len(fresh.Sources))
	case len(s.Held) != len(fresh.Held):
		return fmt.Errorf("it has %d barriers, and its plan %d", len(s.Held), len(fresh.Held))
	}
	for i, source := range s.Sources {
		if source.Source != fresh.Sources[i].Source || source.Chunk < 0 {
			return fmt.Errorf("chunk %d of the source %.64q cannot be the next", source.Chunk, source.Source)
		}
	}
	for i, held := range s.Held {
		if held.Barrier != fresh.Held[i].Barrier || held.Passed < 0 || held.Passed > held.Chunks {
			return fmt.Errorf("%d of %d chunks of the barrier %.64q cannot be done",
				held.Passed, held.Chunks, held.Barrier)
		}
	}
	return nil
}

// Next returns the source that is read next: of those that are not at their end the one with the fewest chunks, the
// first of equals; nil if all are at their end.
func (s *State) Next() *Reading {
	var next *Reading
	for i := range s.Sources {
		if reading := &s.Sources[i]; !reading.AtEnd && (next == nil || reading.Chunk < next.Chunk) {
			next = reading
		}
	}
	return next
}

// Place gives a part its place behind those that the sink got before.
func (s *State) Place(sink string, rows, bytes int64) Output {
	for i := range s.Plan.Sinks {
		if s.Plan.Sinks[i].Name == sink {
			output := &s.Outputs[i]
			place := *output
			output.Ordinal++
			output.Offset += bytes
			output.Rows += rows
			return place
		}
	}
	panic("the plan has no sink named " + sink)
}

// SavedFold is the state of a barrier in the payload store.
type SavedFold struct {
	Digest string `json:"digest,omitempty"` // "" before the first is stored
	Folds  int64  `json:"folds,omitempty"`  // after that many folds
}
