package landscapetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// SignOff is a sign-off of a run's first seal, with a signature that is none.
func SignOff(run, person, role string) landscape.SignOff {
	return landscape.SignOff{Run: run, Person: person, Role: role, Statement: "{}", Signature: "s", Approver: person + " key", At: 1_700_000_000_000_000}
}

// SignedOff lets somebody sign off the last seal of a run.
func SignedOff(ctx context.Context, log *landscape.Log, run string) error {
	last, err := log.LastSeal(ctx, run)
	if err != nil {
		return err
	}
	signed := SignOff(run, "ann", "reviewer")
	signed.Seal = last.Seq
	_, err = log.RecordSignOff(ctx, signed)
	return err
}

// signOffs holds what a log says of runs that people signed off.
func signOffs(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "r", Chunks: 1, ChunkRows: 10}).SealedBy(Sealer{})
	require.NoError(t, log.AppendToLog(ctx, EntryAbout("genesis")))
	_, err := log.RecordSignOff(ctx, SignOff("r", "ann", "reviewer"))
	require.ErrorIs(t, err, landscape.ErrUnsealed)
	_, err = log.RecordSignOff(ctx, SignOff("other", "ann", "reviewer"))
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.NoError(t, log.StopRun(ctx, "r", pipeline.Failed, "broken"))
	none, err := log.SignOffs(ctx, "r")
	require.NoError(t, err)
	require.Nil(t, none)
	for i, s := range []landscape.SignOff{SignOff("r", "ann", "reviewer"), SignOff("r", "ann", "owner"), SignOff("r", "bob", "reviewer")} {
		recorded, err := log.RecordSignOff(ctx, s)
		require.NoError(t, err)
		require.EqualValues(t, i, recorded.Seq)
	}
	_, err = log.RecordSignOff(ctx, SignOff("r", "ann", "owner"))
	require.ErrorIs(t, err, landscape.ErrSignedOff)
	_, err = log.RecordSignOff(ctx, SignOff("r", "ann", "owner"), 0, 2)
	require.ErrorIs(t, err, landscape.ErrSignedOff, "those that do not count are others")
	again, err := log.RecordSignOff(ctx, SignOff("r", "ann", "owner"), 1)
	require.NoError(t, err)
	require.EqualValues(t, 3, again.Seq)
	later := SignOff("r", "cid", "owner")
	later.Seal = 1
	_, err = log.RecordSignOff(ctx, later)
	require.ErrorIs(t, err, landscape.ErrResealed)
	all, err := log.SignOffs(ctx, "r")
	require.NoError(t, err)
	require.Len(t, all, 4)
	entries, err := log.LogEntriesAbout(ctx, "signed-off/r/2")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	_, err = log.CheckSeals(ctx, "r")
	require.NoError(t, err, "a sign-off is no leaf of the seal that it signs")

	require.NoError(t, log.Resume(ctx, landscape.Resumption{Run: "r", Epoch: 1, Claim: "c"}))
	_, err = log.RecordSignOff(ctx, SignOff("r", "dan", "owner"))
	require.ErrorIs(t, err, landscape.ErrUnsealed)
}
