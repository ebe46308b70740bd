package evidence_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// next makes the key that follows the one in the folder of a place.
func (p *place) next(kind keys.Kind) evidence.NextKey {
	return func(name string) (keys.Key, error) { return keys.Next(p.keys, kind, name, "", "") }
}

// rotate lets another key take the place of the log's.
func (p *place) rotate() (done evidence.Rotation) {
	p.t.Helper()
	require.NoError(p.t, p.open(func(e *evidence.Evidence) {
		var err error
		done, err = e.Notary.Rotate(p.t.Context(), p.next(keys.Log), "yearly")
		require.NoError(p.t, err)
	}))
	return done
}

// known are the keys of the log of a place.
func (p *place) known() (known []evidence.KnownKey) {
	p.t.Helper()
	store, err := sqlitestore.Open(p.t.Context(), p.path, sqlitestore.Options{})
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, store.Close()) }()
	known, err = evidence.Keys(p.t.Context(), landscape.NewReader(store))
	require.NoError(p.t, err)
	return known
}

// only is the policy that trusts the log with a key.
func only(t *testing.T, key string) string {
	t.Helper()
	text, err := trust.Text([]string{key})
	require.NoError(t, err)
	return text
}

// TestRotate: the keys of a log follow each other, each signs its part of it, and who trusts one of them accepts what comes after it.
func TestRotate(t *testing.T) {
	p, _ := withGit(t)
	first := p.rotate()
	require.WithinDuration(t, p.now.Add(30*24*time.Hour), first.Until, time.Microsecond)
	require.Equal(t, evidence.Rotation{Kind: "log", Old: first.Old, New: first.New, Entry: 4, Kept: first.Kept, Until: first.Until}, first)
	require.Equal(t, first.New, p.known()[2].Key)
	p.runs("r3")
	second := p.rotate()
	require.Equal(t, first.New, second.Old)
	p.runs("r4")
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 4, report.Runs)
	require.Equal(t, second.New, report.Key)
	require.Len(t, report.Anchors, 2)
	for _, anchor := range report.Anchors {
		require.Equal(t, report.Entries, anchor.Entries)
	}
	require.Equal(t, []evidence.KnownKey{
		{Key: first.Old, Kind: "log", Replaced: 4, Until: first.Until},
		{Key: p.known()[1].Key, Kind: "sealer", Since: 1},
		{Key: first.New, Kind: "log", Since: 4, Replaced: second.Entry, Until: second.Until},
		{Key: second.New, Kind: "log", Since: second.Entry},
	}, p.known())
	kept, err := os.ReadFile(first.Kept)
	require.NoError(t, err)
	require.Contains(t, string(kept), "PRIVATE+KEY+")
	now, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	require.Equal(t, second.New, now.VKey)

	for _, key := range []string{first.Old, first.New, second.New} {
		for _, run := range []string{"r1", "r3", "r4"} {
			proven, err := p.proven(run, only(t, key))
			require.NoError(t, err)
			require.Equal(t, second.New, proven.Key)
		}
	}
	_, err = p.proven("r1", only(t, "other.example/log+5e7ad6b8+ASRFxZVTywsXCSxzlm9tSeD1MPdcxuKR/jIiFazjHDFM"))
	require.ErrorContains(t, err, "not the trusted other.example/log+5e7ad6b8")
}

// TestProofOfBeforeTheRotation: a head that the old key signed stays good for who trusts that key, and for nobody else.
func TestProofOfBeforeTheRotation(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, "before.db")
	done := p.rotate()
	p.path = "before.db"
	_, err := p.proven("r1", only(t, done.Old))
	require.NoError(t, err)
	_, err = p.proven("r1", only(t, done.New))
	require.ErrorContains(t, err, ": if the key was rotated after this was made, the policy of then trusts it")
}

// said appends a statement to the record of the log as its owner may, signed by any key. The position is the next one.
func (p *place) said(by note.Signer, about, statement string) {
	p.t.Helper()
	signed, err := note.Sign(&note.Note{Text: statement + "\n"}, by)
	require.NoError(p.t, err)
	leaf := tlog.RecordHash(signed)
	p.attack(fmt.Sprintf(`insert into log select size, '%s', '%s', x'%x' from log_head`, about, signed, leaf[:]), `update log_head set size = size + 1`)
}

