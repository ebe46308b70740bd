package activities_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
)

// TestARunWithClaimsGoesOn begins a run as earlier releases did, which entered values that must be unique into the record, resumes
// it after every number of chunks, and continues as runs do now. Each value has the first token that it has in a run of one release, and
// what is recorded, of both kinds, is true.
func TestARunWithClaimsGoesOn(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	_, want := playOnce(r)
	const chunks = 4
	for claimed := range chunks + 1 {
		t.Run(fmt.Sprint(claimed, " chunks"), func(t *testing.T) {
			r.reset(t)
			opened := call[resumepoint.Plan](r, act.OpenRun, r.open())
			places, read := newPlaces(opened), activities.ReadInput{Run: runID, Source: opened.Source}
			for {
				if read.Chunk == int64(claimed) && read.Epoch == 0 {
					r.restart()
					read.Epoch = 1
					call[resumepoint.State](r, act.ResumeRun, activities.ResumeInput{Run: runID, Epoch: 1})
				}
				got := call[activities.ReadResult](r, act.ReadChunk, read)
				if got.Done {
					break
				}
				in := activities.ProcessInput{Run: runID, Epoch: read.Epoch, Source: read.Source, Chunk: read.Chunk, Before: read.Chunk}
				var passed activities.ProcessResult
				if read.Epoch == 0 {
					passed = call[activities.ProcessResult](r, act.ProcessChunk, in)
				} else {
					call[activities.AheadResult](r, act.PassAhead, in)
					passed = call[activities.ProcessResult](r, act.PassInTurn, in)
				}
				for _, part := range passed.Parts {
					write := places.next(in, part)
					write.Epoch = read.Epoch
					call[activities.WriteResult](r, act.WriteChunk, write)
				}
				read.Chunk, read.Cursor = read.Chunk+1, got.Cursor
			}
			require.EqualValues(t, chunks, read.Chunk)
			for _, sink := range opened.Sinks {
				call[none](r, act.PublishSink, activities.SinkInput{Run: runID, Epoch: 1, Sink: sink.Name})
			}
			done := call[activities.FinishResult](r, act.FinishRun, activities.FinishInput{Run: runID, Epoch: 1})
			require.Equal(t, pipeline.CompletedWithFailures, done.Status)
			require.Equal(t, want, r.outputs())
			require.Equal(t, claimed > 0, len(r.records()["claims"]) > 0)
			for row, first := range map[int64]int64{6: 1, 12: 9} {
				rejected, err := r.log.ErrorsOf(t.Context(), runID, landscape.Token{Source: "orders", Row: row})
				require.NoError(t, err)
				require.Len(t, rejected, 1)
				require.Equal(t, fmt.Sprintf("row %d has the same value", first), rejected[0].Message)
			}
			report, err := audit.New(r.log.Reader, r.payloads, r.planner).VerifyWith(t.Context(), runID, audit.VerifyOptions{})
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		})
	}
}
