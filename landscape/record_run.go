package landscape

import (
	"fmt"

	"waymark/pipeline"
	"waymark/plugin"
)

// RunHead is what a list of runs shows.
type RunHead struct {
	ID             string             `db:"run_id,key"`
	Pipeline       string             `db:"pipeline"`
	Version        int64              `db:"version"`         // the deployed one that it is a run of; 0 if it is of a file
	Environment    string             `db:"environment"`     // in which it is deployed; empty if it is of a file
	EnvironmentSeq int64              `db:"environment_seq"` // which of the values of that it has; 0 if it has none
	DocumentSHA256 string             `db:"document_sha256"` // lower-case hex
	PlanSHA256     string             `db:"plan_sha256"`     // lower-case hex
	Code           string             `db:"code"`            // version of the program
	Actor          string             `db:"actor"`           // who started it
	Trigger        string             `db:"trigger"`         // cli, api, schedule …
	Host           string             `db:"host,first"`
	BaseDir        string             `db:"base_dir"` // folder that relative paths of the document start from
	Started        Micros             `db:"started_us,first"`
	Epoch          int64              `db:"epoch,move"` // how often it was resumed
	Status         pipeline.RunStatus `db:"status,move"`
	Final          bool               `db:"final,move"`            // cancelled permanently: nobody may resume it
	Finished       Micros             `db:"finished_us,move,null"` // zero while it runs
	Reason         string             `db:"reason,move"`           // one sentence for people; empty while it runs
}

// Recorded says, for a sentence, that the run is recorded, and what it is.
func (r RunHead) Recorded() string {
	begun := r.Started.Time().UTC().Format("2006-01-02 15:04:05.000000 MST")
	return fmt.Sprintf("run %s is recorded: %s of %s, begun %s by %s (%s)", r.ID, r.Status, r.Pipeline, begun, r.Actor, r.Trigger)
}

// Run is one run of one pipeline document. Log sets Started, Epoch, Status, Final, Finished and Reason.
type Run struct {
	RunHead
	File     string `db:"document_file"` // name of the document, absolute or relative to BaseDir
	Parent   string `db:"parent_run"`    // the run that this one is linked to; empty if none
	Link     Link   `db:"link"`
	Document string `db:"document"` // as read, without secrets: references are not resolved
	Plan     string `db:"plan"`     // JSON
	Params   string `db:"params"`   // JSON object: name to value in force
	Refs     string `db:"refs"`     // JSON array: names and fingerprints of env and secret references, never values
}

// Node is one node of a run's graph. Sources, steps and sinks share one name space.
type Node struct {
	Run         string               `db:"run_id,key"`
	Node        string               `db:"node,key"`
	Seq         int64                `db:"seq"` // from 0, in document order
	Kind        NodeKind             `db:"kind"`
	Operation   string               `db:"operation"` // csv, set, gate …
	Config      string               `db:"config"`    // JSON
	Determinism pipeline.Determinism `db:"determinism"`
	Guarantee   plugin.Guarantee     `db:"guarantee"` // of a sink; empty for others
	Hashes      HashMode             `db:"hashes"`    // sources: own, sinks: input, barriers: record
}

// Edge is one way out of a node. The edges of a run are the whole truth about where its tokens may go: the sweep
// compares every way with them. What ends at a node has no edge: the drop of a filter, a fork's parent, a token that a
// barrier or a coalesce takes.
type Edge struct {
	Run   string   `db:"run_id,key"`
	From  string   `db:"from_node,key"`
	Kind  EdgeKind `db:"kind,key"`
	Label string   `db:"label,key"` // of a route: the gate's label or the fork's branch; else empty
	To    string   `db:"to_node"`   // a node, pipeline.Discard or pipeline.Quarantine
}

// Source is an origin of a run: a source, with what it held when the run began, or a barrier, whose rows that come out
// are read in chunks as a source's are.
type Source struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Info   string `db:"info"` // of a source: plugin.SourceInfo as JSON; of a barrier: {}
}

