package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Description is a plan as people and machines read it: the result of `waymark plan`, and what a run's record keeps. It
// holds no secret.
type Description struct {
	Pipeline  string               `json:"pipeline"`
	Document  string               `json:"document_sha256"`
	Canonical string               `json:"canonical_form"`
	ChunkRows int                  `json:"chunk_rows"`
	ChunkSize int                  `json:"chunk_bytes"`
	Params    map[string]string    `json:"params,omitempty"`
	Inputs    []pipeline.Reference `json:"references,omitempty"`
	Beside    string               `json:"beside,omitempty"` // the word in the names of all outputs
	Nodes     []NodeDescription    `json:"nodes"`
	Edges     []EdgeDescription    `json:"edges"`
	Stages    []Stage              `json:"stages"`
	Lanes     []LaneDescription    `json:"lanes,omitempty"`    // nil if every token is a record of a source
	Policies  []PolicyDescription  `json:"policies,omitempty"` // in document order
	Totals    []TotalDescription   `json:"totals,omitempty"`   // in document order
	Attest    *AttestDescription   `json:"attest,omitempty"`   // nil if outputs are not read again unless somebody asks

	// Retention says by class how long it is kept at least, as time.ParseDuration reads it; nil if the document does
	// not say.
	Retention map[string]string `json:"retention,omitempty"`
}

// AttestDescription says when the outputs of a complete run are read again: lengths of time as time.ParseDuration reads them.
type AttestDescription struct {
	Every string `json:"every"`
	For   string `json:"for"`
}

// NodeDescription describes one node.
type NodeDescription struct {
	Name        string               `json:"name"`
	Kind        Kind                 `json:"kind"`
	Operation   string               `json:"operation"`
	Determinism pipeline.Determinism `json:"determinism"`
	Version     int                  `json:"version,omitempty"`   // of the source's or sink's plugin; left out if it is 1
	Guarantee   plugin.Guarantee     `json:"guarantee,omitempty"` // of a sink
	Location    string               `json:"location,omitempty"`  // of a sink
	OnError     string               `json:"on_error,omitempty"`
	Fields      []string             `json:"fields,omitempty"` // of the rows that leave, as name:type
	Open        bool                 `json:"open,omitempty"`   // rows may carry other fields as well
	Hashes      string               `json:"hashes"`           // one of the words below
	Config      json.RawMessage      `json:"config,omitempty"`
	Table       *TableDescription    `json:"table,omitempty"` // of a lookup
}

// TableDescription says which table a lookup has.
type TableDescription struct {
	SHA256 string `json:"sha256"` // of the file, lower-case hex
	Rows   int64  `json:"rows"`
}

// EdgeDescription is one way from node to node. To may be a reserved word: discard or quarantine.
type EdgeDescription struct {
	From  string   `json:"from"`
	Kind  EdgeKind `json:"kind"`
	Label string   `json:"label,omitempty"` // of a route; of a fork's edge, the branch
	To    string   `json:"to"`
}

// EdgeKind says when a row takes an edge. Stored; never rename.
type EdgeKind string

// The kinds of edges.
const (
	Flow    EdgeKind = "flow"  // whenever the node is done with it
	ByRoute EdgeKind = "route" // if the gate gave it this label, or as the fork's copy for this branch
	OnError EdgeKind = "error" // if the node rejected it
)

// Words for NodeDescription.Hashes. Stored; never rename.
const (
	HashesOwn    = "own"    // the node's rows have hashes of their own
	HashesInput  = "input"  // it passes rows on as they came
	HashesRecord = "record" // what comes out of the barrier is a record, whose hash is that of the row
)

// Describe returns the description. Equal plans have equal descriptions.
func (p *Plan) Describe() Description {
	doc := p.Document
	d := Description{
		Pipeline: doc.Pipeline.Name, Document: doc.Digest, Canonical: row.CanonicalVersion,
		ChunkRows: p.Chunk.Rows, ChunkSize: p.Chunk.Bytes, Inputs: inputs(doc.References), Beside: p.Beside,
	}
	if len(doc.Params) > 0 {
		d.Params = map[string]string{}
	}
	for name, value := range doc.Params {
		d.Params[name] = string(row.AppendText(nil, value))
	}
	for i := range p.Nodes {
		d.Nodes = append(d.Nodes, p.describeNode(&p.Nodes[i]))
		d.Edges = append(d.Edges, p.edges(&p.Nodes[i])...)
	}
	if attest := doc.Pipeline.Attest; attest != nil {
		d.Attest = &AttestDescription{attest.Every.String(), attest.For.String()}
	}
	d.Retention = describeRetention(doc.Pipeline.Retention)
	d.Stages, d.Lanes, d.Policies, d.Totals = p.stages(), p.describeLanes(), p.describePolicies(), p.describeTotals()
	return d
}

