package activities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/plugin"
)

// repeatsDocument has two unique fields, and a deduplicate whose keys are seldom.
const repeatsDocument = `name: repeats
chunk: {rows: 4}
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: {type: int, optional: true, unique: true}, code: {type: int, optional: true, unique: true}, kind: string}}
    on_invalid: quarantine
steps:
  - {name: once, deduplicate: {key: [kind]}}
sinks: {all: {jsonl: {path: out/all.jsonl}}}
`

// repeatsFile returns rows of which many have the id, the code or the kind of an earlier one, near and far. It says what becomes of
// each: the message with which it is rejected, the row whose kind it repeats, or neither.
func repeatsFile(rows int) (text string, rejected map[int]string, dropped map[int]int, kept []int) {
	ids, codes, kinds := map[int]int{}, map[int]int{}, map[int]int{}
	rejected, dropped = map[int]string{}, map[int]int{}
	var b strings.Builder
	b.WriteString("id,code,kind\n")
	for row := 1; row <= rows; row++ {
		id, code, kind := row*7%(rows/2*2-1), row*row%(rows*3), row*row*row%rows
		cells := []string{fmt.Sprint(id), fmt.Sprint(code), fmt.Sprint(kind)}
		var said string
		for i, field := range []struct {
			value int
			had   map[int]int
		}{{id, ids}, {code, codes}} {
			if row%11 == i {
				cells[i] = "" // null is like no other
				continue
			}
			if first := field.had[field.value]; first == 0 {
				field.had[field.value] = row
			} else if said == "" {
				said = fmt.Sprintf("%s: row %d has the same value", []string{"id", "code"}[i], first)
			}
		}
		switch {
		case said != "":
			rejected[row] = said
		case kinds[kind] > 0:
			dropped[row] = kinds[kind]
		default:
			kinds[kind] = row
			kept = append(kept, row)
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String(), rejected, dropped, kept
}

// TestAheadOfTurns reads all chunks, sends some or all of them through the steps ahead, and lets them have their turns: in the process
// that did so, in others that take turns, and with every turn taken twice. Which rows are repeats of which must not hang on that.
func TestAheadOfTurns(t *testing.T) {
	const rows, chunks = 60, 15
	text, rejected, dropped, kept := repeatsFile(rows)
	require.Greater(t, len(rejected), 10)
	require.Greater(t, len(dropped), 2)
	require.Greater(t, len(kept), 15)
	r := newRig(t, repeatsDocument, map[string]string{"in.csv": text})
	for _, c := range []struct {
		name      string
		ahead     func(chunk int64) bool
		processes int // that take turns
		twice     bool
	}{
		{"none ahead", func(int64) bool { return false }, 1, false},
		{"all ahead", func(int64) bool { return true }, 1, false},
		{"some ahead", func(chunk int64) bool { return chunk%3 > 0 }, 1, true},
		{"by turns", func(chunk int64) bool { return chunk%3 > 0 }, 2, true},
		{"by three", func(int64) bool { return false }, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.reset(t)
			opened := call[resumepoint.Plan](r, act.OpenRun, r.open())
			require.True(t, opened.Ordered)
			processes := make([]*activities.Activities, c.processes)
			for i := range processes {
				processes[i] = activities.New(r.log, r.payloads, r.planner, "test")
			}
			r.become(processes[0])
			var cursor plugin.Cursor
			for chunk := range int64(chunks) {
				cursor = call[activities.ReadResult](r, act.Read, activities.ReadInput{Source: "in", Chunk: chunk, Cursor: cursor}).Cursor
				if c.ahead(chunk) {
					call[activities.PassResult](r, act.Pass, activities.PassInput{Mode: activities.PassAhead, Source: "in", Chunk: chunk})
				}
			}
			r.twice = c.twice
			places := newPlaces(opened)
			for chunk := range int64(chunks) {
				r.become(processes[int(chunk)%len(processes)])
				in := activities.PassInput{Mode: activities.PassTurn, Source: "in", Chunk: chunk, Before: chunk}
				for _, part := range call[activities.PassResult](r, act.Pass, in).Parts {
					r.become(processes[int(chunk+1)%len(processes)]) // which may not have the part
					call[none](r, act.Write, places.next(in, part))
				}
			}
			r.twice = false
			requireRepeats(r, rejected, dropped, kept)
		})
	}
}

// requireRepeats requires that what is recorded of every row, and what was written, is as repeatsFile says.
func requireRepeats(r *rig, rejected map[int]string, dropped map[int]int, kept []int) {
	r.t.Helper()
	rows := len(rejected) + len(dropped) + len(kept)
	for row := 1; row <= rows; row++ {
		token := landscape.Token{Source: "in", Row: int64(row)}
		errors, err := r.log.ErrorsOf(r.t.Context(), runID, token)
		require.NoError(r.t, err)
		said := ""
		for _, e := range errors {
			said += e.Field + ": " + e.Message
		}
		require.Equal(r.t, rejected[row], said, "row %d", row)
		first, err := r.log.FirstOf(r.t.Context(), runID, "once", token)
		if dropped[row] == 0 {
			require.ErrorIs(r.t, err, landscape.ErrNotFound, "row %d", row)
			continue
		}
		require.NoError(r.t, err)
		require.Equal(r.t, landscape.Token{Source: "in", Row: int64(dropped[row])}, first, "row %d", row)
	}
	effects, err := r.log.Effects(r.t.Context(), runID)
	require.NoError(r.t, err)
	written := int64(0)
	for _, effect := range effects {
		if effect.Kind == landscape.PublishEffect {
			continue
		}
		require.Equal(r.t, landscape.Finalized, effect.State)
		written += effect.Rows
	}
	require.EqualValues(r.t, len(kept), written)
}

// TestTurnsAreOnRecordBeforeTheNext asks for a turn that cannot be the next, because the chunks before it are not recorded,
// and for a chunk outside of all turns.
func TestTurnsAreOnRecordBeforeTheNext(t *testing.T) {
	text, _, _, _ := repeatsFile(12)
	r := newRig(t, repeatsDocument, map[string]string{"in.csv": text})
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	var cursor plugin.Cursor
	for chunk := range int64(2) {
		cursor = call[activities.ReadResult](r, act.Read, activities.ReadInput{Source: "in", Chunk: chunk, Cursor: cursor}).Cursor
	}
	_, err := try[activities.PassResult](r, act.Pass, activities.PassInput{Mode: activities.PassTurn, Source: "in", Chunk: 1, Before: 1})
	require.ErrorContains(t, err, "0 chunks went through the steps on record, and 1 had their turns")
	_, err = try[activities.PassResult](r, act.Pass, passInput)
	require.Contains(t, requireFinal(t, err, activities.TypeStateDiverged), `in the mode "now", which is not that of run r1`)
}
