package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/row"
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
	Nodes     []NodeDescription    `json:"nodes"`
	Edges     []EdgeDescription    `json:"edges"`
	Stages    []Stage              `json:"stages"`
}

// NodeDescription describes one node.
type NodeDescription struct {
	Name        string               `json:"name"`
	Kind        Kind                 `json:"kind"`
	Operation   string               `json:"operation"`
	Determinism pipeline.Determinism `json:"determinism"`
	Guarantee   plugin.Guarantee     `json:"guarantee,omitempty"` // of a sink
	Location    string               `json:"location,omitempty"`  // of a sink
	OnError     string               `json:"on_error,omitempty"`
	Fields      []string             `json:"fields,omitempty"` // of the rows that leave, as name:type
	Open        bool                 `json:"open,omitempty"`   // rows may carry other fields as well
	Hashes      string               `json:"hashes"`           // own: the node's rows have hashes of their own; input: it passes rows on
	Config      json.RawMessage      `json:"config,omitempty"`
}

// EdgeDescription is one way from node to node. To may be a reserved word: discard or quarantine.
type EdgeDescription struct {
	From  string   `json:"from"`
	Kind  EdgeKind `json:"kind"`
	Label string   `json:"label,omitempty"` // of a route
	To    string   `json:"to"`
}

// EdgeKind says when a row takes an edge. Stored; never rename.
type EdgeKind string

// The kinds of edges.
const (
	Flow    EdgeKind = "flow"  // whenever the node is done with it
	ByRoute EdgeKind = "route" // if the gate gave it this label
	OnError EdgeKind = "error" // if the node refused it
)

// Stage is what one kind of activity does to one chunk.
type Stage struct {
	Activity string   `json:"activity"`
	Nodes    []string `json:"nodes"`
}

// Words for NodeDescription.Hashes. Stored; never rename.
const (
	HashesOwn   = "own"
	HashesInput = "input"
)

// Describe returns the description. Equal plans have equal descriptions.
func (p *Plan) Describe() Description {
	doc := p.Document
	d := Description{
		Pipeline: doc.Pipeline.Name, Document: doc.Digest, Canonical: row.CanonicalVersion,
		ChunkRows: p.Chunk.Rows, ChunkSize: p.Chunk.Bytes, Inputs: doc.References,
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
	d.Stages = p.stages()
	return d
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
	if node.Changes() {
		d.Hashes = HashesOwn
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

func (n *Node) determinism() pipeline.Determinism {
	switch n.Kind {
	case Source:
		return n.Source.Determinism()
	case Sink:
		return n.Sink.Determinism()
	default:
		return pipeline.Deterministic // every step is a pure function of the row
	}
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

func (p *Plan) stages() []Stage {
	var stages []Stage
	for _, i := range p.Sources() {
		stages = append(stages, Stage{"read", []string{p.Nodes[i].Name}})
	}
	process := Stage{Activity: "process"}
	for i := range p.Nodes {
		if p.Nodes[i].Kind != Sink {
			process.Nodes = append(process.Nodes, p.Nodes[i].Name)
		}
	}
	stages = append(stages, process)
	for _, i := range p.Sinks() {
		stages = append(stages, Stage{"write", []string{p.Nodes[i].Name}})
	}
	for _, i := range p.Sinks() {
		stages = append(stages, Stage{"publish", []string{p.Nodes[i].Name}})
	}
	return stages
}
