// Package landscapetest holds the contract of landscape drivers as tests, and a made-up run to test with.
package landscapetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Source is the name of a scene's only source, whose root lane is lane 0.
const Source = "strikes"

// Scene is a made-up run over a graph in which every path occurs:
//
//	strikes > score > keep (filter) > triage (gate) > review
//	                                                > tidy > all
//
// with the sink rejects for rows that score refuses. All it records follows from its fields: two equal scenes record
// equal content.
type Scene struct {
	Run       string
	Chunks    int
	ChunkRows int
	// Way says which of Ways the row takes; nil is row modulo 10: all but those that a sink's encoder refused.
	Way func(row int64) int
	// Late says which of the rows that come to a sink its target refuses when it writes them; nil is none. The sinks of a scene in
	// which there may be some are transactional, and have a way into quarantine.
	Late func(sink string, row int64) bool
	// Fields says that fields of the rows at the sink review can be disclosed, as Disclosing has them.
	Fields bool
	// Amounts says that the run has the total `amount`.
	Amounts bool
}

// Ways are the ways of a scene, in the order of Scene.Way's numbers.
func Ways() []landscape.Way {
	step := func(words ...string) (steps []landscape.Step) {
		for i := 0; i < len(words); i += 2 {
			steps = append(steps, landscape.Step{Node: words[i], Label: words[i+1]})
		}
		return steps
	}
	return []landscape.Way{
		{Path: pipeline.GateRouted, Sink: "review", Steps: step("strikes", "", "score", "", "keep", "", "triage", "major")},
		{Path: pipeline.DefaultFlow, Sink: "all", Steps: step("strikes", "", "score", "", "keep", "", "triage", "minor", "tidy", "")},
		{Path: pipeline.GateRouted, Sink: "review", Steps: step("strikes", "", "score", "", "keep", "", "triage", "major > [x]")},
		{Path: pipeline.FilterDropped, Steps: step("strikes", "", "score", "", "keep", "")},
		{Path: pipeline.GateDiscarded, Steps: step("strikes", "", "score", "", "keep", "", "triage", "junk")},
		{Path: pipeline.QuarantinedAtSource, Sink: pipeline.QuarantineSink, Steps: step("strikes", "")},
		{Path: pipeline.OnErrorRouted, Sink: "rejects", Steps: step("strikes", "", "score", "")},
		{Path: pipeline.OnErrorRouted, Sink: pipeline.QuarantineSink, Steps: step("strikes", "", "score", "", "keep", "")},
		{Path: pipeline.Unrouted, Sink: pipeline.QuarantineSink, Steps: step("strikes", "", "score", "", "keep", "", "triage", "")},
		{Path: pipeline.SinkDiscarded, Sink: pipeline.DiscardSink, Steps: step("strikes", "", "score", "", "keep", "", "triage", "minor", "tidy", "")},
		{Path: pipeline.OnErrorRouted, Sink: pipeline.QuarantineSink, Steps: step("strikes", "", "score", "", "keep", "", "triage", "minor", "tidy", "", "all", "")},
	}
}

// Begin records the run and its graph.
func (s Scene) Begin(ctx context.Context, log *landscape.Log) error {
	run, graph := s.Graph()
	return log.BeginRun(ctx, run, graph)
}

// Graph returns what Begin records.
func (s Scene) Graph() (landscape.Run, landscape.Graph) {
	graph := s.graph()
	for i, n := range graph.Nodes {
		if s.Fields && n.Node == "review" {
			graph.Nodes[i].Config = `{"Disclose":["id","verdict"]}`
		}
		if s.Late != nil && n.Kind == landscape.SinkNode {
			graph.Nodes[i].Guarantee = plugin.Transactional
			graph.Edges = append(graph.Edges, edge(n.Node, landscape.ErrorEdge, "", pipeline.Quarantine))
		}
	}
	return sceneRun(s.Run), graph
}

