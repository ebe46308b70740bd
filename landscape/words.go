package landscape

import "time"

// Link says why a run comes of another one. Stored; never rename.
type Link string

// The links.
const (
	NoLink    Link = ""
	ForkLink  Link = "fork"  // the present document from the beginning, instead of the parent
	RetryLink Link = "retry" // quarantined records of the parent
)

// NodeKind says where in the graph a node stands. Stored; never rename.
type NodeKind string

// The kinds of nodes.
const (
	SourceNode NodeKind = "source"
	StepNode   NodeKind = "step"
	SinkNode   NodeKind = "sink"
)

// HashMode says where the output hashes of a node's rows are found. Stored; never rename.
type HashMode string

// The modes.
const (
	OwnHashes    HashMode = "own"    // the node may change rows: it has hashes of its own
	InputHashes  HashMode = "input"  // the node passes rows on as they are: the output hash is the input hash
	RecordHashes HashMode = "record" // the node is a barrier: the output hash of a row that comes out is that of its record
)

// EdgeKind says when a token takes an edge. Stored; never rename.
type EdgeKind string

// The kinds of edges.
const (
	FlowEdge  EdgeKind = "flow"  // whenever the node is done with it; the label is empty
	RouteEdge EdgeKind = "route" // if the gate gave it this label; from a fork: always, a copy for each branch
	ErrorEdge EdgeKind = "error" // if the node refused it; the label is empty
	BeginEdge EdgeKind = "begin" // a count's, of no graph: the token begins there
	EndEdge   EdgeKind = "end"   // a count's, of no graph: the token ends there, without a sink
)

// FoldKind says what a barrier was told. Stored; never rename.
type FoldKind string

// The kinds of folds.
const (
	ChunkFold FoldKind = "chunk" // the rows that came from one chunk
	TickFold  FoldKind = "tick"  // a moment has passed
	EndFold   FoldKind = "end"   // nothing more will come
)

// MergeResult says what a coalesce made of branches. Stored; never rename.
type MergeResult string

// The results of a merge.
const (
	MergeMerged   MergeResult = "merged"  // a token that continues
	MergeRejected MergeResult = "refused" // a token that the coalesce refused
	MergeNothing  MergeResult = "nothing" // no token: no branch arrived
)

// EffectKind says what an effect does. Stored; never rename.
type EffectKind string

// The kinds of effects.
const (
	WriteEffect   EffectKind = "write"   // writes the rows of one chunk to one sink
	PublishEffect EffectKind = "publish" // makes the whole output of one sink visible
)

// EffectState is how far an effect is. Stored; never rename.
type EffectState string

// The states of an effect, in order.
const (
	Reserved  EffectState = "reserved"  // it will be needed
	Prepared  EffectState = "prepared"  // what will be written is known
	InFlight  EffectState = "in_flight" // an attempt may have touched the target
	Finalized EffectState = "finalized" // the target confirmed; final
	Blocked   EffectState = "blocked"   // the target cannot tell what happened: a person must decide
)

// EffectWord is what happened to an effect. Stored; never rename.
type EffectWord string

// The events of a run that processes logged about it. Stored; never rename.
const (
	LoggedWarning = "warning"
	LoggedError   = "error"
)

// The events of an effect.
const (
	EffectBegan      EffectWord = "began"
	EffectFinalized  EffectWord = "finalized"
	EffectFenced     EffectWord = "fenced" // an attempt came back after a later one had begun, and was refused
	EffectFailed     EffectWord = "failed"
	EffectReconciled EffectWord = "reconciled" // the target was asked; the detail is its answer
	EffectResolved   EffectWord = "resolved"   // a person said what happened; the detail is applied or not_applied
)

// Micros is a moment: microseconds since 1970-01-01 UTC. Zero is "not yet".
type Micros int64

// MicrosOf returns t to the microsecond, rounded down; the zero time is zero.
func MicrosOf(t time.Time) Micros {
	if t.IsZero() {
		return 0
	}
	return Micros(t.UnixMicro())
}

// Time returns m as a time in UTC; zero is the zero time.
func (m Micros) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}
