package history

import "waymark/internal/strictjson"

// Snapshot is what a history adds up to. Lists are sorted by name; none is nil.
type Snapshot struct {
	Run      Run       `json:"run"`
	Sources  []Source  `json:"sources"`
	Refused  []Refusal `json:"refused"`
	Barriers []Barrier `json:"barriers"`
	Sinks    []Sink    `json:"sinks"`
	Outputs  []Output  `json:"outputs"`
	Events   int64     `json:"events"` // how many there were
	Head     string    `json:"head"`   // SHA-256 of the last line; empty if there was none
}

// Run is how a run stands.
type Run struct {
	ID       string `json:"run_id"`
	Pipeline string `json:"pipeline"`
	Status   string `json:"status"` // running until it ended
	Reason   string `json:"reason"`
	Resumed  int64  `json:"resumed"` // times
	Began    string `json:"began"`
	Ended    string `json:"ended"` // empty until then
}

// Source is what a source, or a barrier, gave.
type Source struct {
	Source string `json:"source"`
	Chunks int64  `json:"chunks"`
	Rows   int64  `json:"rows"`
	Ended  bool   `json:"ended"` // it was read to its end; never of a barrier
}

// Refusal counts the rows that a node refused with one code.
type Refusal struct {
	Node   string `json:"node"`
	Code   string `json:"code"`
	SentTo string `json:"sent_to"`
	Rows   int64  `json:"rows"`
}

// Barrier counts the batches of a barrier that fired.
type Barrier struct {
	Node    string `json:"node"`
	Batches int64  `json:"batches"`
	Rows    int64  `json:"rows"`
}

// Sink is what the target of a sink confirmed.
type Sink struct {
	Sink    string `json:"sink"`
	Parts   int64  `json:"parts"` // confirmed
	Rows    int64  `json:"rows"`  // of these parts
	Bytes   int64  `json:"bytes"`
	Refused int64  `json:"refused"` // rows of these parts that the target refused
	Open    int64  `json:"open"`    // effects that are not confirmed
}

// Output is what a sink published.
type Output struct {
	Sink      string `json:"sink"`
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Rows      int64  `json:"rows"`
	SHA256    string `json:"sha256"`
	Published string `json:"published"`
}

// Encode returns the snapshot as one line of JSON, with its line end: always the same for the same snapshot.
func (s *Snapshot) Encode() ([]byte, error) {
	return strictjson.Encode(s)
}
