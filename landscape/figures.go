package landscape

import (
	"cmp"
	"context"
	"slices"

	"waymark/pipeline"
)

// Figures returns the counts of a run by the names by which policies ask for them (docs/expressions.md), and with codes also how many rows were
// refused with each code: that reads every error. Edges that no row took, and codes with which none was refused, are left out. Every number is
// counted from records of what happened, and of a run whose rows are all in their sinks none changes any more.
func (r *Reader) Figures(ctx context.Context, run string, codes bool) (map[string]int64, error) {
	summary, err := r.Summary(ctx, run)
	if err != nil {
		return nil, err
	}
	f := figures{}
	f.addSummary(summary)
	if err := f.addSources(ctx, r, run, summary.Nodes); err != nil {
		return nil, err
	}
	if err := f.addEdges(ctx, r.from, run); err != nil {
		return nil, err
	}
	if codes {
		err = each(ctx, r.from, []any{run}, func(e refusal) bool { f["errors."+e.Code]++; return true })
	}
	return f, err
}

type figures map[string]int64

func (f figures) add(prefix string, values map[string]int64) {
	for name, value := range values {
		f[prefix+"."+name] = value
	}
}

func (f figures) addSummary(s Summary) {
	f.add("run", map[string]int64{
		"read": s.Rows, "blank": s.Blank, "comments": s.Comments, "bytes": s.Bytes, "tokens": s.Tokens, "succeeded": s.Succeeded, "refused": s.Failed,
		"quarantined": s.Quarantined, "filtered": s.Filtered, "discarded": s.Discarded,
	})
	for _, n := range s.Nodes {
		f.add("nodes."+n.Node, map[string]int64{
			"rows_in": n.In, "created": n.Created, "rows_out": n.Out, "dropped": n.Dropped, "refused": n.Diverted, "consumed": n.Consumed,
		})
	}
	for _, sink := range s.Sinks {
		f.add("sinks."+sink.Sink, map[string]int64{"rows": sink.Finalized, "refused": sink.Refused, "bytes": sink.Bytes})
	}
}

func (f figures) addSources(ctx context.Context, r *Reader, run string, nodes []NodeCount) error {
	kinds := map[string]NodeKind{}
	for _, n := range nodes {
		kinds[n.Node] = n.Kind
	}
	ends, err := r.SourceEnds(ctx, run)
	for _, end := range ends {
		if kinds[end.Source] == SourceNode { // else a barrier, which reads nothing
			f.add("sources."+end.Source, map[string]int64{"read": end.Rows, "blank": end.Blank, "comments": end.Comments, "bytes": end.Bytes})
		}
	}
	return err
}

// addEdges counts how many rows took each edge: from step to step of their ways, and from the last one to quarantine, or nowhere.
func (f figures) addEdges(ctx context.Context, d RecordReader, run string) error {
	rows, err := rowsByWay(ctx, d, run)
	if err != nil {
		return err
	}
	steps := map[string][]WayStepRecord{}
	err = each(ctx, d, []any{run}, func(s WayStepRecord) bool {
		steps[s.Way] = append(steps[s.Way], s)
		return true
	})
	if err != nil {
		return err
	}
	return each(ctx, d, []any{run}, func(w WayRecord) bool {
		f.addWay(w, steps[w.Way], rows[w.Way])
		return true
	})
}

// addWay leaves out the steps of a fork's parent, which are on the parent's own way.
func (f figures) addWay(w WayRecord, steps []WayStepRecord, rows int64) {
	slices.SortFunc(steps, func(a, b WayStepRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, step := range steps {
		if i > 0 && step.Seq >= w.FirstSeq {
			f["edges."+steps[i-1].Node+"."+step.Node] += rows
		}
	}
	switch path := pipeline.Path(w.Path); {
	case w.Sink == pipeline.QuarantineSink:
		f["edges."+w.LastNode+"."+pipeline.Quarantine] += rows
	case path == pipeline.GateDiscarded || path == pipeline.SinkDiscarded:
		f["edges."+w.LastNode+"."+pipeline.Discard] += rows
	}
}

// CompleteBefore returns the last runs of the run's pipeline, in its environment, that were complete when it began, the latest first: at most limit.
// Runs that retry records of others are left out.
func (r *Reader) CompleteBefore(ctx context.Context, run RunHead, limit int) ([]RunHead, error) {
	q := Query{Descending: true, After: []any{int64(run.Started), run.ID}}
	var found []RunHead
	err := r.from.Read(ctx, beganBefore{}, q, func(record Record) bool {
		before := record.(beganBefore)
		ended := before.Status.Complete() && before.Finished <= run.Started
		if ended && before.Pipeline == run.Pipeline && before.Environment == run.Environment && before.Link != RetryLink {
			found = append(found, before.RunHead)
		}
		return len(found) < limit
	})
	return found, err
}

// beganBefore is a startedRun with how it is linked to others.
type beganBefore struct {
	startedRun
	Link Link `db:"link"`
}
