package resume_test

import (
	"database/sql"
	"encoding/base64"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/tests/inprocess"
	"waymark/workflows"
)

// TestARefusedResumeWritesNothing refuses to resume runs of every status because a source changed: their records stay as they
// are, and the error says what changed.
func TestARefusedResumeWritesNothing(t *testing.T) {
	stops := map[pipeline.RunStatus]func(*bench) error{
		pipeline.Cancelled: func(b *bench) error {
			return b.cancelEarly("stopped", workflows.Command{Actor: "ann", Why: "lunch"})
		},
		pipeline.Interrupted: func(b *bench) error {
			return b.cancelEarly("stopped", workflows.Command{Actor: "ann", Why: "lunch", As: pipeline.Interrupted})
		},
		pipeline.Running: func(b *bench) error {
			b.Fate = inprocess.DiesAt(60, false).Fate
			return b.begin("stopped", everything)
		},
		pipeline.Failed: func(b *bench) error {
			b.Fate = refuse(inprocess.Write)
			return b.begin("stopped", everything)
		},
	}
	for status, stop := range stops {
		t.Run(string(status), func(t *testing.T) {
			b := newBench(t)
			b.write(everyInput)
			if err := stop(b); err != nil {
				require.Contains(t, []pipeline.RunStatus{pipeline.Running, pipeline.Failed}, status, "%v", err)
			}
			require.Equal(t, status, b.status("stopped"))
			b.write(map[string]string{"first.csv": numbered(15)})
			before, staged := b.Dump(t, "stopped"), b.outputs("")
			b.Fate = nil
			err := b.Resume(t, "stopped", nil)
			requireType(t, err, activities.TypeSourceChanged)
			require.ErrorContains(t, err, "SOURCE_CHANGED: source first is not what it was when run stopped began: first.csv had 79 bytes")
			require.Equal(t, before, b.Dump(t, "stopped"))
			require.Equal(t, staged, b.outputs(""))
		})
	}
}

// TestACompleteRunIsNotResumed refuses to resume runs with nothing left to do.
func TestACompleteRunIsNotResumed(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	require.NoError(t, b.begin("complete", everything))
	before, outputs := b.Dump(t, "complete"), b.outputs("")
	requireType(t, b.Resume(t, "complete", nil), activities.TypeNotResumable)
	require.Equal(t, before, b.Dump(t, "complete"))
	require.Equal(t, outputs, b.outputs(""))
}

// TestARunThatFailsWhenItIsResumedSaysSo has a target that cannot be opened when its run is resumed: the new epoch has begun, and
// its end is recorded.
func TestARunThatFailsWhenItIsResumedSaysSo(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	b.Fate = refuse(inprocess.Open)
	requireType(t, b.begin("closed", everything), activities.TypeTarget)
	b.Fate = refuse(inprocess.Open)
	requireType(t, b.Resume(t, "closed", nil), activities.TypeTarget)
	on, err := b.Log.Run(t.Context(), "closed")
	require.NoError(t, err)
	require.Equal(t, pipeline.Failed, on.Status)
	require.EqualValues(t, 1, on.Epoch)
	require.NoDirExists(t, filepath.Join(b.Folder, "out"))
	b.Fate = nil
	require.NoError(t, b.Resume(t, "closed", nil))
	b.sound("closed")
	taken, err := b.Log.Resumptions(t.Context(), "closed")
	require.NoError(t, err)
	require.Len(t, taken, 2)
	require.Equal(t, []pipeline.RunStatus{pipeline.Failed, pipeline.Failed}, []pipeline.RunStatus{taken[0].Was, taken[1].Was})
}

// refuse returns a fate in which targets refuse one kind of deeds.
func refuse(kind inprocess.Kind) inprocess.Fate {
	return func(deed inprocess.Deed) (bool, error) {
		if deed.Kind == kind {
			return false, refusing(deed.Sink)
		}
		return true, nil
	}
}

// TestResumeNoticesChangedHeader has a cursor on record that continues with another header than the chunk was
// read with. Check says so as well, and the record stays as it is.
func TestResumeNoticesChangedHeader(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	b.Fate = inprocess.DiesAt(60, false).Fate
	require.Error(t, b.begin("stopped", everything))
	b.Fate = nil
	require.NoError(t, activities.Check(t.Context(), activities.New(b.Log, b.Payloads, b.Planner, "test"), "stopped"))
	db, err := sql.Open("sqlite", b.Database)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `drop trigger chunks_keep; update chunks set cursor = replace(cursor, ?, ?)`,
		base64.StdEncoding.EncodeToString([]byte("id,n")), base64.StdEncoding.EncodeToString([]byte("n,id")))
	require.NoError(t, errors.Join(err, db.Close()))
	before, staged := b.Dump(t, "stopped"), b.outputs("")
	err = b.Resume(t, "stopped", nil)
	requireType(t, err, activities.TypeStateDiverged)
	require.ErrorContains(t, err, `was read with the header "id,n", and the cursor on record continues with "n,id"`)
	require.Equal(t, before, b.Dump(t, "stopped"))
	require.Equal(t, staged, b.outputs(""))
	err = activities.Check(t.Context(), activities.New(b.Log, b.Payloads, b.Planner, "test"), "stopped")
	require.ErrorContains(t, err, "was read with the header")
}
