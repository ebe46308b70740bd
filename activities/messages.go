package activities

import (
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Inputs and results of the activities. They travel through workflow history: identities, counts, digests and cursors,
// a few hundred bytes each, and never a row, a secret or a file's content. Fields may be added; none may be renamed or
// change its meaning, because histories of older runs are replayed.

// OpenInput starts a run's record. Either Document or Pipeline says what is run.
type OpenInput struct {
	Run      string      `json:"run,omitempty"`
	Document string      `json:"document"` // digest of the document in the payload store
	File     string      `json:"file"`     // name of the document for messages
	Folder   string      `json:"folder"`   // absolute; relative paths in the document refer to it
	Params   Params      `json:"params,omitempty"`
	Actor    string      `json:"actor,omitempty"`   // not believed: set by OpenRun, to what Temporal knows
	Trigger  string      `json:"trigger,omitempty"` // the same
	Parent   string      `json:"parent,omitempty"`  // the run that this one is linked to
	Link     string      `json:"link,omitempty"`    // how: a landscape.Link
	Retry    *RetryInput `json:"retry,omitempty"`   // set if the run feeds records of its parent again; then Link is set by OpenRun

	Why          string `json:"why,omitempty"`      // what the starter gives as the reason, for the record
	Key          string `json:"key,omitempty"`      // under which a service may ask for the run again; it gives the run its id
	For          string `json:"for,omitempty"`      // the slot of time that the run is about, such as 2026-11-21; empty for the one that Scheduled tells, if the document needs one
	ScheduleName string `json:"schedule,omitempty"` // whose slot it is: a schedule of the document; may be empty if that has at most one

	Scheduled string `json:"scheduled,omitempty"` // instant for which a schedule of Temporal started the run, in the form of RFC 3339; the workflow sets it

	Again bool `json:"again,omitempty"` // it has waited for places; the workflow sets that

	Pipeline       string `json:"pipeline,omitempty"`        // name of a deployed pipeline, or NAME@VERSION; then Document, File and Folder are empty
	Version        int64  `json:"version,omitempty"`         // of the deployed pipeline that the Document is of; 0 for a file
	Bundle         string `json:"bundle,omitempty"`          // digest of that version's bundle
	Environment    string `json:"environment,omitempty"`     // in which the pipeline is deployed; empty for the worker's, and for a file
	EnvironmentSeq int64  `json:"environment_seq,omitempty"` // which of its values the run has; 0 for none
	Files          string `json:"files,omitempty"`           // name of the files that the workers must see who do the run; "" leaves it to the document

	Rows []plugin.RequestRows `json:"rows,omitempty"` // that came with the request: the payloads that hold them, by their sources
}

// RetryInput makes a run feed the quarantined records of another one again.
type RetryInput struct {
	Of     string `json:"of"`               // that run
	Beside string `json:"beside,omitempty"` // the word that goes into the names of all outputs; "": they are as the document says
}

// ReadInput asks for the next chunk of a source.
type ReadInput struct {
	Source string        `json:"source"`
	Chunk  int64         `json:"chunk"` // ordinal, from 0
	Cursor plugin.Cursor `json:"cursor"`
	Most   int           `json:"most,omitempty"` // how many chunks may be read, one after the other; 0 is one

	// Shares asks for a survey: Read finds where the shares begin, and leaves it to Pass to read them. Each element is
	// the number of chunks of one share.
	Shares []int `json:"shares,omitempty"`
}

// ReadResult describes the chunk that was read and recorded, and those after it. A result with Done has read no chunk:
// the source is at its end.
type ReadResult struct {
	Rows   int           `json:"rows"`
	Bytes  int64         `json:"bytes"`
	More   []ReadChunk   `json:"more,omitempty"` // the chunks after the first, in order
	Cursor plugin.Cursor `json:"cursor"`         // where the chunk after them begins
	Done   bool          `json:"done,omitempty"`
	Ended  bool          `json:"ended,omitempty"`  // the source is at its end after them, and that is recorded
	Worker string        `json:"worker,omitempty"` // task queue of the process that did it; "" if it works alone

	Seeks  bool    `json:"seeks,omitempty"`  // a survey can continue at Cursor
	Survey bool    `json:"survey,omitempty"` // the chunks were found and not read; if Ended, the end is not recorded
	Shares []Share `json:"shares,omitempty"` // of a survey: the shares in which they are read, in order
}

// Share is chunks that follow each other, and that one activity reads.
type Share struct {
	Chunks int           `json:"chunks"`
	End    plugin.Cursor `json:"end"` // where the chunk after them begins
}

// ReadChunk describes a chunk that was read, or found.
type ReadChunk struct {
	Rows  int   `json:"rows"`
	Bytes int64 `json:"bytes"`
}

// Chunks returns the chunks that were read; nil at the end of the source.
func (out ReadResult) Chunks() []ReadChunk {
	if out.Done {
		return nil
	}
	return append([]ReadChunk{{out.Rows, out.Bytes}}, out.More...)
}

// readResult describes one chunk or several.
func readResult(chunks []ReadChunk, after plugin.Cursor) ReadResult {
	out := ReadResult{Rows: chunks[0].Rows, Bytes: chunks[0].Bytes, Cursor: after}
	if len(chunks) > 1 {
		out.More = chunks[1:]
	}
	return out
}

// Modes in which a chunk goes through the steps. Stored; never rename.
const (
	PassNow   = "now"   // what comes out is recorded
	PassAhead = "ahead" // of its turn: what comes out is kept in memory
	PassTurn  = "turn"  // in its turn: checked against the index of unique values, and recorded
)

// PassInput asks to send a chunk through the steps after its source or barrier.
type PassInput struct {
	Mode   string `json:"mode"`
	Source string `json:"source"` // or barrier
	Chunk  int64  `json:"chunk"`
	Before int64  `json:"before,omitempty"` // in PassTurn: how many chunks of the run, of sources and barriers, had their turns before

	// Unread says where a Share lies that was surveyed and not read. It is set in the share's first chunk only.
	Unread *Unread `json:"unread,omitempty"`
}

// Unread is the place of consecutive chunks in their source.
type Unread struct {
	At  plugin.Cursor `json:"at"`  // where the first begins
	End plugin.Cursor `json:"end"` // where the last ends
}

// PassResult counts the outcomes of the chunk's rows. After PassAhead only Worker is set.
type PassResult struct {
	Rows    int        `json:"rows,omitempty"`
	Refused int        `json:"refused,omitempty"`
	Ended   int        `json:"ended,omitempty"` // filtered or discarded, on record
	Parts   []PartSize `json:"parts,omitempty"` // for the sinks that get at least one row, in document order

	Barriers []string `json:"barriers,omitempty"` // those to which something came, in node order
	Worker   string   `json:"worker,omitempty"`   // task queue of the process that did it; "" if it works alone
	Root     string   `json:"root,omitempty"`     // hex: the root that seals what is recorded of the rows

	// By node, for the metrics of the process that did it. No history has them.
	RefusedBy map[string]int `json:"-"`
	EndedBy   map[string]int `json:"-"`
}

// Write returns the input that writes one part of the chunk to its place in the sink.
func (in PassInput) Write(part PartSize, place resumepoint.Output) WriteInput {
	return WriteInput{
		Source: in.Source, Chunk: in.Chunk, Sink: part.Sink, Ordinal: place.Ordinal, Offset: place.Offset,
	}
}

// PartSize is the size of one chunk's part for one sink.
type PartSize struct {
	Sink  string `json:"sink"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// What a fold takes. Stored; never rename.
const (
	FoldChunk = "chunk" // what came with one chunk
	FoldTick  = "tick"  // a deadline
	FoldEnd   = "end"   // nothing will come any more
)

// FoldInput asks a barrier to take one step.
type FoldInput struct {
	Barrier string                `json:"barrier"`
	Fold    int64                 `json:"fold"` // ordinal, from 0
	Kind    string                `json:"kind"`
	Source  string                `json:"source,omitempty"` // of the chunk: a source or barrier
	Chunk   int64                 `json:"chunk,omitempty"`
	At      int64                 `json:"at"`              // the moment, in microseconds since 1970
	Turns   int64                 `json:"turns,omitempty"` // so many chunks of sources had their turns before
	Saved   resumepoint.SavedFold `json:"saved"`           // an earlier state, from which the present one can be made
	Rows    int64                 `json:"rows"`            // that came out before
	Chunks  int64                 `json:"chunks"`          // in which they came out
}

// FoldResult says what the step gave.
type FoldResult struct {
	Rows     int64                 `json:"rows"`               // that came out
	Chunks   int64                 `json:"chunks"`             // in which they came out
	Deadline int64                 `json:"deadline,omitempty"` // when a batch is due, in microseconds since 1970; 0: none is
	Saved    resumepoint.SavedFold `json:"saved"`              // with a digest if the state was stored
	Worker   string                `json:"worker,omitempty"`   // task queue of the process that did it; "" if it works alone
}

// WriteInput asks to write one chunk's part to one sink, at its place.
type WriteInput struct {
	Source  string `json:"source"`
	Chunk   int64  `json:"chunk"`
	Sink    string `json:"sink"`
	Ordinal int64  `json:"ordinal"` // of the part in the sink, from 0
	Offset  int64  `json:"offset"`  // of its first byte in the output
}

// WriteResult counts the rows of the part by what the target did with them.
type WriteResult struct {
	Rows    int64 `json:"rows,omitempty"`    // of the part that the target holds
	Refused int64 `json:"refused,omitempty"` // rows of the part that the target rejected, and that no node had rejected before
}

// PublishInput names a sink whose output is to be published.
type PublishInput struct {
	Sink string `json:"sink"`
}

// Ending is what a run that is complete made of its rows, for the programs that started it. It is bounded: the record
// has all of it.
type Ending struct {
	Outputs []Output `json:"outputs,omitempty"` // by sink, the first MaxOutputs
	// RefusedBy is by which codes tokens were refused, the most frequent first, MaxRefusedBy at most.
	RefusedBy []Refusal `json:"refused_by,omitempty"`
	// Partial says that there are more outputs, codes or refused tokens than were looked at.
	Partial bool `json:"partial,omitempty"`
}

// Output is what a sink published.
type Output struct {
	Sink   string `json:"sink"`
	Path   string `json:"path"` // a path, or a URI without secrets
	SHA256 string `json:"sha256"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
}

// Refusal is how many tokens were refused for one reason.
type Refusal struct {
	Code string `json:"code"`
	Rows int64  `json:"rows"`
}

// FinishInput names a run that is to be concluded.
type FinishInput struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"`

	Sinks   []string `json:"sinks,omitempty"`   // whose outputs are published first
	Queue   string   `json:"queue,omitempty"`   // of the workers that see the run's files; "" if any will do
	Joiners []string `json:"joiners,omitempty"` // ids of workflows that wait for the run's end
}

