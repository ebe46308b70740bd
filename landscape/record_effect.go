package landscape

import (
	"cmp"

	"waymark/plugin"
)

// EffectKey names an effect. PublishKey makes the key of a publication.
type EffectKey struct {
	Run    string `db:"run_id,key"`
	Sink   string `db:"sink,key"`
	Source string `db:"source,key"` // empty for a publication
	Chunk  int64  `db:"chunk,key"`  // -1 for a publication
}

// compare orders the keys of the effects of one run.
func (k EffectKey) compare(other EffectKey) int {
	return cmp.Or(cmp.Compare(k.Sink, other.Sink), cmp.Compare(k.Source, other.Source), cmp.Compare(k.Chunk, other.Chunk))
}

// Attempt names an attempt at an effect, and the process that makes it.
type Attempt struct {
	EffectKey
	Fence  int64  // of the attempt, from 1; BeginEffect gives it
	Worker string // the process, for people
}

// Attempt returns the latest attempt at the effect, as one of this worker.
func (e Effect) Attempt(worker string) Attempt {
	return Attempt{EffectKey: e.EffectKey, Fence: e.Fence, Worker: worker}
}

// PublishKey returns the key of the publication of one sink's output.
func PublishKey(run, sink string) EffectKey { return EffectKey{Run: run, Sink: sink, Chunk: -1} }

// Effect is the completion record of one write to one sink, or of one sink's publication.
type Effect struct {
	EffectKey
	Kind    EffectKind  `db:"kind"`
	SHA256  string      `db:"sha256,null"` // hex, of the bytes of a write; empty for a publication
	Rows    int64       `db:"rows,move"`   // 0 while reserved
	Bytes   int64       `db:"bytes,move"`  // 0 while reserved; without headers
	State   EffectState `db:"state,move"`
	Fence   int64       `db:"fence,move"`            // number of attempts begun
	Ordinal *int64      `db:"ordinal,move,null"`     // of the part within the sink; nil until a write is in flight
	Offset  *int64      `db:"byte_offset,move,null"` // of the part's first byte in the whole output
	Receipt string      `db:"receipt,move,null"`     // JSON: what the target answered; set with finalized
	Refused int64       `db:"refused,move"`          // of a finalized write: those of its rows that the target refused
	Changed Micros      `db:"changed_us,move"`
	Beyond  string      `db:"beyond"` // of a write: Write.Beyond
}

// EffectEvent is one thing that happened to an effect.
type EffectEvent struct {
	EffectKey
	Fence  int64      `db:"fence,key"`
	Event  EffectWord `db:"event,key"`
	Worker string     `db:"worker,key"`
	At     Micros     `db:"at_us,key"`
	Detail string     `db:"detail"`
}

// ArtifactRecord is what a sink published.
type ArtifactRecord struct {
	Run       string `db:"run_id,key"`
	Sink      string `db:"sink,key"`
	Path      string `db:"path"`
	Bytes     int64  `db:"bytes"`
	Rows      int64  `db:"rows"`
	SHA256    string `db:"sha256"` // hex
	Published Micros `db:"published_us,first"`
	Latest    string `db:"latest"`     // the name that leads to the output of the latest slot; empty if the sink has none
	StandsFor string `db:"stands_for"` // what is compared to find the latest: the slot that the run is about, else when it was asked for; empty without Latest
	Schema    string `db:"schema"`     // a stored schema.Schema: of the rows that were written
}

// Artifact returns what plugin.Sink's target reported.
func (a ArtifactRecord) Artifact() plugin.Artifact {
	return plugin.Artifact{Path: a.Path, Bytes: a.Bytes, Rows: a.Rows, SHA256: a.SHA256}
}
