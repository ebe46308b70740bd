package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

const retryID = "r2"

// rejecting rejects most of its records, two of every chunk.
const refusing = `name: refusing
chunk: {rows: 3}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, text: int}}}}
sinks: {out: {csv: {path: out/a.csv}}}
`

const refusedRows = "id,text\n1,a\n2,2\n3,c\n4,d\n5,e\n6,6\n7,7\n8,h\n9,i\n"

// feeding returns what begins a run that feeds the records that the rig's run rejected again, with chunks of so many rows.
func feeding(r *rig, rows string) activities.OpenInput {
	r.t.Helper()
	of, chunks := r.document, strings.NewReplacer("rows: 3", "rows: "+rows, "text: int", "text: string", "a.csv", "b.csv")
	defer func() { r.document = of }()
	r.document = chunks.Replace(of)
	in := r.open()
	in.Run, in.Retry = retryID, &activities.RetryInput{Of: runID}
	return in
}

func TestOpeningARetryTwiceIsOpeningItOnce(t *testing.T) {
	r := newRig(t, refusing, map[string]string{"in.csv": refusedRows})
	r.play()
	r.twice, r.forgetful = true, true
	call[resumepoint.Plan](r, act.OpenRun, feeding(r, "3"))
	retried, err := r.log.Retried(t.Context(), retryID)
	require.NoError(t, err)
	var rows []int64
	for _, row := range retried {
		require.Equal(t, "in", row.Source)
		rows = append(rows, row.Row)
	}
	require.Equal(t, []int64{1, 3, 4, 5, 8, 9}, rows)
	run, err := r.log.Run(t.Context(), retryID)
	require.NoError(t, err)
	require.Equal(t, []string{runID, string(landscape.RetryLink)}, []string{run.Parent, string(run.Link)})
}

func TestASecondRetryFindsNothingLeft(t *testing.T) {
	r := newRig(t, refusing, map[string]string{"in.csv": refusedRows})
	r.play()
	first := feeding(r, "3")
	call[resumepoint.Plan](r, act.OpenRun, first)
	call[none](r, act.StopRun, activities.StopInput{Run: first.Run, Status: pipeline.Failed, Reason: "its target is free"})
	other := feeding(r, "3")
	other.Run = "r3"
	_, err := try[resumepoint.Plan](r, act.OpenRun, other)
	require.Contains(t, requireFinal(t, err, activities.TypeNotRetryable), "no record of run r1 is left to be retried")
	_, err = r.log.Run(t.Context(), other.Run)
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

// TestRecordsAreFedTheSameFromEveryCursor reads with chunks that are smaller and larger than those of the run that rejected the
// records, by one process and by a new one for every chunk.
func TestRecordsAreFedTheSameFromEveryCursor(t *testing.T) {
	r := newRig(t, refusing, map[string]string{"in.csv": refusedRows})
	for rows, want := range map[string][]int64{"1": {1, 1, 1, 1, 1, 1}, "2": {2, 2, 2}, "100": {2, 2, 2}} {
		for _, forgetful := range []bool{false, true} {
			r.reset(t)
			r.play()
			r.forgetful = forgetful
			call[resumepoint.Plan](r, act.OpenRun, feeding(r, rows))
			require.Equal(t, want, r.readAgain())
			r.forgetful = false
			r.requireFed()
		}
	}
}

// readAgain reads the records that are retried to their end, and returns how many came with each chunk.
func (r *rig) readAgain() []int64 {
	r.t.Helper()
	var sizes []int64
	var cursor plugin.Cursor
	for {
		in := activities.ReadInput{Source: "in", Chunk: int64(len(sizes)), Cursor: cursor}
		batch := activities.Batch[activities.ReadInput]{Run: retryID, Each: []activities.ReadInput{in}}
		read := call[activities.Results[activities.ReadResult]](r, act.Read, batch).Each[0]
		if read.Done {
			return sizes
		}
		sizes, cursor = append(sizes, int64(read.Rows)), read.Cursor
	}
}

// requireFed requires the records as they are in the file, with their places.
func (r *rig) requireFed() {
	r.t.Helper()
	var records []string
	for record, err := range r.log.Chunks(r.t.Context(), retryID, "in") {
		require.NoError(r.t, err)
		in, err := recompute.Chunk(r.t.Context(), r.log.Reader, r.payloads, nil, record)
		require.NoError(r.t, err)
		for i := range in.Chunk.Len() {
			text := string(in.Chunk.Record(i))
			begin := int(in.Chunk.FirstOffset) + int(in.Chunk.Offsets[i])
			require.Equal(r.t, text, refusedRows[begin:begin+len(text)])
			require.Equal(r.t, int64(strings.Count(refusedRows[:begin], "\n")+1), in.Chunk.Line(i), text)
			require.Equal(r.t, "in.csv", in.Chunk.File)
			records = append(records, text)
		}
	}
	require.Equal(r.t, []string{"1,a", "3,c", "4,d", "5,e", "8,h", "9,i"}, records)
}

func TestAListThatIsGoneIsSaid(t *testing.T) {
	r := newRig(t, refusing, map[string]string{"in.csv": refusedRows})
	r.play()
	call[resumepoint.Plan](r, act.OpenRun, feeding(r, "3"))
	sources, err := r.log.Sources(t.Context(), retryID)
	require.NoError(t, err)
	_, found, err := recompute.ReadRetryList(t.Context(), r.payloads, "in", sources[0].Info)
	require.NoError(t, err)
	require.True(t, found)
	_, _, err = recompute.ReadRetryList(t.Context(), r.payloads, "other", sources[0].Info)
	require.ErrorContains(t, err, `a list of source "in" of run "r1", not of other`)
	for text, says := range map[string]string{
		`{"parent":"r1","source":"in","chunks":[{"chunk":0,"rows":[2,1]}]}`:                          "row 1 of the list comes after row 2",
		`{"parent":"r1","source":"in","chunks":[{"chunk":1,"rows":[2]},{"chunk":0,"rows":[3]}]}`:     "chunk 0 of the list comes after chunk 1",
		`{"parent":"r1","source":"in","chunks":[{"chunk":0,"rows":[2]},{"chunk":0,"rows":[3,5,5]}]}`: "row 5 of the list comes after row 5",
		`{"parent":"r1","source":"in","chunks":[{"chunk":0,"rows":[]}]}`:                             "chunk 0 of the list",
		`{`: "unexpected end of JSON input",
	} {
		digest, err := r.payloads.Put(t.Context(), []byte(text))
		require.NoError(t, err)
		_, _, err = recompute.ReadRetryList(t.Context(), r.payloads, "in", `{"list":"`+string(digest)+`"}`)
		require.ErrorContains(t, err, says)
	}
}

func TestAPlaceInTheListIsFoundFromBothEnds(t *testing.T) {
	list := recompute.RetryList{Parent: "r1", Source: "in", Chunks: []recompute.RetryChunk{{Chunk: 0, Rows: []int64{2, 5}}, {Chunk: 3, Rows: []int64{40}}}}
	require.EqualValues(t, 3, list.Rows())
	for n, want := range map[int64][2]int64{1: {0, 2}, 2: {0, 5}, 3: {3, 40}} {
		chunk, row, found := list.Was(n)
		require.True(t, found)
		require.Equal(t, want, [2]int64{chunk, row})
		require.Equal(t, n, list.Is(row))
	}
	for _, n := range []int64{0, 4, -1} {
		_, _, found := list.Was(n)
		require.False(t, found, n)
	}
	require.Zero(t, list.Is(3))
}
