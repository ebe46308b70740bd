package pipeline

import "time"

// ArrivalTrigger begins runs of a deployed pipeline as files arrive: new ones among those that the path of a source matches, or with After those of them that
// another pipeline publishes; or with HTTP as other services post to it. The source of such a run reads what its trigger brought, and nothing else.
type ArrivalTrigger struct {
	Source  string       `yaml:"source" text:"name"`                                       // the source whose path says where files arrive, or that reads what is posted
	After   *Upstream    `yaml:"after,omitempty" json:",omitempty"`                        // only what complete runs of another deployed pipeline published arrives, whole and with its digest
	HTTP    *HTTPTrigger `yaml:"http,omitempty" json:",omitempty"`                         // of a webhook source: other services post to the trigger, and how what they send is verified
	Every   Duration     `yaml:"every,omitempty" json:",omitempty" range:"100ms 1h"`       // how often somebody looks; default 1s, and for files less often while nothing comes, up to 1m
	Quiet   Duration     `yaml:"quiet,omitempty" json:",omitempty" range:"100ms 1d"`       // how long a file has not changed before it counts as arrived; default 5s, and for buckets, where objects appear whole, no time
	Changed string       `yaml:"changed,omitempty" json:",omitempty" words:"again ignore"` // what becomes of a file that changes after it arrived: it arrives again (default), or is ignored
	Batch   Batching     `yaml:"batch,omitempty" json:",omitzero"`                         // how many files, or deliveries, one run gets; default: each gets a run of its own
	AtOnce  int          `yaml:"at_once,omitempty" json:",omitempty" range:"1 100"`        // how many of the trigger's runs go on at a time; default 1: in the order in which files arrived
	Params  Map[string]  `yaml:"params,omitempty" json:",omitempty" text:"exact"`          // parameter → its value in the runs of this trigger
	RunID   string       `yaml:"run_id,omitempty" json:",omitempty" text:"name"`           // a parameter, of type string, that gets the id of the run: so outputs of several runs have names of their own
}

// Upstream names a sink of another pipeline that is deployed in the same environment.
type Upstream struct {
	Pipeline string `yaml:"pipeline" text:"name"` // its name
	Sink     string `yaml:"sink" text:"name"`     // the sink whose outputs arrive; it must write files
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
)
