package landscapetest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// ArchiveOf is an archive of a run with a root, and a bundle that is none.
func ArchiveOf(run string, root []byte) landscape.Archive {
	return landscape.Archive{
		Run: run, Location: "/archive/" + run + ".zip", Bytes: 17, SHA256: strings.Repeat("a", 64), Manifest: strings.Repeat("b", 64), Root: root, Actor: "ann", Why: "old",
	}
}

// Archived archives a run that has ended, as if its bundle was verified.
func Archived(ctx context.Context, log *landscape.Log, run string) error {
	last, err := log.LastSeal(ctx, run)
	if err == nil {
		_, err = log.Archive(ctx, ArchiveOf(run, last.Root))
	}
	return err
}

// recordsOfRun counts the records of a run in the tables of landscape.Archivable.
func recordsOfRun(t *testing.T, d landscape.Driver, run string) (n int) {
	t.Helper()
	for _, table := range landscape.Archivable() {
		require.NoError(t, d.Read(t.Context(), table.Zero(), landscape.Query{Prefix: []any{run}}, func(landscape.Record) bool { n++; return true }))
	}
	return n
}

// archives holds that all records of a run go, and none of another run.
func archives(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil).SealedBy(Sealer{})
	require.NoError(t, log.AppendToLog(ctx, EntryAbout("genesis")))
	require.NoError(t, GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6}.PlayToEnd(ctx, log))
	require.NoError(t, log.FinishRun(ctx, "graph", pipeline.CompletedWithFailures, ""))
	for _, run := range []string{"old", "other"} {
		s := Scene{Run: run, Chunks: 2, ChunkRows: 20, Late: func(_ string, row int64) bool { return row%7 == 1 }}
		require.NoError(t, s.Play(ctx, log))
	}
	require.Error(t, d.Commit(ctx, landscape.Tx{Remove: "old"}), "it is not archived")
	others, packs := recordsOfRun(t, d, "other"), payloadsOf(t, log, "old")
	require.NotEmpty(t, packs)
	for _, run := range []string{"old", "graph"} {
		require.Positive(t, recordsOfRun(t, d, run))
		outputs := stored[landscape.ArtifactRecord](t, d, run)
		require.NotEmpty(t, outputs)
		sealed, err := log.LastSeal(ctx, run)
		require.NoError(t, err)
		require.NoError(t, Archived(ctx, log, run))
		require.Zero(t, recordsOfRun(t, d, run))
		require.Equal(t, outputs, stored[landscape.ArtifactRecord](t, d, run), "others need to know who replaced what")
		require.ErrorAs(t, Archived(ctx, log, run), new(*landscape.ArchivedError))
		archive, err := log.ArchiveOf(ctx, run)
		require.NoError(t, err)
		require.Equal(t, sealed.Root, archive.Root)
		after, err := log.LastSeal(ctx, run)
		require.NoError(t, err)
		require.Equal(t, sealed, after, "it stays")
		_, err = log.RunSalts(ctx, run, sealed.Seq)
		require.NoError(t, err, "they open the leaves of the bundle")
		_, err = log.LogEntryAbout(ctx, "archived/"+run)
		require.NoError(t, err)
		require.NoError(t, d.Commit(ctx, landscape.Tx{Insert: []landscape.Record{*archive}, Remove: run}), "repeated, because its answer was lost")
	}
	require.Equal(t, packs, payloadsOf(t, log, "old"), "the landscape still knows them")
	require.Equal(t, others, recordsOfRun(t, d, "other"))
	RequireSealed(t, log, "other")
	runs, err := log.Archives(ctx)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	other, err := log.ArchiveOf(ctx, "other")
	require.NoError(t, err)
	require.Nil(t, other)
}

func payloadsOf(t *testing.T, log *landscape.Log, run string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, class := range landscape.Classes {
		require.NoError(t, log.PayloadsOf(t.Context(), run, class, func(payload string) bool { found[payload] = true; return true }))
	}
	return found
}

