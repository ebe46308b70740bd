package evidence_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/landscape"
)

// junk is an entry that the writer of the landscape appends without any key.
func junk(about string) landscape.LogEntry {
	leaf := tlog.RecordHash([]byte("junk"))
	return landscape.LogEntry{About: about, Entry: "junk", Leaf: leaf[:]}
}

// garbage is a head that nothing signed.
func garbage(size int64) landscape.SignedHead {
	return landscape.SignedHead{Size: size, Root: make([]byte, 32), Note: "garbage"}
}

// provable requires that the entry of a run is under a head that verifies.
func provable(t *testing.T, log *landscape.Reader, run string) {
	t.Helper()
	proofs, _, err := evidence.ProofsOf(t.Context(), log, run, evidence.Beside{})
	require.NoError(t, err)
	proven, err := evidence.VerifyProofs(nil, proofs)
	require.NoError(t, err)
	require.Equal(t, run, proven.Entries[len(proven.Entries)-1].Run)
}

// TestWriterCannotStopTheSigning: what a role that may insert into the log's tables puts there does not count, and is
// in nothing's way.
func TestWriterCannotStopTheSigning(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		ctx := t.Context()
		// A head of the newest size, noted as anchored, is none.
		require.NoError(t, e.Log.AppendToLog(ctx, junk("x")))
		require.NoError(t, e.Log.RecordHead(ctx, garbage(4), nil))
		require.NoError(t, e.Log.RecordAnchored(ctx, landscape.Anchored{Anchor: p.anchor, Size: 4}))
		b, err := evidence.BacklogOf(ctx, e.Log.Reader, p.anchors())
		require.NoError(t, err)
		require.EqualValues(t, 4, b.Entries)
		require.EqualValues(t, 3, b.Signed)
		require.Equal(t, []evidence.Anchor{{Anchor: p.anchor, Entries: 3}}, b.Anchors)
		foreign, err := evidence.ForeignHeads(ctx, e.Log.Reader)
		require.NoError(t, err)
		require.EqualValues(t, 1, foreign)

		// The log goes on: the junk is refused, and a later head covers all.
		require.NoError(t, e.Notary.Pass(ctx))
		signedToItsEnd(t, p, e, 6)
		p.begin(e, "r2")
		require.NoError(t, e.Notary.Pass(ctx))
		signedToItsEnd(t, p, e, 7)
		provable(t, e.Log.Reader, "r2")

		// Hashes that come later are there already, and wrong.
		var hashes []landscape.LogHash
		next := tlog.StoredHashCount(7)
		for number := range int64(1100) {
			hashes = append(hashes, landscape.LogHash{Number: next + number, Hash: bytes.Repeat([]byte{1}, 32)})
		}
		require.NoError(t, e.Log.RecordHead(ctx, garbage(1), hashes))
		for i := range 20 {
			p.begin(e, fmt.Sprintf("s%02d", i))
			require.NoError(t, e.Notary.Pass(ctx))
		}
		signedToItsEnd(t, p, e, 27)
		var more []landscape.LogEntry // which fill tiles, and so make one of the level above
		for i := range 260 {
			more = append(more, junk(fmt.Sprintf("more/%d", i)))
		}
		require.NoError(t, e.Log.AppendToLog(ctx, more...))
		require.NoError(t, e.Notary.Pass(ctx))
		signedToItsEnd(t, p, e, 27+2*260)
		provable(t, e.Log.Reader, "r2")
		provable(t, e.Log.Reader, "s11")
	}))
	// Another process, which knows nothing of that, goes on as well.
	p.runs("r3")
	var problems []string
	for _, problem := range p.check().Problems {
		problems = append(problems, problem.Where)
	}
	require.ElementsMatch(t, []string{"log_heads 1", "log_heads 4", "log_hashes", "log_anchors"}, problems)
}

