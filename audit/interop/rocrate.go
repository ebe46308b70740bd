package interop

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"

	"waymark/landscape"
)

// What a crate conforms to.
const (
	crateContext = "https://w3id.org/ro/crate/1.2/context"
	crateSpec    = "https://w3id.org/ro/crate/1.2"
	crateFile    = "ro-crate-metadata.json"
	crateDoc     = "pipeline.yaml"
)

var crateProfiles = []string{
	"https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5", "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
}

// ROCrate writes a run as an RO-Crate of the profile Workflow Run Crate: a folder with the document and the description of the run. What was read and
// written stays where it is; the crate refers to it.
func ROCrate(ctx context.Context, log *landscape.Reader, run, folder string) ([]File, error) {
	r, err := load(ctx, log, run)
	if err != nil {
		return nil, err
	}
	metadata, err := writeFile(folder, crateFile, func(to io.Writer) error {
		encoder := json.NewEncoder(to)
		encoder.SetIndent("", "  ")
		return encoder.Encode(object{"@context": crateContext, "@graph": r.crate()})
	})
	if err != nil {
		return nil, err
	}
	document, err := writeFile(folder, crateDoc, func(to io.Writer) error {
		_, err := io.WriteString(to, r.Document)
		return err
	})
	return []File{metadata, document}, err
}

func (r *recorded) crate() []object {
	inputs, outputs := crateFiles(r.inputs), crateFiles(r.outputs)
	parts := append([]object{ref(crateDoc)}, append(refs(inputs), refs(outputs)...)...)
	graph := []object{
		{"@id": crateFile, "@type": "CreativeWork", "about": ref("./"), "conformsTo": []object{ref(crateSpec), ref(crateProfiles[2])}},
		{
			"@id": "./", "@type": "Dataset", "name": "Run " + r.ID + " of " + r.Pipeline, "description": "What Waymark recorded of a run of a data pipeline",
			"datePublished": timestamp(r.Finished), "license": ref("#licence"), "conformsTo": profiles(), "mainEntity": ref(crateDoc),
			"hasPart": parts, "mentions": ref("#run"),
		},
		{"@id": "#licence", "@type": "CreativeWork", "name": "not stated", "description": "The record of a run does not state under which licence its files are."},
		{
			"@id": crateDoc, "@type": []string{"File", "SoftwareSourceCode", "ComputationalWorkflow"}, "name": r.Pipeline,
			"programmingLanguage": ref("#language"), "encodingFormat": "application/yaml", "sha256": r.DocumentSHA256,
		},
		{"@id": "#language", "@type": "ComputerLanguage", "name": "Waymark pipeline document", "identifier": "urn:waymark:pipeline", "version": r.Code},
		{"@id": "#actor", "@type": "Person", "name": r.Actor},
		r.action(inputs, outputs),
	}
	for _, profile := range crateProfiles {
		graph = append(graph, object{"@id": profile, "@type": "CreativeWork", "name": profile})
	}
	return append(append(graph, inputs...), outputs...)
}

// action is the run.
func (r *recorded) action(inputs, outputs []object) object {
	a := object{
		"@id": "#run", "@type": "CreateAction", "name": "Run " + r.ID + " of " + r.Pipeline, "identifier": runNames + r.ID, "instrument": ref(crateDoc),
		"agent": ref("#actor"), "startTime": timestamp(r.Started), "endTime": timestamp(r.Finished), "description": string(r.Status),
		"object": refs(inputs), "result": refs(outputs), "actionStatus": ref("http://schema.org/CompletedActionStatus"),
	}
	if !r.Status.Complete() {
		a["actionStatus"], a["error"] = ref("http://schema.org/FailedActionStatus"), r.Reason
	}
	return a
}

func ref(id string) object { return object{"@id": id} }

func refs(entities []object) []object {
	list := []object{}
	for _, e := range entities {
		list = append(list, ref(e["@id"].(string)))
	}
	return list
}

func profiles() []object {
	list := []object{}
	for _, p := range crateProfiles {
		list = append(list, ref(p))
	}
	return list
}

// crateFiles describes files, each once, though several nodes read it.
func crateFiles(datasets []dataset) (entities []object) {
	known := map[string]bool{}
	for _, d := range datasets {
		id := d.address()
		if known[id] {
			continue
		}
		known[id] = true
		e := object{"@id": id, "@type": "File", "name": filepath.Base(d.path), "contentSize": d.bytes}
		if d.sha256 != "" {
			e["sha256"] = d.sha256
		}
		entities = append(entities, e)
	}
	return entities
}
