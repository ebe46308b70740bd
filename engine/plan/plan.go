// Package plan compiles a pipeline document into the graph that runs: nodes in order, typed rows along every edge,
// compiled expressions, and the stages that become activities. Validate, run, explain and verify all use the same
// plan; there is no other way to make one.
package plan

import (
	"time"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
	"waymark/pipeline/schema"
	"waymark/plugin"
)

// Kind is the role of a node. Stored; never rename.
type Kind string

// The roles.
const (
	Source Kind = "source"
	Step   Kind = "step"
	Sink   Kind = "sink"
)

// The operations of nodes that are not named by a format. Stored; never rename.
const (
	Set    = "set"
	Rename = "rename"
	Select = "select"
	Drop   = "drop"
	Cast   = "cast"
	Filter = "filter"
	Gate   = "gate"

	Sample      = "sample"
	Fork        = "fork"
	Coalesce    = "coalesce"
	Aggregate   = "aggregate"
	Sort        = "sort"
	Expand      = "expand"
	Deduplicate = "deduplicate"
	Lookup      = "lookup"
)

// How a union settles a field that branches disagree on, which row of a key stays, and what an aggregate makes. These are
// words of the document; never rename.
const (
	CollisionLast  = "last"
	CollisionFirst = "first"
	CollisionFail  = "fail"

	KeepFirst = "first"
	KeepLast  = "last"

	ModeTransform   = "transform"
	ModePassthrough = "passthrough"

	MissingNull   = "null"
	MissingRefuse = "refuse"
)

// DefaultLabel is the route of a gate for labels that have none of their own.
const DefaultLabel = "default"

// Plan is a compiled document. It is immutable and safe for concurrent use.
type Plan struct {
	Document *pipeline.Document
	Nodes    []Node // sources, then steps, then sinks, each in document order
	Lanes    []Lane // the kinds of tokens, see Lane
	Chunk    plugin.Limits
	Policies []Policy // those of the document, then one for each of SignOffs
	SignOffs []string // roles in which a run must be signed off before it publishes anything
	Totals   []Total
	Beside   string // the word that the sinks put into the names of their outputs; "" if they use the document's

	sums []string // figures: the totals at the places where every row has an amount
}

// Node is one vertex of the graph. Fields that do not belong to its kind and operation are zero.
type Node struct {
	Name      string
	Kind      Kind
	Operation string
	Path      string   // of the node in the document, such as steps[2]
	Inputs    []Schema // of the rows that arrive by each edge, in the order of the edges' beginnings
	Out       Schema   // of the rows that leave; for a sink, of the rows that it writes
	Next      int      // index of the node that takes the rows; None if there is none
	Routes    []Route  // of a gate, in document order; of a fork, one for each branch in order: the label is its name
	OnError   Target   // where rejected rows go; of a source, what on_invalid says

	Source plugin.Source
	Sink   plugin.Sink
	Spec   *pipeline.Step  // of a step
	Key    []string        // of a source: the business key
	Unique []string        // of a source: fields with values that may occur once in the run
	Exprs  []*expr.Program // of set: one for each entry of Spec.Set; of filter and gate: one
	Text   string          // of filter and gate: the expression as written
	Errors bool            // of a sink: it takes rejected rows in the shape of ErrorFields, and no others
	Shown  []string        // of a sink: fields that can be disclosed, sorted by their bytes

	Barrier    bool          // tokens end here, and what comes out starts over
	Keeps      bool          // of a barrier: each row that comes out continues for one token
	Context    []Branch      // of a barrier: the open forks of the rows that come out, outermost first
	Coalescing *Coalescing   // of a coalesce
	Batch      *Batch        // of an aggregate, a sort, or a deduplicate that keeps the last
	Table      *plugin.Table // of a lookup
	Totals     []Reading     // for each of the plan's totals
}

// Coalescing is how a coalesce makes one row of the branches of a row.
type Coalescing struct {
	Fork      int      // the node whose branches it merges
	Branches  []string // that it expects, in declared order
	Policy    pipeline.Policy
	Merge     pipeline.Merge
	Collision string        // CollisionLast, CollisionFirst or CollisionFail
	Timeout   time.Duration // after the first arrival; 0: none
	Held      bool          // branches may arrive in different passes: it is a barrier
}

// Batch is how a barrier gathers rows, and what it makes of them.
type Batch struct {
	GroupBy    []string
	Compute    []Computed
	When       *expr.Program // nil: none; sees the computed fields and rows
	Rows       int           // 0: no limit
	Together   bool          // Rows counts those of all open batches, which fire together
	After      time.Duration // 0: none
	ExpectRows int           // 0: any number
	By         []Order       // of a sort
	Top        int           // of a sort; 0: all
}