// names appends an entry that names a key as the next one of the log.
func (p *place) names(by keys.Key, key string) {
	p.said(by, "rotated/"+key, fmt.Sprintf(`{"at":"2026-11-23T20:18:03.680976Z","key":"%s","n":"x","type":"rotated","v":1,"why":"y"}`, key))
}

// newKey makes a key that is nobody's.
func newKey(t *testing.T, name string) keys.Key {
	t.Helper()
	key, err := keys.Generate(t.TempDir(), keys.Log, name)
	require.NoError(t, err)
	return key
}

// TestFalseRotations: an entry that the log's key of then did not sign, or that names a key which cannot be its next one, lets no other key sign.
func TestFalseRotations(t *testing.T) {
	whole := newPlace(t)
	whole.runs("r1")
	old, err := keys.Load(whole.keys, keys.Log)
	require.NoError(t, err)
	whole.rotate()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for name, attack := range map[string]struct {
		do   func(t *testing.T, p *place, old, now keys.Key) (named keys.Key)
		want string
	}{
		"its new key signed it": {func(t *testing.T, p *place, _, now keys.Key) keys.Key {
			thief := newKey(t, now.Name())
			p.names(thief, thief.VKey)
			return thief
		}, "it is not signed by the key that the log has there"},
		"the key before it signed it": {func(t *testing.T, p *place, old, now keys.Key) keys.Key {
			thief := newKey(t, now.Name())
			p.names(old, thief.VKey)
			return thief
		}, "it is not signed by the key that the log has there"},
		"a sealer signed it": {func(t *testing.T, p *place, _, now keys.Key) keys.Key {
			thief := newKey(t, now.Name())
			sealer, err := keys.Load(p.keys, keys.Sealer)
			require.NoError(t, err)
			p.names(sealer, thief.VKey)
			return thief
		}, "it is not signed by the key that the log has there"},
		"it names the key of before": {func(_ *testing.T, p *place, old, now keys.Key) keys.Key {
			p.names(now, old.VKey)
			return old
		}, "it names a key that the log had already"},
		"it names the key of another log": {func(t *testing.T, p *place, _, now keys.Key) keys.Key {
			other := newKey(t, "other.example/log")
			p.names(now, other.VKey)
			return other
		}, "it names no key of this log"},
		"it names nothing": {func(_ *testing.T, p *place, old, now keys.Key) keys.Key {
			p.names(now, "x")
			return old
		}, "it names no key of this log"},
	} {
		t.Run(name, func(t *testing.T) {
			p := whole.copied(t, folder)
			now, err := keys.Load(p.keys, keys.Log)
			require.NoError(t, err)
			named := attack.do(t, p, old, now)
			require.Contains(t, p.problems(), "does not count: "+attack.want)
			require.Equal(t, now.VKey, p.check().Key)

			p.runs("r2") // the notary, which has the key, refuses the entry in the log
			require.Empty(t, p.check().Problems)
			require.EqualValues(t, 1, p.check().Refused)

			head := p.headBy(named)
			var proofs []evidence.Proof
			p.read(func(ctx context.Context, log *landscape.Reader) {
				proofs, _, err = evidence.ProofsOf(ctx, log, "r1", evidence.Beside{})
				require.NoError(t, err)
			})
			for i := range proofs { // as the thief would show them
				path, _, _ := strings.Cut(proofs[i].Text, "\n\n")
				proofs[i].Text = path + "\n\n" + head
			}
			policy, err := trust.Parse(only(t, old.VKey))
			require.NoError(t, err)
			_, err = evidence.VerifyProofs(policy, proofs)
			require.ErrorContains(t, err, "the head of the log: ")
			p.attack(fmt.Sprintf(`update log_heads set note = '%s' where size = (select max(size) from log_heads)`, head))
			require.Contains(t, p.problems(), "is not a head that the log signed")
			_, err = p.proven("r1", only(t, old.VKey)) // under the head before it, which the log signed
			require.NoError(t, err)
		})
	}
}

// old is the key that a rotation replaced.
func (p *place) old(done evidence.Rotation) keys.Key {
	p.t.Helper()
	folder := p.t.TempDir()
	copyFile(p.t, done.Kept, filepath.Join(folder, "log.key"))
	key, err := keys.Load(folder, keys.Log)
	require.NoError(p.t, err)
	return key
}