// Lane is one kind of token: the record itself (a root lane), the copy of a token that a fork sent down a branch,
// or what a coalesce made of branches. A chunk has at most one token for each row and lane. Every origin has one root
// lane; a run of one source whose graph has no forks has the one lane 0.
type Lane struct {
	Run    string `db:"run_id,key"`
	Lane   int64  `db:"lane,key"`    // from 0, as in plan.Lanes
	Source string `db:"source"`      // the origin
	Name   string `db:"name"`        // what follows source:row/ in the ids of its tokens; empty for a root lane
	Parent *int64 `db:"parent,null"` // the lane in which the fork was executed; nil for a root lane
	Node   string `db:"node"`        // the fork or the coalesce that makes its tokens; empty for a root lane
	Branch string `db:"branch"`      // of a fork's lane; else empty
	Fork   string `db:"fork"`        // the fork whose branch it is, or whose branches the coalesce merges; empty for a root lane
}

// LookupTable is what a lookup read its table from.
type LookupTable struct {
	Run    string `db:"run_id,key"`
	Node   string `db:"node,key"`
	Path   string `db:"path"`
	SHA256 string `db:"sha256"` // hex, of its bytes; the digest of the payload that holds them
	Bytes  int64  `db:"bytes"`
	Rows   int64  `db:"rows"`
}

// SourceEnd is recorded when a source was read to its end, and for a barrier with its last fold.
type SourceEnd struct {
	Run      string `db:"run_id,key"`
	Source   string `db:"source,key"`
	Chunks   int64  `db:"chunks"`
	Rows     int64  `db:"rows"`
	Blank    int64  `db:"blank"`    // blank lines: counted, not rows
	Comments int64  `db:"comments"` // comment lines: counted, not rows
	Bytes    int64  `db:"bytes"`    // of decoded text
	Digests  string `db:"digests"`  // JSON array: SHA-256 of every file's own bytes, in reading order
	Ended    Micros `db:"ended_us,first"`
}

// Resumption is one time that a run was resumed.
type Resumption struct {
	Run   string             `db:"run_id,key"`
	Epoch int64              `db:"epoch,key"` // that began with it, from 1
	Claim string             `db:"claim"`     // who resumed it, as nobody else calls himself, such as a Temporal run id
	Was   pipeline.RunStatus `db:"was"`       // set by Log
	Actor string             `db:"actor"`
	Why   string             `db:"why"`
	Code  string             `db:"code"` // version of the program
	Host  string             `db:"host,first"`
	At    Micros             `db:"at_us,first"` // set by Log
}

// RetriedRow is a quarantined record of a run that a linked run retries. A record is retried by one run at most.
type RetriedRow struct {
	Parent string `db:"parent_run,key"` // the run that refused it; Log sets it
	Source string `db:"source,key"`
	Row    int64  `db:"row,key"` // of the source in the parent
	Run    string `db:"run_id"`  // the run that feeds it again; Log sets it
}

// Action is what a person, or something that acts for one, did to a run.
type Action struct {
	Run   string `db:"run_id,key"`
	Seq   int64  `db:"seq,key"` // from 0
	Verb  string `db:"verb"`    // resume, cancel, export …
	Actor string `db:"actor"`
	Why   string `db:"why"`
	At    Micros `db:"at_us"`
}

// RunEvent is what happened to a run as a whole.
type RunEvent struct {
	Run    string `db:"run_id,key"`
	Seq    int64  `db:"seq,key"` // from 0
	Event  string `db:"event"`
	Detail string `db:"detail"`
	At     Micros `db:"at_us"`
}

// Heal is a poisoned payload that was replaced by good bytes. Payloads are shared by runs: a heal belongs to none.
type Heal struct {
	Digest   string `db:"digest,key"` // 64 lower-case hex digits
	At       Micros `db:"at_us,key"`
	Reason   string `db:"reason"`
	SetAside string `db:"set_aside"` // where the poisoned object is kept
}
