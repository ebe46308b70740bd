package sqlitestore_test

import (
	"context"
	"errors"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
)

// stopped plays a run that was interrupted, resumed, and waits for a person to decide about an effect.
func stopped(ctx context.Context, log *landscape.Log, id string) error {
	s := landscapetest.Scene{Run: id, Chunks: 3, ChunkRows: 10}
	err := errors.Join(s.Begin(ctx, log), s.Read(ctx, log))
	for i := range s.Chunks {
		err = errors.Join(err, log.RecordPassage(ctx, s.Passage(i)))
	}
	err = errors.Join(err, log.RecordAction(ctx, id, "pause", "bob", "the disk is slow"), log.RecordAction(ctx, id, "continue", "bob", ""))
	err = errors.Join(err, s.Write(ctx, log, 0), log.StopRun(ctx, id, pipeline.Interrupted, "stopped at the terminal"), log.Resume(ctx, landscape.Resumption{
		Run: id, Epoch: 1, Claim: "a Temporal run id", Actor: "ann", Why: "the power is back", Code: "test", Host: "here",
	}))
	key := landscape.EffectKey{Run: id, Sink: "review", Source: landscapetest.Source, Chunk: 1}
	for range 2 {
		_, begin := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 1, Offset: 1000}, "w2")
		err = errors.Join(err, begin)
	}
	return errors.Join(err, log.ReconcileEffect(ctx, landscape.Attempt{EffectKey: key, Fence: 2, Worker: "w2"}, plugin.Unknown), log.StopRun(ctx, id, pipeline.Blocked, "review cannot tell what it holds"))
}

// retry plays a run that feeds two records of another one again.
func retry(ctx context.Context, log *landscape.Log, id, parent string) error {
	s := landscapetest.Scene{Run: id, Chunks: 1, ChunkRows: 2, Way: func(int64) int { return 0 }}
	run, graph := s.Graph()
	run.Parent, run.Link = parent, landscape.RetryLink
	graph.Retried = []landscape.RetriedRow{{Source: landscapetest.Source, Row: 5}, {Source: landscapetest.Source, Row: 8}}
	return errors.Join(log.BeginRun(ctx, run, graph), s.Read(ctx, log), log.RecordPassage(ctx, s.Passage(0)), s.Write(ctx, log, 0),
		s.Publish(ctx, log), log.FinishRun(ctx, id, pipeline.Completed, "done"))
}

// asked plays a run that somebody started in vain before.
func asked(ctx context.Context, log *landscape.Log, id string) error {
	start := landscape.Start{
		Run: id, Pipeline: "bird-strikes", Params: `{"year":"2O24"}`, Actor: "ann", Trigger: "temporal", Why: "the figures of March", Workflow: "figures",
	}
	in := start
	in.State, in.Refusal, in.Reason = landscape.StartRefused, "DocumentInvalid", `year: "2O24" is no whole number`
	err := errors.Join(log.Accept(ctx, start), log.Refuse(ctx, in))
	start.Params = `{"year":"2024"}`
	return errors.Join(err, log.Accept(ctx, start), landscapetest.Scene{Run: id, Chunks: 1, ChunkRows: 2}.Play(ctx, log))
}