// headBy is the last head of a place, as another key signs it.
func (p *place) headBy(by note.Signer) string {
	p.t.Helper()
	var text string
	require.NoError(p.t, p.sql().QueryRow(`select note from log_heads order by size desc limit 1`).Scan(&text))
	n, err := note.Open([]byte(text), note.VerifierList(verifierOf(p.t, p.check().Key)))
	require.NoError(p.t, err)
	signed, err := note.Sign(&note.Note{Text: n.Text}, by)
	require.NoError(p.t, err)
	return string(signed)
}

// TestRotationIsKilled: a rotation that is killed before its entry is in the log leaves its key to the next rotation. One that is killed later is finished by the
// next process that opens the log, and only once.
func TestRotationIsKilled(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	made, err := p.next(keys.Log)(p.check().Origin)
	require.NoError(t, err)
	p.runs("r2")
	done := p.rotate()
	require.Equal(t, made.VKey, done.New)

	unfinish := func() {
		require.NoError(t, os.Rename(filepath.Join(p.keys, "log.key"), filepath.Join(p.keys, "log.next.key")))
		require.NoError(t, os.Link(done.Kept, filepath.Join(p.keys, "log.key")))
	}
	unfinish()
	require.Equal(t, done, p.rotate(), "it is finished, and no other one begins")
	unfinish()
	p.runs("r3")
	now, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	require.Equal(t, done.New, now.VKey)
	require.Empty(t, p.check().Problems)
	require.NoFileExists(t, filepath.Join(p.keys, "log.next.key"))
}

// TestProcessesWithTheOldKey: one that shares the folder of keys goes on with the new one; one that has a copy of the old key signs nothing, and says why.
func TestProcessesWithTheOldKey(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	require.NoError(t, os.CopyFS("copy", os.DirFS(p.keys)))
	for _, kind := range []keys.Kind{keys.Log, keys.Sealer} {
		require.NoError(t, os.Chmod(filepath.Join("copy", string(kind)+".key"), 0o600))
	}
	other := *p
	other.keys = "copy"
	var done evidence.Rotation
	require.NoError(t, p.open(func(shares *evidence.Evidence) {
		require.NoError(t, other.open(func(copied *evidence.Evidence) {
			done = p.rotate()
			p.begin(shares, "r2")
			require.NoError(t, shares.Notary.Pass(t.Context()))
			require.EqualError(t, copied.Notary.Pass(t.Context()), fmt.Sprintf("the key of the log is %s since entry 3, and copy has %s, which it replaced: copy the new log.key there, or move the old one away",
				done.New[:strings.Index(done.New, "+A")], done.Old[:strings.Index(done.Old, "+A")]))
			_, err := copied.Notary.Admit(t.Context(), newKey(t, "b.example/sealer").VKey, "new")
			require.ErrorAs(t, err, new(*evidence.RotatedError))
		}))
	}))
	require.NoError(t, other.open(func(e *evidence.Evidence) {
		require.Nil(t, e.Notary)
		require.ErrorAs(t, e.Replaced, new(*evidence.RotatedError))
		require.Empty(t, e.Unsealed, "runs there have their entries")
	}))
	require.Empty(t, p.check().Problems)
}

// TestBackupOfBeforeTheRotation: the record that is put back knows nothing of the new key. The anchor's entries say which it is, and nothing is written.
func TestBackupOfBeforeTheRotation(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, "before.db")
	p.rotate()
	p.runs("r2")
	copyFile(t, "before.db", p.path)
	nothing := func(*evidence.Evidence) { t.Fatal("it was opened") }
	back := new(*evidence.RolledBackError)
	require.ErrorAs(t, p.open(nothing), back)
	require.Equal(t, evidence.RolledBackError{Here: 3, There: 5, Place: "anchor"}, **back)
	worker := *p
	worker.keys = t.TempDir()
	require.ErrorAs(t, worker.open(nothing), back, "a process without the key of the log")
	require.Contains(t, p.problems(), "anchor/checkpoint: a head of 5 entries was signed, and 3 are there")
	require.NoError(t, os.Rename(p.anchor, "away"))
	require.NoError(t, os.Mkdir(p.anchor, 0o700))
	require.ErrorAs(t, p.open(nothing), back)
	require.Equal(t, "keys/notary.state", (*back).Place)
	require.NoError(t, os.Remove(p.anchor))
	require.NoError(t, os.Rename("away", p.anchor))

	require.Equal(t, []string{"r2"}, p.restore("the disk failed").Lost)
	p.runs("r3")
	require.Empty(t, p.check().Problems)
}

