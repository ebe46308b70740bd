package plan

import (
	"encoding/json"
	"fmt"

	"waymark/pipeline"
)

// config returns what the document says of the node, as JSON without secrets.
func (p *Plan) config(node *Node) json.RawMessage {
	text, err := json.Marshal(p.spec(node))
	if err != nil {
		panic(fmt.Sprintf("plan: configuration of %s: %v", node.Name, err)) // plain structs only
	}
	return json.RawMessage(p.Document.Redact(string(text)))
}

func (p *Plan) spec(node *Node) any {
	switch node.Kind {
	case Source:
		spec, _ := p.Document.Pipeline.Sources.Get(node.Name)
		return spec
	case Sink:
		spec, _ := p.Document.Pipeline.Sinks.Get(node.Name)
		return sinkConfig{CSV: spec.CSV, JSONL: spec.JSONL, From: fromConfig(spec.From), Postgres: spec.Postgres, Parquet: spec.Parquet, Disclose: spec.Disclose}
	default:
		return newStepConfig(node.Spec)
	}
}

// sinkConfig is a sink as descriptions have it. Digests of plans are recorded: fields keep their names and order, and new
// ones follow at the end and appear only where the document has them.
type sinkConfig struct {
	CSV   *pipeline.CSVSink
	JSONL *pipeline.JSONLSink
	From  any

	Postgres *pipeline.PostgresSink `json:",omitempty"`
	Parquet  *pipeline.ParquetSink  `json:",omitempty"`
	Disclose []string               `json:",omitempty"`
}

// stepConfig is a step as descriptions have it: every field of pipeline.Step. Digests of plans are recorded: fields keep their names and order, and
// new ones follow at the end and appear only where the document has them.
type stepConfig struct {
	Name    string
	From    any
	Set     pipeline.Map[string]
	Rename  pipeline.Map[string]
	Select  []string
	Drop    []string
	Cast    pipeline.Map[string]
	Filter  string
	Gate    string
	Routes  pipeline.Map[string]
	OnError string

	Sample      *pipeline.Sample      `json:",omitempty"`
	Fork        []string              `json:",omitempty"`
	Coalesce    pipeline.Map[string]  `json:",omitempty"`
	Aggregate   *pipeline.Aggregate   `json:",omitempty"`
	Sort        *pipeline.Sort        `json:",omitempty"`
	Expand      *pipeline.Expand      `json:",omitempty"`
	Deduplicate *pipeline.Deduplicate `json:",omitempty"`
	Lookup      *pipeline.Lookup      `json:",omitempty"`
	Policy      pipeline.Policy       `json:",omitzero"`
	Merge       pipeline.Merge        `json:",omitzero"`
	Collision   string                `json:",omitempty"`
	Timeout     string                `json:",omitempty"`
	Trigger     *triggerConfig        `json:",omitempty"`
}

type triggerConfig struct {
	Rows  int    `json:",omitempty"`
	After string `json:",omitempty"`
	When  string `json:",omitempty"`
	Over  string `json:",omitempty"`
}

func newStepConfig(s *pipeline.Step) stepConfig {
	config := stepConfig{
		Name: s.Name, From: fromConfig(s.From), Set: s.Set, Rename: s.Rename, Select: s.Select, Drop: s.Drop, Cast: s.Cast,
		Filter: s.Filter, Gate: s.Gate, Routes: s.Routes, OnError: s.OnError,
		Sample: s.Sample, Fork: s.Fork, Coalesce: s.Coalesce, Aggregate: s.Aggregate, Sort: s.Sort, Expand: s.Expand,
		Deduplicate: s.Deduplicate, Lookup: s.Lookup, Policy: s.Policy, Merge: s.Merge, Collision: s.Collision,
		Timeout: durationConfig(s.Timeout),
	}
	if s.Trigger != nil {
		config.Trigger = &triggerConfig{s.Trigger.Rows, durationConfig(s.Trigger.After), s.Trigger.When, s.Trigger.Over}
	}
	return config
}

// fromConfig is a text for at most one name, and a list for several.
func fromConfig(names pipeline.Names) any {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return []string(names)
	}
}

func durationConfig(d pipeline.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
