package activities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

const surveyedDocument = `
name: surveyed
chunk: {rows: 2}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, note: string}}}}
sinks: {out: {jsonl: {path: out/all.jsonl}}}
`

// surveyed returns a run whose first two chunks are read, and whose other chunks a survey found, two in a share.
func surveyed(t *testing.T, rows int) (
	r *rig, plan resumepoint.Plan, found activities.ReadResult, shares [][]activities.PassInput,
) {
	t.Helper()
	text := strings.Builder{}
	text.WriteString("id,note\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,\"a note\n\non %d\"\n", i, i)
	}
	r = newRig(t, surveyedDocument, map[string]string{"in.csv": text.String()})
	plan = call[resumepoint.Plan](r, act.OpenRun, r.open())
	first := call[activities.ReadResult](r, act.Read, activities.ReadInput{Source: "in", Most: 2})
	require.True(t, first.Seeks)
	ask := activities.ReadInput{Source: "in", Chunk: 2, Cursor: first.Cursor, Shares: []int{2, 2, 2, 2, 2}}
	found = call[activities.ReadResult](r, act.Read, ask)
	require.Equal(t, []bool{true, true, true, false}, []bool{found.Survey, found.Seeks, found.Ended, found.Done})
	at, chunk := first.Cursor, int64(2)
	for _, share := range found.Shares {
		var passes []activities.PassInput
		for range share.Chunks {
			passes = append(passes, activities.PassInput{Mode: activities.PassNow, Source: "in", Chunk: chunk})
			chunk++
		}
		passes[0].Unread = &activities.Unread{At: at, End: share.End}
		shares, at = append(shares, passes), share.End
	}
	require.Equal(t, found.Cursor, at)
	require.EqualValues(t, len(found.Chunks())+2, chunk)
	return r, plan, found, shares
}

func (r *rig) passShare(share []activities.PassInput) ([]activities.PassResult, error) {
	r.t.Helper()
	r.restart()
	results, err := r.env.ExecuteActivity(act.Pass, activities.Batch[activities.PassInput]{Run: runID, Each: share})
	if err != nil {
		return nil, err
	}
	var out activities.Results[activities.PassResult]
	require.NoError(r.t, results.Get(&out))
	return out.Each, nil
}

func (r *rig) chunksOnRecord() (chunks []int64, last int64) {
	r.t.Helper()
	for chunk, err := range r.log.Chunks(r.t.Context(), runID, "in") {
		require.NoError(r.t, err)
		chunks, last = append(chunks, chunk.Chunk), chunk.FirstRow+chunk.Rows-1
	}
	return chunks, last
}

// TestSharesAreReadInAnyOrder has each share read by a process that knows nothing, the last one first. What is missing
// in between is found missing, and the end of the source is not recorded before it is there.
func TestSharesAreReadInAnyOrder(t *testing.T) {
	r, plan, found, shares := surveyed(t, 13)
	require.Len(t, shares, 3)
	chunks, _ := r.chunksOnRecord()
	require.Equal(t, []int64{0, 1}, chunks, "a survey records nothing")
	end := activities.ReadInput{Source: "in", Chunk: 7, Cursor: found.Cursor}
	for i := 2; i >= 0; i-- {
		_, err := try[activities.ReadResult](r, act.Read, end)
		require.ErrorContains(t, err, "STATE_DIVERGED")
		state, err := resumepoint.Find(t.Context(), r.log.Reader, runID, plan)
		require.NoError(t, err)
		require.LessOrEqual(t, state.Sources[0].Chunk, int64(2))
		results, err := r.passShare(shares[i])
		require.NoError(t, err)
		require.Len(t, results, len(shares[i]))
		again, err := r.passShare(shares[i])
		require.NoError(t, err)
		require.Equal(t, results, again)
	}
	chunks, last := r.chunksOnRecord()
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6}, chunks)
	require.EqualValues(t, 13, last)
	require.True(t, call[activities.ReadResult](r, act.Read, end).Done)
	ends, err := r.log.SourceEnds(t.Context(), runID)
	require.NoError(t, err)
	require.EqualValues(t, 7, ends[0].Chunks)
}

// TestAFileThatChangesBehindASurvey is found out by who reads the share, and nothing of that is recorded.
func TestAFileThatChangesBehindASurvey(t *testing.T) {
	r, _, _, shares := surveyed(t, 13)
	shares[1][0].Unread.End.Digest[20]++ // as if the bytes of one row had been others
	_, err := r.passShare(shares[1])
	require.ErrorContains(t, err, "SOURCE_CHANGED")
	chunks, _ := r.chunksOnRecord()
	require.Equal(t, []int64{0, 1}, chunks)
}