// TestRestoreWithTheKeyOfAnotherTime: what the command appends must count, so it needs the key that the log has at the anchor.
func TestRestoreWithTheKeyOfAnotherTime(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, "before.db")
	p.runs("r2")
	require.NoError(t, os.CopyFS("late", os.DirFS(p.anchor)))
	done := p.rotate()
	copyFile(t, "before.db", p.path)
	require.ErrorContains(t, p.restoreFrom("late"), "and keys has "+done.New[:strings.Index(done.New, "+A")]+": put back the log.key of then")
	copyFile(t, done.Kept, filepath.Join(p.keys, "log.key"))
	require.ErrorAs(t, p.restoreFrom(p.anchor), new(*evidence.RotatedError))
	require.NoError(t, p.restoreFrom("late"))
}

// TestHugeCheckpoint: what a checkpoint says of its size before its signature is verified costs nothing.
func TestHugeCheckpoint(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	text, err := os.ReadFile("anchor/checkpoint")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("anchor/checkpoint", []byte(strings.Replace(string(text), "\n3\n", "\n9000000000000000000\n", 1)), 0o600))
	require.ErrorContains(t, p.open(func(*evidence.Evidence) {}), "this head is not one that the log signed")
}

// TestWitnessOfARotatedLog: a witness that does not know the new key cosigns as long as the old one also signs. Then it cosigns nothing, which stops nothing, and
// its operator needs the new policy.
func TestWitnessOfARotatedLog(t *testing.T) {
	p := newNamed(t, "p.example/log")
	o := newObserver(t, "w.example/witness", p)
	p.bucket = o.anchor()
	require.NoError(t, p.step("r1"))
	done := p.rotate()
	require.Empty(t, done.Waiting)
	p.now = done.Until.Add(-time.Second)
	require.NoError(t, p.step("r2"))
	report := p.check()
	require.Empty(t, report.Problems)
	require.Equal(t, report.Entries, report.Anchors[1].Entries)
	for _, key := range []string{done.Old, done.New} {
		text, err := trust.Text([]string{key}, evidence.Witness(o.anchor()).Trust())
		require.NoError(t, err)
		proven, err := p.proven("r2", text)
		require.NoError(t, err)
		require.Len(t, proven.Cosigned, 1)
	}
	p.now = done.Until
	require.ErrorContains(t, p.step("late"), "if the log's key was rotated, its operator needs the line `log` that waymark keys policy prints now")
	require.Less(t, p.check().Anchors[1].Entries, p.check().Signed)

	policy, err := trust.Parse(p.policy())
	require.NoError(t, err)
	o.logs = policy.Logs // the new key alone
	o.restart()
	require.NoError(t, p.step("r3"))
	report = p.check()
	require.Empty(t, report.Problems)
	require.Equal(t, report.Entries, report.Anchors[1].Entries)
	for _, key := range []string{done.Old, done.New} {
		text, err := trust.Text([]string{key}, evidence.Witness(o.anchor()).Trust())
		require.NoError(t, err)
		proven, err := p.proven("r1", text)
		require.NoError(t, err)
		require.Len(t, proven.Cosigned, 1)
	}
}

// TestRotateSealer: the new key counts, and so does the old one until it is revoked.
func TestRotateSealer(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	var done evidence.Rotation
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		var err error
		done, err = e.Notary.RotateSealer(t.Context(), p.next(keys.Sealer), "yearly")
		require.NoError(t, err)
		p.begin(e, "r2") // with the old key
		require.NoError(t, e.Notary.Pass(t.Context()))
	}))
	now, err := keys.Load(p.keys, keys.Sealer)
	require.NoError(t, err)
	require.Equal(t, evidence.Rotation{Kind: "sealer", Old: done.Old, New: now.VKey, Entry: 3, Kept: done.Kept}, done)
	require.FileExists(t, done.Kept)
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		changed, err := e.Notary.Revoke(t.Context(), done.Old, "replaced")
		require.NoError(t, err)
		require.True(t, changed)
	}))
	p.runs("r3")
	require.Empty(t, p.check().Problems)
}
