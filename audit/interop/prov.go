package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"waymark/landscape"
)

// object is a JSON object. Its members are written in the order of their names.
type object map[string]any

// Namespaces of the names in a PROV document.
const (
	provTerms = "urn:waymark:prov:"
	runNames  = "urn:waymark:run:"
)

// PROV writes a run as a PROV-JSON document: the document, the files that were read and the outputs as entities; the run and its nodes as activities; who
// started it, and the program, as agents.
func PROV(ctx context.Context, log *landscape.Reader, run string, to io.Writer) error {
	r, err := load(ctx, log, run)
	if err != nil {
		return err
	}
	d := &provenance{object: object{}}
	d.object["prefix"] = object{"waymark": provTerms, "run": runNames + r.ID + ":"}
	d.add("entity", "run:document", object{"prov:label": r.Pipeline, "prov:type": term("prov:Plan"), "waymark:sha256": r.DocumentSHA256})
	d.add("agent", "run:actor", object{"prov:label": r.Actor})
	d.add("agent", "run:program", object{"prov:label": r.Code, "prov:type": term("prov:SoftwareAgent")})
	d.add("activity", "run:run", object{
		"prov:label": r.Pipeline, "prov:startTime": timestamp(r.Started), "prov:endTime": timestamp(r.Finished), "waymark:status": string(r.Status),
	})
	d.relate("wasAssociatedWith", object{"prov:activity": "run:run", "prov:agent": "run:actor", "prov:plan": "run:document"})
	d.relate("actedOnBehalfOf", object{"prov:delegate": "run:program", "prov:responsible": "run:actor", "prov:activity": "run:run"})
	d.graph(r)
	d.datasets(r)
	return json.NewEncoder(to).Encode(d.object)
}

type provenance struct {
	object
	relations int
}

func (d *provenance) add(kind, id string, attributes object) {
	if d.object[kind] == nil {
		d.object[kind] = object{}
	}
	d.object[kind].(object)[id] = attributes
}

func (d *provenance) relate(kind string, attributes object) {
	d.relations++
	d.add(kind, fmt.Sprintf("_:r%06d", d.relations), attributes)
}

// term is a value that is a name.
func term(name string) object { return object{"$": name, "type": "prov:QUALIFIED_NAME"} }

// graph adds the nodes, each started by the run, and informed by those from which it gets rows.
func (d *provenance) graph(r *recorded) {
	known := map[string]bool{}
	for _, n := range r.nodes {
		known[n.Node] = true
		d.add("activity", "run:node."+n.Node, object{
			"prov:label": n.Node, "waymark:kind": string(n.Kind), "waymark:operation": n.Operation, "waymark:determinism": string(n.Determinism),
		})
		d.relate("wasStartedBy", object{"prov:activity": "run:node." + n.Node, "prov:starter": "run:run"})
	}
	for _, e := range r.edges {
		if known[e.To] {
			d.relate("wasInformedBy", object{"prov:informed": "run:node." + e.To, "prov:informant": "run:node." + e.From})
		}
	}
}

// datasets adds what nodes read and what sinks published.
func (d *provenance) datasets(r *recorded) {
	for i, in := range r.inputs {
		id := fmt.Sprintf("run:input.%d", i)
		d.add("entity", id, in.attributes())
		d.relate("used", object{"prov:activity": "run:node." + in.node, "prov:entity": id})
		d.relate("used", object{"prov:activity": "run:run", "prov:entity": id})
	}
	for i, out := range r.outputs {
		id := fmt.Sprintf("run:output.%d", i)
		d.add("entity", id, out.attributes())
		d.relate("wasGeneratedBy", object{"prov:entity": id, "prov:activity": "run:node." + out.node, "prov:time": timestamp(out.at)})
	}
}

func (s dataset) attributes() object {
	a := object{"prov:label": s.path, "prov:location": s.path, "waymark:bytes": s.bytes}
	if s.sha256 != "" {
		a["waymark:sha256"] = s.sha256
	}
	if s.rows >= 0 {
		a["waymark:rows"] = s.rows
	}
	return a
}