func (s Scene) graph() landscape.Graph {
	return landscape.Graph{
		Nodes: []landscape.Node{
			node(0, "strikes", landscape.SourceNode, "csv", landscape.OwnHashes),
			node(1, "score", landscape.StepNode, "set", landscape.OwnHashes),
			node(2, "keep", landscape.StepNode, "filter", landscape.InputHashes),
			node(3, "triage", landscape.StepNode, "gate", landscape.InputHashes),
			node(4, "tidy", landscape.StepNode, "rename", landscape.OwnHashes),
			node(5, "review", landscape.SinkNode, "csv", landscape.InputHashes),
			node(6, "all", landscape.SinkNode, "jsonl", landscape.InputHashes),
			node(7, "rejects", landscape.SinkNode, "jsonl", landscape.InputHashes),
		},
		Edges: []landscape.Edge{
			edge("strikes", landscape.FlowEdge, "", "score"), edge("strikes", landscape.ErrorEdge, "", pipeline.Quarantine),
			edge("score", landscape.FlowEdge, "", "keep"), edge("score", landscape.ErrorEdge, "", "rejects"),
			edge("keep", landscape.FlowEdge, "", "triage"), edge("keep", landscape.ErrorEdge, "", pipeline.Quarantine),
			edge("triage", landscape.RouteEdge, "major", "review"), edge("triage", landscape.RouteEdge, "major > [x]", "review"),
			edge("triage", landscape.RouteEdge, "minor", "tidy"), edge("triage", landscape.RouteEdge, "junk", pipeline.Discard),
			edge("triage", landscape.ErrorEdge, "", pipeline.Quarantine),
			edge("tidy", landscape.FlowEdge, "", "all"), edge("tidy", landscape.ErrorEdge, "", pipeline.Discard),
		},
		Sources: []landscape.Source{{Source: Source, Info: `{"files":[{"path":"strikes.csv","bytes":1,"modified_micros":1}]}`}},
		Lanes:   []landscape.Lane{{Source: Source}},
		Key:     []byte("salts of a scene"),
	}
}

// sceneRun is the record of a made-up run.
func sceneRun(id string) landscape.Run {
	return landscape.Run{
		RunHead: landscape.RunHead{
			ID: id, Pipeline: "bird-strikes", DocumentSHA256: digest("document"), PlanSHA256: digest("plan"),
			Code: "test", Actor: "tester", Trigger: "cli", Host: "here", BaseDir: "/data",
		},
		Document: "name: bird-strikes", Plan: `{}`, Params: `{"year":2024}`, Refs: `[]`,
	}
}

func node(seq int64, name string, kind landscape.NodeKind, operation string, hashes landscape.HashMode) landscape.Node {
	n := landscape.Node{
		Node: name, Seq: seq, Kind: kind, Operation: operation, Config: `{}`, Determinism: pipeline.Deterministic, Hashes: hashes,
	}
	if kind == landscape.SinkNode {
		n.Determinism, n.Guarantee = pipeline.WritesIO, plugin.Idempotent
	}
	return n
}

func edge(from string, kind landscape.EdgeKind, label, to string) landscape.Edge {
	return landscape.Edge{From: from, Kind: kind, Label: label, To: to}
}

// recordBytes is the length of every record of a scene, without its line end.
const recordBytes = 39

// Chunk returns chunk number i with its records.
func (s Scene) Chunk(i int) (landscape.Chunk, landscape.Records) {
	n := int64(s.ChunkRows)
	c := landscape.Chunk{
		Run: s.Run, Source: Source, Chunk: int64(i), File: "strikes.csv", FirstRow: int64(i)*n + 1, Rows: n,
		FirstLine: int64(i)*n + 2, FirstOffset: 50 + int64(i)*n*(recordBytes+1), Bytes: n * (recordBytes + 1),
		Pack: digest("pack", i), Cursor: fmt.Sprintf(`{"row":%d}`, int64(i+1)*n), Last: i == s.Chunks-1, Attempt: 1,
	}
	r := landscape.Records{Offsets: make([]uint32, n), Lengths: make([]uint32, n), Hashes: make([]byte, 0, landscape.HashBytes*n)}
	if i%2 == 1 {
		r.Lines = make([]uint32, n)
	}
	for j := range int(n) {
		r.Offsets[j], r.Lengths[j] = uint32(j*(recordBytes+1)), recordBytes
		if r.Lines != nil {
			r.Lines[j] = uint32(j)
		}
		r.Hashes = append(r.Hashes, s.hash("raw", c.FirstRow+int64(j))...)
	}
	return c, r
}

// End returns the end of the source.
func (s Scene) End() landscape.SourceEnd {
	rows := int64(s.Chunks * s.ChunkRows)
	return landscape.SourceEnd{
		Run: s.Run, Source: Source, Chunks: int64(s.Chunks), Rows: rows, Bytes: rows * (recordBytes + 1),
		Digests: `["` + digest("file") + `"]`,
	}
}

// hash is the hash of a row at a node.
func (s Scene) hash(node string, row int64) []byte { return hashOf(node, row) }

func hashOf(node string, row int64) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(node), uint64(row)))
	return sum[:]
}

// Key returns what a scene's key column holds for a row: the row's number is its business key.
func (s Scene) Key(row int64) (hash [4]byte) {
	copy(hash[:], s.hash("key", row))
	return hash
}

// Hash returns the hash of a row as it left a node.
func (s Scene) Hash(node string, row int64) [landscape.HashBytes]byte {
	return [landscape.HashBytes]byte(s.hash(node, row))
}

// way returns the number of the row's way.
func (s Scene) way(row int64) int {
	if s.Way == nil {
		return int(row % 10)
	}
	return s.Way(row)
}

func digest(words ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, words...))
	return digestOf(sum[:])
}

func digestOf(sum []byte) string { return hex.EncodeToString(sum) }