// Computed is a field whose value comes from all rows of a batch.
type Computed struct {
	Field   string
	Program *expr.BatchProgram
}

// Order is one field by which rows are put in order.
type Order struct {
	Field      string
	Descending bool
}

// None stands for no node.
const None = -1

// Route is one way out of a gate or a fork.
type Route struct {
	Label string
	To    Target
}

// Target is a node, or a reserved word in its place.
type Target struct {
	Node int    // index into Plan.Nodes, None if Word says it
	Word string // pipeline.Discard, Quarantine or Fail; "" if Node says it
}

// Schema describes the rows on an edge.
type Schema struct {
	Fields []expr.Field // declared, in the order in which rows carry them; after a problem of kind row.Null if the kind is open
	Open   bool         // rows may carry others as well

	unknown bool // after a problem: other fields may be declared as well; Open is true
}

// Names returns the names of the declared fields in order.
func (s Schema) Names() []string {
	names := make([]string, len(s.Fields))
	for i, field := range s.Fields {
		names[i] = field.Name
	}
	return names
}

func (s Schema) find(name string) int {
	for i, field := range s.Fields {
		if field.Name == name {
			return i
		}
	}
	return None
}

// Changes reports whether the node's rows have hashes of their own, beside those of records. Sinks and the steps that pass
// rows on as they came have none; and what comes out of a barrier is a record, whose hash is recorded as such.
func (n *Node) Changes() bool {
	if n.Kind != Step {
		return n.Kind == Source
	}
	switch n.Operation {
	case Filter, Gate, Sample, Fork, Deduplicate:
		return false
	}
	return !n.Barrier
}

// Encoder returns an encoder for the rows that reach the sink.
func (n *Node) Encoder() (plugin.Encoder, error) {
	rows := n.written()
	if typed, ok := n.Sink.(plugin.Typed); ok {
		return typed.TypedEncoder(rows.typed(), rows.Open)
	}
	return n.Sink.Encoder(rows.Names(), rows.Open)
}

// written describes the rows that reach the sink.
func (n *Node) written() Schema {
	if n.Errors {
		return rejectedRows()
	}
	return n.Out
}

// Layout returns what is known of the rows that the sink writes with the encoder.
func (n *Node) Layout(encoder plugin.Encoder) schema.Layout {
	rows := n.written()
	columns, layout := rows.typed(), schema.Layout{}
	if tabular, is := encoder.(plugin.Tabular); is {
		columns, layout.Columns = tabular.Columns(), true
	}
	for _, column := range columns {
		i := rows.find(column.Name)
		if i != None && column.Kind == row.Null {
			column.Kind, column.Optional = rows.Fields[i].Kind, rows.Fields[i].Optional
		}
		field := schema.Known{Name: column.Name}
		if i != None && !rows.Fields[i].Untyped && column.Kind != row.Null {
			field.Kinds = schema.Declared(column.Kind, column.Optional)
		}
		layout.Fields = append(layout.Fields, field)
	}
	return layout
}

// typed returns the declared fields as sinks take them.
func (s Schema) typed() []plugin.Field {
	fields := make([]plugin.Field, len(s.Fields))
	for i, field := range s.Fields {
		fields[i] = plugin.Field{Name: field.Name, Kind: field.Kind, Optional: field.Optional}
	}
	return fields
}

// rejectedRows describes the rows with ErrorFields.
func rejectedRows() Schema {
	rows := Schema{}
	for _, name := range ErrorFields {
		field := expr.Field{Name: name, Kind: row.String, Optional: name == "field" || name == "raw" || name == "raw_base64"}
		if name == "row" || name == "line" {
			field.Kind = row.Int
		}
		rows.Fields = append(rows.Fields, field)
	}
	return rows
}

// Sources returns the indexes of the sources in document order.
func (p *Plan) Sources() []int { return p.ofKind(Source) }

// Sinks returns the indexes of the sinks in document order.
func (p *Plan) Sinks() []int { return p.ofKind(Sink) }

func (p *Plan) ofKind(kind Kind) []int {
	var indexes []int
	for i := range p.Nodes {
		if p.Nodes[i].Kind == kind {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// Find returns the index of the node with this name, or None.
func (p *Plan) Find(name string) int {
	for i := range p.Nodes {
		if p.Nodes[i].Name == name {
			return i
		}
	}
	return None
}

// ErrorFields are the fields of a rejected row as a sink of rejected rows gets it: where it was, what was wrong, and its raw
// record. raw is null and raw_base64 is set when the record is not valid UTF-8.
var ErrorFields = []string{"source", "file", "row", "line", "node", "code", "field", "message", "raw", "raw_base64"}
