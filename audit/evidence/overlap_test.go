package evidence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
)

// signedBy returns which of these keys signed the checkpoint of the anchor, each alone as a reader who knows no other sees it, and in which order the lines are.
func (p *place) signedBy(vkeys ...string) (by []string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.anchor, "checkpoint"))
	require.NoError(p.t, err)
	var all []note.Verifier
	for _, vkey := range vkeys {
		all = append(all, verifierOf(p.t, vkey))
		n, err := note.Open(text, note.VerifierList(all[len(all)-1]))
		if err != nil {
			require.ErrorAs(p.t, err, new(*note.UnverifiedNoteError))
			continue
		}
		require.Len(p.t, n.Sigs, 1)
	}
	n, err := note.Open(text, note.VerifierList(all...))
	require.NoError(p.t, err)
	require.Empty(p.t, n.UnverifiedSigs)
	for _, s := range n.Sigs {
		for i, v := range all {
			if v.KeyHash() == s.Hash {
				by = append(by, vkeys[i])
			}
		}
	}
	return by
}

// TestOldKeySignsBesideTheNew: for 30 days a head has the signatures of both, as golang.org/x/mod/sumdb/note makes and reads them, and then of the new one alone.
// The log says since when.
func TestOldKeySignsBesideTheNew(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	done := p.rotate()
	both := []string{done.New, done.Old}
	require.Equal(t, both, p.signedBy(done.Old, done.New))
	p.runs("r2")
	p.now = done.Until.Add(-time.Microsecond)
	p.runs("r3")
	require.Equal(t, both, p.signedBy(done.Old, done.New))
	text, err := os.ReadFile("anchor/checkpoint")
	require.NoError(t, err)
	now, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	body, _, _ := strings.Cut(string(text), "\n\n")
	theirs, err := note.Sign(&note.Note{Text: body + "\n"}, now, p.old(done))
	require.NoError(t, err)
	require.Equal(t, string(theirs), string(text))
	heads, err := os.ReadFile("anchor/heads.log")
	require.NoError(t, err)
	for line := range strings.Lines(string(heads)) {
		require.Len(t, strings.Fields(line), 3, "its form is as before")
	}
	for _, key := range both {
		for _, run := range []string{"r1", "r2", "r3"} {
			_, err := p.proven(run, only(t, key))
			require.NoError(t, err)
		}
	}
	require.Equal(t, done.Until, p.known()[0].Until)
	require.Empty(t, p.check().Problems)

	p.now = done.Until
	entries := p.check().Entries
	p.runs("r4")
	p.runs("r5")
	require.Equal(t, []string{done.New}, p.signedBy(done.Old, done.New))
	report := p.check()
	require.Empty(t, report.Problems)
	require.Equal(t, entries+3, report.Entries, "one entry says so, once")
	old := p.known()[0]
	require.Equal(t, evidence.KnownKey{Key: done.Old, Kind: "log", Replaced: done.Entry, Retired: entries + 1}, old)
	for _, key := range both {
		proven, err := p.proven("r5", only(t, key))
		require.NoError(t, err, "the entries name the new key")
		require.Equal(t, done.New, proven.Key)
	}
}

// TestOldKeyIsNotAtHand: a head has then the signature of the new key alone, each process that opens the log warns, and nothing stops. It signs again once it is back.
func TestOldKeyIsNotAtHand(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	done := p.rotate()
	silent := func() (why []error) {
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			why = e.Silent
			require.Equal(t, len(why), len(evidence.Silent(t.Context(), e.Log.Reader, p.keys, p.now)))
		}))
		return why
	}
	require.Empty(t, silent())
	kept, err := os.ReadFile(done.Kept)
	require.NoError(t, err)
	for i, spoil := range []struct {
		do  func() error
		why string
	}{
		{func() error { return os.Remove(done.Kept) }, done.Kept + ": no such key"},
		{func() error { return os.WriteFile(done.Kept, []byte("x"), 0o600) }, "is no key"},
		{func() error { return os.Chmod(done.Kept, 0o640) }, "chmod 600"},
		{func() error {
			copyFile(t, filepath.Join(p.keys, "log.key"), done.Kept)
			return os.Chmod(done.Kept, 0o600)
		}, "is another key than"},
	} {
		require.NoError(t, spoil.do())
		p.runs(fmt.Sprintf("r2%d", i))
		require.Equal(t, []string{done.New}, p.signedBy(done.Old, done.New))
		require.Len(t, silent(), 1)
		require.ErrorContains(t, silent()[0], "until "+done.Until.Format(time.DateOnly)+": put back its file, or send them the new policy: ")
		require.ErrorContains(t, silent()[0], spoil.why)
	}
	require.Empty(t, p.check().Problems)
	require.NoError(t, os.WriteFile(done.Kept, kept, 0o600))
	p.runs("r3")
	require.Equal(t, []string{done.New, done.Old}, p.signedBy(done.Old, done.New))

	require.NoError(t, os.Remove(done.Kept))
	p.now = done.Until
	require.Empty(t, silent(), "it is not wanted any more")
}

// TestTwoRotationsOverlap: each key that was replaced signs for 30 days from then on.
func TestTwoRotationsOverlap(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	first := p.rotate()
	p.now = p.now.Add(10 * 24 * time.Hour)
	second := p.rotate()
	require.Equal(t, first.New, second.Old)
	all := []string{second.New, first.New, first.Old}
	require.Equal(t, all, p.signedBy(all...))
	p.now = first.Until
	p.runs("r2")
	require.Equal(t, all[:2], p.signedBy(all...))
	p.now = second.Until
	p.runs("r3")
	require.Equal(t, all[:1], p.signedBy(all...))
	require.Empty(t, p.check().Problems)
}

// TestFalseRetirements: no key stops signing because of an entry that the log's key did not sign, or that names a key which was not replaced or is retired already.
func TestFalseRetirements(t *testing.T) {
	retire := func(p *place, by keys.Key, key, at string) {
		p.said(by, "retired/"+key, fmt.Sprintf(`{"at":"2026-11-23T20:18:03.68097%sZ","key":"%s","n":"x","type":"retired","v":1}`, at, key))
	}
	for name, attack := range map[string]struct {
		do   func(p *place, old, now keys.Key)
		want string
	}{
		"the old key signed it":   {func(p *place, old, _ keys.Key) { retire(p, old, old.VKey, "6") }, "it is not signed by the key that the log has there"},
		"it names the key of now": {func(p *place, _, now keys.Key) { retire(p, now, now.VKey, "6") }, "it names no key that was replaced and still signs heads"},
		"it names a stranger":     {func(p *place, _, now keys.Key) { retire(p, now, newKey(p.t, now.Name()).VKey, "6") }, "it names no key that was replaced"},
		"it names a sealer's key": {func(p *place, _, now keys.Key) { retire(p, now, p.known()[1].Key, "6") }, "it names no key that was replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.runs("r1")
			done := p.rotate()
			now, err := keys.Load(p.keys, keys.Log)
			require.NoError(t, err)
			attack.do(p, p.old(done), now)
			require.Contains(t, p.problems(), "does not count: "+attack.want)
			p.runs("r2")
			require.Equal(t, []string{done.New, done.Old}, p.signedBy(done.Old, done.New))
			require.EqualValues(t, 1, p.check().Refused)
		})
	}
}
