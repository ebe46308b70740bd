package workflows

import (
	"waymark/activities/resumepoint"
	"waymark/internal/temporal/attributes"
	"waymark/pipeline"
)

// State is everything a run's workflow knows, at a moment when no chunk is in flight. It is all that is handed on when
// the run continues as new.
type State struct {
	resumepoint.State
	Paused *Command `json:"paused,omitempty"` // by whom and why; nil if the run is not paused
	Sticky string   `json:"sticky,omitempty"` // queue of the process that reads the sources and folds; "" if it works alone

	Overridden map[string]string `json:"overridden,omitempty"` // by name of a parameter, what the run's slot gives where the input has another value

	Joiners []string `json:"joiners,omitempty"` // ids of workflows that wait for the run's end

	ended string // how the run ended; empty while it has not
}

// status is the state of a run, as Temporal shows it.
func (s *State) status() string {
	switch {
	case s.ended != "":
		return s.ended
	case s.Paused != nil:
		return attributes.Paused
	default:
		return string(pipeline.Running)
	}
}

// chunks returns how many chunks of sources were read.
func (s *State) chunks() int64 {
	var chunks int64
	for i := range s.Sources {
		chunks += s.Sources[i].Chunk
	}
	return chunks
}

// derived returns how many chunks that came out of barriers went through the steps.
func (s *State) derived() int64 {
	var chunks int64
	for i := range s.Held {
		chunks += s.Held[i].Passed
	}
	return chunks
}

// done reports whether all sources are at their end and all barriers are empty.
func (s *State) done() bool {
	for i := range s.Held {
		if !s.Held[i].Ended || s.Held[i].Passed < s.Held[i].Chunks {
			return false
		}
	}
	return s.Next() == nil
}

// deadline returns the earliest moment at which a batch is due; 0 if none is.
func (s *State) deadline() int64 {
	var earliest int64
	for i := range s.Held {
		if at := s.Held[i].Deadline; at != 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	return earliest
}
