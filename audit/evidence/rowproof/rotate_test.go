package rowproof_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/rowproof"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// rotated is a scene with a folder of keys, and what its rotation says.
type rotated struct {
	*scene
	folder string
	done   evidence.Rotation
}

func newRotated(t *testing.T) *rotated {
	t.Helper()
	folder := t.TempDir()
	e, err := evidence.Open(t.Context(), landscape.New(blank.New(t), nil), evidence.Options{Keys: folder, Make: true, Host: "h"})
	require.NoError(t, err)
	require.NoError(t, one.Play(t.Context(), e.Log))
	s := &rotated{scene: &scene{evidence: e}, folder: folder}
	s.done, err = e.Notary.Rotate(t.Context(), func(name string) (keys.Key, error) { return keys.Next(folder, keys.Log, name, "", "") }, "yearly")
	require.NoError(t, err)
	return s
}

// TestProofsOfARotatedLog: of a run before the rotation and of one after it, by the key of before and by the new one, in Go and in Python.
func TestProofsOfARotatedLog(t *testing.T) {
	s := newRotated(t)
	require.NoError(t, landscapetest.Scene{Run: "two", Chunks: 1, ChunkRows: 33}.Play(t.Context(), s.evidence.Log))
	require.NoError(t, s.evidence.Notary.Pass(t.Context()))
	var files [][]byte
	for _, run := range []string{"one", "two"} {
		p, err := s.prove(t, run, 7)
		require.NoError(t, err)
		files = append(files, text(t, p))
	}
	for _, key := range []string{s.done.Old, s.done.New} {
		for i, said := range python(t, files, policyOf(t, key)) {
			report := rowproof.Verify(files[i], parsed(t, policyOf(t, key)), nil)
			require.Empty(t, report.Problem)
			require.Equal(t, []string{"one", "two"}[i], report.Run)
			require.True(t, strings.HasPrefix(said, "0 "), said)
		}
	}
	other := newScene(t, one)
	require.Contains(t, rowproof.Verify(files[0], parsed(t, policyOf(t, other.trusted)), nil).Problem, "log: the log's key is")
	require.Contains(t, python(t, files[:1], policyOf(t, other.trusted))[0], "4 NOT verified: log: the log's key is not the trusted one")
}

// under puts entries of a proof under a head that a key signs, as who has that key and the record can: the tree has what the proof shows, and unreadable
// entries between.
func under(t *testing.T, p *rowproof.Proof, by note.Signer) *rowproof.Proof {
	t.Helper()
	size := p.Entries[len(p.Entries)-1].Index + 1
	texts := make([]string, size)
	for _, e := range p.Entries {
		texts[e.Index] = e.Text
	}
	var hashes []tlog.Hash
	stored := tlog.HashReaderFunc(func(numbers []int64) (found []tlog.Hash, err error) {
		for _, number := range numbers {
			found = append(found, hashes[number])
		}
		return found, nil
	})
	for i, text := range texts {
		more, err := tlog.StoredHashes(int64(i), []byte(text), stored)
		require.NoError(t, err)
		hashes = append(hashes, more...)
	}
	root, err := tlog.TreeHash(size, stored)
	require.NoError(t, err)
	head, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", by.Name(), size, root)}, by)
	require.NoError(t, err)
	p.Head = string(head)
	for i, e := range p.Entries {
		path, err := tlog.ProveRecord(size, e.Index, stored)
		require.NoError(t, err)
		p.Entries[i].Path = nil
		for _, hash := range path {
			p.Entries[i].Path = append(p.Entries[i].Path, hash[:]...)
		}
	}
	return p
}