// Archives holds a driver whose database guards the records of runs: what is not archived, held, or about to be forgotten stays; and payloads of archived runs are
// in use as those of others.
func Archives(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	require.NoError(t, Logged(ctx, landscape.New(d, nil)))
	log := landscape.New(d, nil).SealedBy(Sealer{})
	s := Scene{Run: "r1", Chunks: 2, ChunkRows: 20}
	require.NoError(t, s.PlayToEnd(ctx, log))
	_, err := log.Archive(ctx, ArchiveOf("r1", []byte(strings.Repeat("r", 32))))
	require.ErrorContains(t, err, "not a run that has ended")
	require.NoError(t, log.FinishRun(ctx, "r1", pipeline.CompletedWithFailures, ""))
	_, err = log.Archive(ctx, ArchiveOf("r1", []byte(strings.Repeat("r", 32))))
	require.ErrorContains(t, err, "with this seal")
	require.NoError(t, Scene{Run: "r2", Chunks: 2, ChunkRows: 20}.PlayToEnd(ctx, log))
	require.NoError(t, log.StopRun(ctx, "r2", pipeline.Failed, "no reason"))
	require.ErrorContains(t, Archived(ctx, log, "r2"), "not a run that has ended", "it can be resumed")

	hold, err := log.AddHold(ctx, landscape.Hold{Run: "r1", Actor: "ann", Why: "case 17"})
	require.NoError(t, err)
	require.ErrorIs(t, Archived(ctx, log, "r1"), landscape.ErrInUse, "it is held")
	require.NoError(t, log.EndHold(ctx, hold.ID, "bob", "closed"))
	order, err := log.BeginForgetting(ctx, landscape.Purge{Actor: "ann", Why: "request 88"}, []string{"r1"}, []landscape.RowKey{{Run: "r1", Source: "strikes", Row: 3}})
	require.NoError(t, err)
	require.ErrorContains(t, Archived(ctx, log, "r1"), "are being forgotten")
	require.NoError(t, log.Blank(ctx, 1, "r1", landscape.ChunkKey{Source: "strikes"}))
	_, err = log.EndForgetting(ctx, landscape.Forgetting{Order: order.ID, Rows: 1}, "certificate\n")
	require.NoError(t, err)

	last, err := log.LastSeal(ctx, "r1")
	require.NoError(t, err)
	before := recordsOfRun(t, d, "r1")
	require.Error(t, d.Commit(ctx, landscape.Tx{Insert: []landscape.Record{ArchiveOf("r1", last.Root)}, Remove: "r1"}), "nothing would know its payloads")
	require.Error(t, d.Commit(ctx, landscape.Tx{Insert: []landscape.Record{landscape.ArchivedPayload{Run: "r1", Payload: digest("pack", 0), Class: landscape.SourceClass}}}))
	require.Equal(t, before, recordsOfRun(t, d, "r1"))
	require.NoError(t, Archived(ctx, log, "r1"))
	require.Zero(t, recordsOfRun(t, d, "r1"))
	require.Len(t, stored[landscape.Forgotten](t, d, "r1"), 1, "it stays")
	archivedPayloads(t, log)
}

// archivedPayloads holds that a payload is purged once the order is about all runs that refer to it, archived ones as well.
func archivedPayloads(t *testing.T, log *landscape.Log) {
	t.Helper()
	ctx := t.Context()
	pack := digest("pack", 1)
	one, err := log.BeginPurge(ctx, landscape.Purge{Actor: "ann", Why: "old", Rules: "{}"}, []landscape.PurgedRun{due(t, log, "r2")})
	require.NoError(t, err)
	_, err = log.BeginDeletion(ctx, one.ID, pack)
	require.ErrorIs(t, err, landscape.ErrInUse, "the archived run r1 refers to it")
	both, err := log.BeginPurge(ctx, landscape.Purge{Actor: "ann", Why: "old", Rules: "{}"}, []landscape.PurgedRun{due(t, log, "r1"), due(t, log, "r2")})
	require.NoError(t, err)
	begun, err := log.BeginDeletion(ctx, both.ID, pack)
	require.NoError(t, err)
	require.Len(t, begun, 1)
}