// signedToItsEnd requires that the log has so many entries, all signed and anchored.
func signedToItsEnd(t *testing.T, p *place, e *evidence.Evidence, entries int64) {
	t.Helper()
	b, err := evidence.BacklogOf(t.Context(), e.Log.Reader, p.anchors())
	require.NoError(t, err)
	anchors := []evidence.Anchor{{Anchor: p.anchor, Entries: entries}}
	require.Equal(t, evidence.Backlog{Entries: entries, Signed: entries, Anchors: anchors}, b)
}

// TestWriterTakesThePlaceOfARun: an entry that does not count, and is there before a run begins, is not the run's.
func TestWriterTakesThePlaceOfARun(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, e.Log.AppendToLog(t.Context(), junk("began/r2")))
		p.begin(e, "r2")
		require.NoError(t, e.Notary.Pass(t.Context()))
		missing, err := evidence.MissingOf(t.Context(), e.Log.Reader, "r1")
		require.NoError(t, err)
		require.Empty(t, missing)
		missing, err = evidence.MissingOf(t.Context(), e.Log.Reader, "r2")
		require.NoError(t, err)
		require.Len(t, missing, 1)
		require.EqualValues(t, 3, missing[0].Position)
		require.Contains(t, missing[0].String(), "entry 3, which has the place of the entry about that, does not count: it is not a note")
		_, _, err = evidence.CheckedSeal(t.Context(), e.Log.Reader, "r2")
		require.ErrorIs(t, err, landscape.ErrSealBroken)
	}))
}

// TestWriterCannotPreventOrdersAboutKeys: an entry in the place of the one that revokes or admits a key is in nothing's
// way, and what is said then cannot be said again by a copy.
func TestWriterCannotPreventOrdersAboutKeys(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	worker := newKey(t, "worker.example/sealer")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		ctx := t.Context()
		require.NoError(t, e.Log.AppendToLog(ctx, junk("key/"+worker.VKey), junk("revoked/"+worker.VKey)))
		_, err := e.Notary.Admit(ctx, worker.VKey, "a new worker")
		require.NoError(t, err)
		refused, err := evidence.Refuses(ctx, e.Log.Reader, worker.VKey)
		require.NoError(t, err)
		require.Empty(t, refused)
		size, err := e.Log.LogSize(ctx)
		require.NoError(t, err)
		_, err = e.Notary.Revoke(ctx, worker.VKey, "it was copied")
		require.NoError(t, err)
		refused, err = evidence.Refuses(ctx, e.Log.Reader, worker.VKey)
		require.NoError(t, err)
		require.Contains(t, refused, "was revoked")

		admitted, err := e.Log.LogEntries(ctx, size-3, 3) // and the two refusals
		require.NoError(t, err)
		for _, copied := range admitted {
			copied.About += "/x"
			require.NoError(t, e.Log.AppendToLog(ctx, copied))
		}
		require.NoError(t, e.Notary.Pass(ctx))
		refused, err = evidence.Refuses(ctx, e.Log.Reader, worker.VKey)
		require.NoError(t, err)
		require.Contains(t, refused, "was revoked")
	}))
	require.Empty(t, p.check().Problems)
}

// TestForeignHeadOfTheNewestSize: where no size is left for a head, an entry that the log signs makes one, and the
// notary warns once.
func TestForeignHeadOfTheNewestSize(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		p.begin(e, "r2")
		require.NoError(t, e.Log.RecordHead(t.Context(), garbage(4), nil))
		var logged bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		passes := 0
		e.Notary.Work(ctx, time.Millisecond, slog.New(slog.NewTextHandler(&logged, nil)), func() {
			if passes++; passes == 3 {
				cancel()
			}
		})
		signedToItsEnd(t, p, e, 5)
		require.Equal(t, 1, strings.Count(logged.String(), "level=WARN"), logged.String())
		require.Contains(t, logged.String(), "log_heads=4")
		require.NotContains(t, logged.String(), "level=ERROR")
		entries, err := evidence.Entries(t.Context(), e.Log.Reader, 4, 1)
		require.NoError(t, err)
		require.Equal(t, evidence.Foreign, entries[0].Type)
		require.EqualValues(t, 4, entries[0].Statement.Position)
	}))
}
