package interop

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"waymark/landscape"
	"waymark/pipeline"
)

// What OpenLineage events refer to.
const (
	producer       = "urn:waymark:program"
	lineageEvents  = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
	lineageFacets  = "https://openlineage.io/spec/facets/"
	lineageJobs    = "waymark" // namespace of jobs
	lineageFiles   = "file"    // namespace of local files
	programmedWith = "GO"
)

// OpenLineage writes the events of a run, one on each line: START, and COMPLETE, FAIL or ABORT, by how the run ended.
func OpenLineage(ctx context.Context, log *landscape.Reader, run string, to io.Writer) error {
	r, err := load(ctx, log, run)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(to)
	if err := encoder.Encode(r.event("START", r.Started)); err != nil {
		return err
	}
	return encoder.Encode(r.lineageEvent())
}

// LineageEvent returns what OpenLineage tells of an event of the outbox: START when a run began, and COMPLETE, FAIL or ABORT when it ended, as OpenLineage
// writes it. If the run was resumed afterwards, the event says how it ended before that, without the reason, which is no longer on record.
func LineageEvent(ctx context.Context, log *landscape.Reader, e landscape.Event) ([]byte, error) {
	r, err := load(ctx, log, e.Run)
	if err != nil {
		return nil, err
	}
	if e.Kind == landscape.RunStarted {
		return json.Marshal(r.event("START", r.Started))
	}
	if status := e.Kind.Status(); r.Status != status || r.Finished != e.At {
		r.Status, r.Reason, r.Finished = status, "it was resumed since", e.At
	}
	return json.Marshal(r.lineageEvent())
}

// lineageEvent is how the run ended.
func (r *recorded) lineageEvent() object {
	end := r.event(r.lineageEnd(), r.Finished)
	end["inputs"], end["outputs"] = r.lineageInputs(), r.lineageOutputs()
	if !r.Status.Complete() {
		facets := end["run"].(object)["facets"].(object)
		facets["errorMessage"] = facet("1-0-1/ErrorMessageRunFacet.json", object{"message": r.Reason, "programmingLanguage": programmedWith})
	}
	return end
}

func (r *recorded) lineageEnd() string {
	switch {
	case r.Status.Complete():
		return "COMPLETE"
	case r.Status == pipeline.Cancelled || r.Status == pipeline.Interrupted:
		return "ABORT"
	default:
		return "FAIL"
	}
}

func (r *recorded) event(kind string, at landscape.Micros) object {
	return object{
		"eventType": kind, "eventTime": timestamp(at), "producer": producer, "schemaURL": lineageEvents,
		"run": object{"runId": lineageRun(r.ID), "facets": object{
			"processing_engine": facet("1-1-1/ProcessingEngineRunFacet.json", object{"name": "Waymark", "version": r.Code}),
			"waymark_run": object{
				"_producer": producer, "_schemaURL": "urn:waymark:openlineage:run:v1",
				"run": r.ID, "status": string(r.Status), "documentSha256": r.DocumentSHA256, "planSha256": r.PlanSHA256, "actor": r.Actor, "trigger": r.Trigger,
			},
		}},
		"job": object{"namespace": lineageJobs, "name": r.Pipeline, "facets": object{
			"jobType":    facet("2-0-3/JobTypeJobFacet.json", object{"processingType": "BATCH", "integration": "WAYMARK", "jobType": "PIPELINE"}),
			"sourceCode": facet("1-0-1/SourceCodeJobFacet.json", object{"language": "yaml", "sourceCode": r.Document}),
		}},
	}
}

// lineageRun returns a run's id if it is a UUID, as all are that nobody chose; else one that follows from it.
func lineageRun(id string) string {
	if u, err := uuid.Parse(id); err == nil {
		return u.String()
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(runNames+id)).String()
}

func facet(schema string, members object) object {
	members["_producer"], members["_schemaURL"] = producer, lineageFacets+schema
	return members
}

func (r *recorded) lineageInputs() []object {
	datasets := []object{}
	for _, in := range r.inputs {
		statistics := object{"size": in.bytes, "fileCount": 1}
		if in.rows >= 0 {
			statistics["rowCount"] = in.rows
		}
		d := in.lineage()
		d["inputFacets"] = object{"inputStatistics": facet("1-0-0/InputStatisticsInputDatasetFacet.json", statistics)}
		datasets = append(datasets, d)
	}
	return datasets
}

func (r *recorded) lineageOutputs() []object {
	datasets := []object{}
	for _, out := range r.outputs {
		d := out.lineage()
		d["outputFacets"] = object{"outputStatistics": facet("1-0-2/OutputStatisticsOutputDatasetFacet.json", object{
			"rowCount": out.rows, "size": out.bytes, "fileCount": 1,
		})}
		if fields := lineageSchema(out.schema); fields != nil {
			d["facets"].(object)["schema"] = fields
		}
		datasets = append(datasets, d)
	}
	return datasets
}

func (s dataset) lineage() object {
	namespace, name := DatasetName(s.path)
	d := object{"namespace": namespace, "name": name, "facets": object{}}
	if s.sha256 != "" {
		d["facets"] = object{"version": facet("1-0-1/DatasetVersionDatasetFacet.json", object{"datasetVersion": "sha256:" + s.sha256})}
	}
	return d
}

// DatasetName returns what OpenLineage calls a dataset that is recorded with this path or URI, so that events of
// other programs about it meet ours: a local file by its path, an object by its key as it is, a table by
// database.schema.table, a file of a web server by the path of its address. A query of a database is called
// database.query:DIGEST.
//
// Source: OpenLineage, spec/Naming.md.
func DatasetName(recorded string) (namespace, name string) {
	scheme, rest, isURI := strings.Cut(recorded, "://")
	if !isURI {
		return lineageFiles, recorded
	}
	authority, name, _ := strings.Cut(rest, "/")
	switch scheme {
	case "postgres":
		database, table, _ := strings.Cut(name, "/")
		if plain, err := url.PathUnescape(database); err == nil {
			database = plain
		}
		name = database + "." + table
	case "http", "https":
		if u, err := url.Parse(recorded); err == nil {
			name = strings.TrimPrefix(u.Path, "/")
		}
	}
	return scheme + "://" + authority, name
}
