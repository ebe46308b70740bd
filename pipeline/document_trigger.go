package pipeline

import "time"

// ArrivalTrigger begins runs of a deployed pipeline as files arrive: new ones among those that the path of a source matches, or with After those of them that
// another pipeline publishes; or with Rows as rows of a table are written; or with HTTP as other services post to it. The source of such a run reads what its trigger brought, and nothing else.
type ArrivalTrigger struct {
	Source  string       `yaml:"source" text:"name"`                                       // the source whose path says where files arrive, or that reads what is posted
	After   *Upstream    `yaml:"after,omitempty" json:",omitempty"`                        // only what complete runs of another deployed pipeline published arrives, whole and with its digest
	Rows    *RowTrigger  `yaml:"rows,omitempty" json:",omitempty"`                         // of a postgres source: rows that are added to its table, or change there, arrive
	HTTP    *HTTPTrigger `yaml:"http,omitempty" json:",omitempty"`                         // of a webhook source: other services post to the trigger, and how what they send is verified
	Every   Duration     `yaml:"every,omitempty" json:",omitempty" range:"100ms 1h"`       // how often somebody looks; default 1s, and for files less often while nothing comes, up to 1m
	Quiet   Duration     `yaml:"quiet,omitempty" json:",omitempty" range:"100ms 1d"`       // how long a file has not changed before it counts as arrived; default 5s, and for buckets, where objects appear whole, no time
	Changed string       `yaml:"changed,omitempty" json:",omitempty" words:"again ignore"` // what becomes of a file that changes after it arrived: it arrives again (default), or is ignored
	Batch   Batching     `yaml:"batch,omitempty" json:",omitzero"`                         // how many files, deliveries, or pages of rows one run gets; default: each gets a run of its own
	AtOnce  int          `yaml:"at_once,omitempty" json:",omitempty" range:"1 100"`        // how many of the trigger's runs go on at a time; default 1: in the order in which files arrived
	Params  Map[string]  `yaml:"params,omitempty" json:",omitempty" text:"exact"`          // parameter → its value in the runs of this trigger
	RunID   string       `yaml:"run_id,omitempty" json:",omitempty" text:"name"`           // a parameter, of type string, that gets the id of the run: so outputs of several runs have names of their own
}

// Upstream names a sink of another pipeline that is deployed in the same environment.
type Upstream struct {
	Pipeline string `yaml:"pipeline" text:"name"` // its name
	Sink     string `yaml:"sink" text:"name"`     // the sink whose outputs arrive; it must write files
}

// RowTrigger says how rows of a table that are new, or have changed, are known: they come behind those that arrived before.
type RowTrigger struct {
	By     []string `yaml:"by" text:"name"`                                      // columns that put rows in the order in which they were written, no two rows alike: one of type xid8 or timestamptz, and a key
	Settle Duration `yaml:"settle,omitempty" json:",omitempty" range:"100ms 1d"` // how old the moment in the first of them, a timestamptz, is when a row arrives: longer than transactions that write the table take
	Most   int      `yaml:"most,omitempty" json:",omitempty" range:"1 100000"`   // how many rows arrive together at most; default 10000
}

// Batching says how many files, or deliveries, one run gets.
type Batching struct {
	Files int      `yaml:"files" range:"1 10000"`                             // at most so many
	Wait  Duration `yaml:"wait,omitempty" json:",omitempty" range:"100ms 1d"` // how long the first of fewer files waits for others; default 2s
}

// Defaults of triggers.
const (
	DefaultTriggerEvery = time.Second
	DefaultTriggerQuiet = 5 * time.Second
	DefaultTriggerWait  = 2 * time.Second
	DefaultTriggerRows  = 10_000
)