// FinishResult is how the run ended.
type FinishResult struct {
	Status    pipeline.RunStatus `json:"status"`
	Published []string           `json:"published,omitempty"` // sinks whose outputs were published first
	Ending
	Labels Labels `json:"labels,omitzero"`
}

// StopInput ends a run that cannot go on.
type StopInput struct {
	Run    string             `json:"run"`
	Epoch  int64              `json:"epoch,omitempty"`
	Status pipeline.RunStatus `json:"status"`
	Reason string             `json:"reason"`
	Final  bool               `json:"final,omitempty"` // of a cancelled run: nobody may resume it
	Actor  string             `json:"actor,omitempty"` // who made it final
	Why    string             `json:"why,omitempty"`

	Queue string `json:"queue,omitempty"` // of the workers that see the run's files; "" if any will do

	// Outside is set if the workflow was cancelled in Temporal. If another run has taken the place of this one, the
	// recorded command gives the reason.
	Outside bool `json:"outside,omitempty"`

	Begin   *OpenInput `json:"begin,omitempty"`   // of a run that may not have begun: the start that is refused then; nil if it has
	Refusal string     `json:"refusal,omitempty"` // type of the error that stops it

	Joiners []string `json:"joiners,omitempty"` // ids of workflows that wait for the run's end
}

// ResumeInput resumes a run that is recorded.
type ResumeInput struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch"`           // the one to begin: one more than that on record
	Actor string `json:"actor,omitempty"` // not believed: the record has what Temporal knows
	Why   string `json:"why,omitempty"`
	Files string `json:"files,omitempty"` // name of the files that were seen where the run began; "" if that is of no concern
	Pause bool   `json:"pause,omitempty"` // nobody asked for it: a pause of the run outlasts it
}

// Verbs of the actions that cancel a run permanently, and that interrupt the process which executes it. The verbs of other
// commands are their names.
const (
	CancelForGood = landscape.VerbCancelFinal
	Interrupt     = landscape.VerbInterrupt
)

// ActionInput is what somebody ordered.
type ActionInput struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"`
	Verb  string `json:"verb"`
	Actor string `json:"actor"`
	Why   string `json:"why"`
	At    int64  `json:"at"` // when the order came, in microseconds since 1970: an order that is recorded since then is not recorded again
}