func describeRetention(r *pipeline.Retention) map[string]string {
	if r == nil {
		return nil
	}
	by := map[string]string{}
	for _, class := range r.Classes() {
		by[class.Name] = class.Value.String()
	}
	return by
}

// inputs are the references without where their values came from: the same value is the same plan.
func inputs(references []pipeline.Reference) []pipeline.Reference {
	plain := slices.Clone(references)
	for i := range plain {
		plain[i].From = ""
	}
	return plain
}

// Digest returns the lower-case hex SHA-256 of the plan's description: two runs with the same digest mean the same.
func (p *Plan) Digest() string {
	sum := sha256.Sum256(p.JSON())
	return hex.EncodeToString(sum[:])
}

// JSON returns the description as JSON.
func (p *Plan) JSON() []byte {
	text, err := json.Marshal(p.Describe())
	if err != nil {
		panic(fmt.Sprintf("plan: description of %s: %v", p.Document.File, err)) // strings, numbers and valid JSON only
	}
	return text
}

func (p *Plan) describeNode(node *Node) NodeDescription {
	d := NodeDescription{
		Name: node.Name, Kind: node.Kind, Operation: node.Operation, Determinism: node.determinism(),
		OnError: p.targetName(node.OnError), Open: node.Out.Open, Hashes: HashesInput, Config: p.config(node),
	}
	switch {
	case node.Barrier:
		d.Hashes = HashesRecord
	case node.Changes():
		d.Hashes = HashesOwn
	}
	if node.Table != nil {
		d.Table = &TableDescription{node.Table.SHA256, node.Table.Rows}
	}
	if version := node.version(); version != 1 {
		d.Version = version
	}
	if node.Kind == Sink {
		d.Guarantee, d.Location, d.OnError = node.Sink.Guarantee(), p.Document.Redact(node.Sink.Location()), ""
	}
	for _, field := range node.Out.Fields {
		word := field.Name + ":" + field.Kind.String()
		if field.Optional {
			word += "?"
		}
		d.Fields = append(d.Fields, word)
	}
	return d
}

// version returns the version of the node's plugin: 1 if it does not say, and for a step.
func (n *Node) version() int {
	if n.Kind == Sink {
		return plugin.VersionOf(n.Sink)
	}
	return plugin.VersionOf(n.Source)
}

func (n *Node) determinism() pipeline.Determinism {
	switch n.Kind {
	case Source:
		return n.Source.Determinism()
	case Sink:
		return n.Sink.Determinism()
	default:
		return n.stepDeterminism()
	}
}

// stepDeterminism says what a step depends on beside its rows: a seed, the content of a table, or the moments at which
// batches end, all of which are recorded.
func (n *Node) stepDeterminism() pipeline.Determinism {
	switch {
	case n.Operation == Sample:
		return pipeline.Seeded
	case n.Operation == Lookup, n.Batch != nil && n.Batch.After > 0, n.Coalescing != nil && n.Coalescing.Held && n.Coalescing.Timeout > 0:
		return pipeline.ReadsIO
	}
	return pipeline.Deterministic
}

func (p *Plan) targetName(target Target) string {
	if target.Node != None {
		return p.Nodes[target.Node].Name
	}
	return target.Word
}

func (p *Plan) edges(node *Node) []EdgeDescription {
	var edges []EdgeDescription
	add := func(kind EdgeKind, label, to string) {
		edges = append(edges, EdgeDescription{node.Name, kind, label, to})
	}
	for _, route := range node.Routes {
		add(ByRoute, route.Label, p.targetName(route.To))
	}
	if len(node.Routes) == 0 && node.Next != None {
		add(Flow, "", p.Nodes[node.Next].Name)
	}
	if to := p.targetName(node.OnError); to != pipeline.Fail {
		add(OnError, "", to)
	}
	return edges
}