// TestStolenLog: who signs a head with a key that the log's key did not name, or with one that was replaced before, convinces neither Go nor Python.
func TestStolenLog(t *testing.T) {
	s := newRotated(t)
	p, err := s.prove(t, "one", 7)
	require.NoError(t, err)
	good := text(t, p)
	now, err := keys.Load(s.folder, keys.Log)
	require.NoError(t, err)
	old := s.old(t)
	thief, err := keys.Generate(t.TempDir(), keys.Log, now.Name())
	require.NoError(t, err)
	rotation := func(by note.Signer, named string) string {
		signed, err := note.Sign(&note.Note{Text: fmt.Sprintf(`{"at":"2026-11-23T20:18:03.680976Z","key":"%s","n":"x","type":"rotated","v":1,"why":"y"}`+"\n", named)}, by)
		require.NoError(t, err)
		return string(signed)
	}
	var hostile [][]byte
	var wants []string
	for _, h := range []struct {
		change func(p *rowproof.Proof)
		by     note.Signer
		want   string
	}{
		{func(*rowproof.Proof) {}, now, ""},
		{func(*rowproof.Proof) {}, old, "log: the head of the log: it is signed by another key than"},
		{func(*rowproof.Proof) {}, thief, "log: the head of the log: "},
		{func(p *rowproof.Proof) { p.Entries[len(p.Entries)-1].Text = rotation(thief, thief.VKey) }, thief, "it is not signed by the key that the log has there"},
		{func(p *rowproof.Proof) {
			p.Entries = append(p.Entries, rowproof.Entry{Index: 9, Text: rotation(old, thief.VKey)})
		}, thief, "it is not signed by the key that the log has there"},
		{func(p *rowproof.Proof) {
			p.Entries = append(p.Entries, rowproof.Entry{Index: 9, Text: rotation(now, old.VKey)})
		}, old, "it names a key that the log had already"},
		{func(p *rowproof.Proof) {
			p.Entries = append(p.Entries, rowproof.Entry{Index: 9, Text: rotation(now, thief.VKey)})
		}, thief, ""}, // the key of the log named it: it is no thief's
		{func(p *rowproof.Proof) { p.Entries = p.Entries[:len(p.Entries)-1] }, now, "log: the head of the log: "},
	} {
		changed := new(rowproof.Proof)
		require.NoError(t, json.Unmarshal(good, changed))
		h.change(changed)
		file := text(t, under(t, changed, h.by))
		problem := rowproof.Verify(file, parsed(t, policyOf(t, s.done.Old)), nil).Problem
		if h.want == "" {
			require.Empty(t, problem)
		}
		require.Contains(t, problem, h.want)
		hostile, wants = append(hostile, file), append(wants, h.want)
	}
	for i, said := range python(t, hostile, policyOf(t, s.done.Old)) {
		require.Equal(t, wants[i] == "", strings.HasPrefix(said, "0 "), "%d: %s", i, said)
		require.Equal(t, wants[i] != "", strings.HasPrefix(said, "4 NOT verified: log: "), "%d: %s", i, said)
	}

	// A head of before the rotation, which who has the old key can make again: who trusts the new key alone accepts none.
	p.Entries = p.Entries[:len(p.Entries)-1]
	forged := text(t, under(t, p, old))
	require.Empty(t, rowproof.Verify(forged, parsed(t, policyOf(t, s.done.Old)), nil).Problem)
	require.Contains(t, rowproof.Verify(forged, parsed(t, policyOf(t, s.done.New)), nil).Problem, "log: the log's key is")
	require.Contains(t, python(t, [][]byte{forged}, policyOf(t, s.done.New))[0], "4 NOT verified: log: the log's key is not the trusted one")
}

// TestHeadByBothKeys: after a rotation the old key's line is under the new key's. It is verified, and it alone is not enough.
func TestHeadByBothKeys(t *testing.T) {
	s := newRotated(t)
	p, err := s.prove(t, "one", 7)
	require.NoError(t, err)
	good := p.Head
	body, signatures, _ := strings.Cut(good, "\n\n")
	lines := strings.SplitAfter(signatures, "\n")[:2]
	require.Len(t, strings.SplitAfter(signatures, "\n"), 3)
	wrong := strings.Split(s.forged(t, good), "\n\n")[1]
	var files [][]byte
	wants := []string{"", "", "it is not in the strict form", "it is not in the strict form", "it is signed by another key than", "invalid signature for key", "invalid signature for key"}
	for _, signatures := range []string{
		lines[0] + lines[1],
		lines[0],
		lines[1] + lines[0],
		lines[0] + lines[1] + lines[1],
		lines[1],
		lines[0] + wrong,
		wrong + lines[0],
	} {
		p.Head = body + "\n\n" + signatures
		files = append(files, text(t, p))
	}
	for _, key := range []string{s.done.Old, s.done.New} {
		for i, said := range python(t, files, policyOf(t, key)) {
			problem := rowproof.Verify(files[i], parsed(t, policyOf(t, key)), nil).Problem
			if wants[i] == "" {
				require.Empty(t, problem)
				require.True(t, strings.HasPrefix(said, "0 "), said)
				continue
			}
			require.Contains(t, problem, "log: the head of the log: ")
			require.Contains(t, problem, wants[i])
			require.True(t, strings.HasPrefix(said, "4 NOT verified: log: "), said)
		}
	}
}

// forged is a head with a signature by the old key of something else.
func (s *rotated) forged(t *testing.T, head string) string {
	t.Helper()
	body, _, _ := strings.Cut(head, "\n\n")
	other, err := note.Sign(&note.Note{Text: "another\n"}, s.old(t))
	require.NoError(t, err)
	_, line, _ := strings.Cut(string(other), "\n\n")
	return body + "\n\n" + line
}

// old is the key that was replaced.
func (s *rotated) old(t *testing.T) keys.Key {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(s.done.Kept)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "log.key"), text, 0o600))
	key, err := keys.Load(folder, keys.Log)
	require.NoError(t, err)
	return key
}
