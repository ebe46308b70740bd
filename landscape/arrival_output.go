package landscape

import (
	"context"

	"waymark/pipeline"
	"waymark/plugin"
)

// ArrivedOutput is an output that a complete run of another pipeline published, as a trigger found it.
type ArrivedOutput struct {
	Run    string       `json:"run"`
	Sink   string       `json:"sink"`
	Path   string       `json:"path"`
	SHA256 string       `json:"sha256"` // as the artifact has it
	Rows   int64        `json:"rows"`
	Files  []OutputFile `json:"files"` // one, or the parts in their order
}

// OutputFile is a file of a published output.
type OutputFile struct {
	plugin.FileInfo

	SHA256 string `json:"sha256"` // lower-case hex, of what the run wrote
}

// OutputItem names an output among arrivals.
func OutputItem(run, sink string) string { return run + "/" + sink }

// NewOutputArrival returns what is recorded first of an output that a trigger found.
func NewOutputArrival(trigger string, output ArrivedOutput) Arrival {
	return arrivalAt(trigger, OutputItem(output.Run, output.Sink), output)
}

// Output returns the output that arrived; nil if it was a file that nobody says a run has published.
func (a Arrival) Output() (*ArrivedOutput, error) {
	var output ArrivedOutput
	if err := a.read(&output); err != nil {
		return nil, err
	}
	if output.Run == "" {
		return nil, nil //nolint:nilnil // a file is no error
	}
	return &output, nil
}

// ArtifactOf returns what a sink of a run published; nil if it published nothing.
func (r *Reader) ArtifactOf(ctx context.Context, run, sink string) (*ArtifactRecord, error) {
	found, err := Select[ArtifactRecord](ctx, r.from, run, sink)
	if err != nil || found == nil {
		return nil, err
	}
	return &found[0], nil
}

// listedItem is an ArrivalRun by its item.
type listedItem struct {
	Item    string `db:"item,key"`
	Run     string `db:"run_id,key"`
	Place   int64  `db:"place,key"`
	Trigger string `db:"trigger"`
}

// Table returns arrival_runs.
func (listedItem) Table() string { return ArrivalRun{}.Table() }

// OutputReader is a run on whose list an output, or another item, is.
type OutputReader struct {
	Run     string
	Trigger string // that began it
}

// ReadersOf returns the runs of other pipelines on whose lists the output of a sink of a run is, by id, also those that gave it back; nil if there is none.
func (r *Reader) ReadersOf(ctx context.Context, run, sink string) ([]OutputReader, error) {
	return r.ReadersOfItem(ctx, OutputItem(run, sink))
}

// ReadersOfItem returns the runs on whose lists an item is, by id, also those that gave it back; nil if there is none.
func (r *Reader) ReadersOfItem(ctx context.Context, item string) (readers []OutputReader, err error) {
	err = each(ctx, r.from, []any{item}, func(l listedItem) bool {
		readers = append(readers, OutputReader{l.Run, l.Trigger})
		return true
	})
	return readers, err
}

// Follows returns what a trigger waits for; nil if it is not one after another pipeline.
func (t Trigger) Follows() (*pipeline.Upstream, error) {
	declared, err := t.Declared()
	return declared.After, err
}

// lookedAt returns the smallest of a position and those up to which triggers have looked at the outbox, of triggers that are there and go by it.
func (r *Reader) lookedAt(ctx context.Context, upTo int64) (int64, error) {
	triggers, err := r.Triggers(ctx)
	for _, t := range triggers {
		if err != nil {
			return 0, err
		}
		after, broken := t.Follows()
		if broken != nil {
			return 0, broken
		}
		if t.Removed() || after == nil {
			continue
		}
		var watch Watch
		watch, err = r.Watch(ctx, t.ID)
		upTo = min(upTo, watch.Position)
	}
	return upTo, err
}

// UpstreamCycle returns the pipelines of an environment through which the outputs of one would come back to it if it had these triggers, beginning and ending with it; nil if none would.
func (r *Reader) UpstreamCycle(ctx context.Context, environment, name string, triggers pipeline.Map[pipeline.ArrivalTrigger]) ([]string, error) {
	rows, err := r.Triggers(ctx)
	if err != nil {
		return nil, err
	}
	before := map[string][]string{}
	for _, t := range rows {
		after, err := t.Follows()
		if err != nil {
			return nil, err
		}
		if t.Environment == environment && t.Pipeline != name && !t.Removed() && after != nil {
			before[t.Pipeline] = append(before[t.Pipeline], after.Pipeline)
		}
	}
	for _, t := range triggers {
		if t.Value.After != nil {
			before[name] = append(before[name], t.Value.After.Pipeline)
		}
	}
	return cycleFrom(before, []string{name}, map[string]bool{}), nil
}

// cycleFrom returns a way through before that begins with path and comes back to its beginning; nil if there is none.
func cycleFrom(before map[string][]string, path []string, seen map[string]bool) []string {
	for _, next := range before[path[len(path)-1]] {
		if next == path[0] {
			return append(path, next)
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		if cycle := cycleFrom(before, append(path[:len(path):len(path)], next), seen); cycle != nil {
			return cycle
		}
	}
	return nil
}
