package evidence_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence"
	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness/witnesstest"
	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// module is the folder of tests/tiles, as it is found from anywhere.
var module, _ = filepath.Abs("../../tests/tiles")

// TestTesseraReadsAnAnchor lets tests/tiles, a module that knows nothing of this one, verify an anchor with tessera's
// fsck and client. They notice a changed byte of each kind of file, and name the file or what does not fit it.
func TestTesseraReadsAnAnchor(t *testing.T) {
	program := tessera(t)
	p := newPlace(t)
	ids := make([]string, 270) // more than a tile
	for i := range ids {
		ids[i] = fmt.Sprintf("r%03d", i)
	}
	p.runs(ids[:3]...)
	p.runs(ids[3:]...)
	key, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	head, err := evidence.Folder(p.anchor).Head(t.Context(), oneKey(t, key.VKey))
	require.NoError(t, err)
	verify := func() (string, error) {
		out, err := exec.CommandContext(t.Context(), program, p.anchor, key.VKey).CombinedOutput()
		return string(out), err
	}
	said, err := verify()
	require.NoError(t, err, said)
	require.Contains(t, said, fmt.Sprintf("%d %x\n", head.Size, head.Root[:]))

	for name, notices := range map[string]string{
		"checkpoint":            "tiles: failed to parse Checkpoint",
		"tile/0/000":            "tiles: fsck: failed: tile/0/000: log has",
		"tile/0/001.p/16":       "tiles: fsck: failed: tile/0/001.p/16: log has",
		"tile/1/000.p/1":        "tiles: fsck: failed: tile/1/000.p/1: log has",
		"tile/entries/000":      "tiles: fsck: failed: tile/", // one of the hashes above it
		"tile/entries/001.p/16": "tiles: fsck: failed: tile/",
	} {
		path := filepath.Join(p.anchor, name)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(path, 0o600))
		bad := append([]byte{}, good...)
		bad[len(bad)-1] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		said, err = verify()
		require.Error(t, err, name)
		require.Contains(t, said, notices, name)
		require.NoError(t, os.WriteFile(path, good, 0o600))
	}
	said, err = verify()
	require.NoError(t, err, "what was put back is as it was: %s", said)
}

// TestTesseraReadsTheAnchorOfARotatedLog: by any key that the log has had, and only as far as each signed the next one.
func TestTesseraReadsTheAnchorOfARotatedLog(t *testing.T) {
	program := tessera(t)
	verify := func(p *place, key string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, p.anchor, key).CombinedOutput()
		return string(out), err
	}
	p := newPlace(t)
	p.runs("r1")
	first := p.rotate()
	p.runs("r2")
	second := p.rotate()
	thief := newKey(t, p.check().Origin)
	p.names(thief, thief.VKey)
	p.runs("r3")
	for _, key := range []string{first.Old, first.New, second.New} {
		said, err := verify(p, key)
		require.NoError(t, err, said)
		require.Contains(t, said, "tiles: entry 6 names no key: the key of the log did not sign it")
	}
	said, err := verify(p, thief.VKey)
	require.Error(t, err)
	require.Contains(t, said, "none of the keys of the log is the trusted one")

	for _, by := range []note.Signer{thief, p.old(first)} {
		require.NoError(t, os.WriteFile(filepath.Join(p.anchor, "checkpoint"), []byte(p.headBy(by)), 0o600))
		said, err = verify(p, second.New)
		require.Error(t, err)
		require.Contains(t, said, "tiles: failed to parse Checkpoint")
	}
}

// TestFormatsAndQuantumSignatures: transparency-dev's formats verifies the signature of ML-DSA-44 under a head, reads the file of the key, and makes one that is
// verified here.
func TestFormatsAndQuantumSignatures(t *testing.T) {
	program := tessera(t)
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return string(out), err
	}
	p := newPlace(t)
	p.runs("r1")
	key := p.quantum()
	p.runs("r2")
	checkpoint := filepath.Join(p.anchor, "checkpoint")
	said, err := run("verify-pq", key.VKey, checkpoint)
	require.NoError(t, err, said)
	text, signatures := p.checkpoint()
	wrong := strings.Replace(text, "\n5\n", "\n6\n", 1)
	require.NotEqual(t, text, wrong)
	require.NoError(t, os.WriteFile("wrong", []byte(wrong+"\n"+signatures[1]+"\n"), 0o600))
	said, err = run("verify-pq", key.VKey, "wrong")
	require.Error(t, err)
	require.Contains(t, said, "invalid signature for key "+hashOf(key.VKey))

	require.NoError(t, os.WriteFile("unsigned", []byte(text+"\n"+signatures[0]+"\n"), 0o600))
	said, err = run("sign-pq", key.Place, "unsigned")
	require.NoError(t, err, said)
	quantum, err := cosign.NewQuantum(key.VKey)
	require.NoError(t, err)
	n, err := note.Open([]byte(said), note.VerifierList(quantum))
	require.NoError(t, err)
	require.Len(t, n.Sigs, 1)
}

// tilesProgram is the program that is built of tests/tiles: once for all tests of the process, because that takes
// longer than what they do with it.
var tilesProgram struct {
	sync.Once
	folder, missing string
	err             error
}

// disk is where programs are built: a file system in memory may not let them be executed.
var disk = os.TempDir()

func TestMain(m *testing.M) {
	code := services.MainInMemory(m)
	if tilesProgram.folder != "" {
		_ = os.RemoveAll(tilesProgram.folder)
	}
	os.Exit(code)
}

// tessera builds tests/tiles from modules that were downloaded before, so that the test asks nothing of the network.
func tessera(t *testing.T) (program string) {
	t.Helper()
	tilesProgram.Do(buildTiles)
	if tilesProgram.missing != "" {
		services.Missing(t, "tessera", "GOWORK=off go -C tests/tiles build -o /dev/null . ("+tilesProgram.missing+")")
	}
	require.NoError(t, tilesProgram.err)
	return filepath.Join(tilesProgram.folder, "tiles")
}

func buildTiles() {
	if tilesProgram.folder, tilesProgram.err = os.MkdirTemp(disk, "tiles-"); tilesProgram.err != nil {
		return
	}
	run := func(args ...string) error {
		step := exec.Command("go", append([]string{"-C", module}, args...)...)
		step.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "TMPDIR="+disk)
		out, err := step.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return err
	}
	if err := run("list", "-deps", "."); err != nil {
		tilesProgram.missing = strings.TrimSpace(err.Error())
		return
	}
	tilesProgram.err = run("build", "-o", filepath.Join(tilesProgram.folder, "tiles"), ".")
	if tilesProgram.err == nil && sample.All() {
		tilesProgram.err = run("vet", ".")
	}
}

// TestTesseraAndWitnesses: a log of tessera's, whose client knows nothing of this module, has its heads witnessed by a witness of ours; and what tessera
// verifies of our own heads is what the policy says.
func TestTesseraAndWitnesses(t *testing.T) {
	program := tessera(t)
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return string(out), err
	}
	folder := t.TempDir()
	theirs := witnesstest.Log(t, folder, "tessera.example/log")
	of, _ := witnesstest.Start(t, "w.example/witness", theirs)
	policy, err := trust.Text([]string{theirs}, of)
	require.NoError(t, err)
	file := filepath.Join(folder, "trust.policy")
	require.NoError(t, os.WriteFile(file, []byte(policy), 0o600))
	said, err := run("keep", file, filepath.Join(folder, "log.key"), filepath.Join(folder, "log"))
	require.NoError(t, err, said)
	heads := strings.SplitAfter(strings.TrimSuffix(said, "\n"), "\n\n")
	last := strings.Join(heads[len(heads)-2:], "")
	by, err := cosign.NewVerifier(of.Key)
	require.NoError(t, err)
	n, err := note.Open([]byte(last), note.VerifierList(by, verifierOf(t, theirs)))
	require.NoError(t, err, last)
	require.Len(t, n.Sigs, 2)
	require.True(t, strings.HasPrefix(n.Text, "tessera.example/log\n3\n"), n.Text)

	p := newNamed(t, "p.example/log")
	o, other := newObserver(t, "o.example/witness", p), newObserver(t, "other.example/witness", p)
	p.bucket = o.anchor()
	require.NoError(t, p.step("r1"))
	log, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	head := filepath.Join(folder, "head")
	p.read(func(ctx context.Context, log *landscape.Reader) {
		proofs, _, err := evidence.ProofsOf(ctx, log, "r1", evidence.Beside{})
		require.NoError(t, err)
		_, _, text, err := evidence.ParseProof(proofs[0].Text)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(head, []byte(text), 0o600))
	})
	require.NoError(t, os.WriteFile(file, []byte(p.policy(o)), 0o600))
	said, err = run("head", file, log.VKey, head)
	require.NoError(t, err, said)
	require.NoError(t, os.WriteFile(file, []byte(p.policy(other)), 0o600))
	said, err = run("head", file, log.VKey, head)
	require.Error(t, err)
	require.Equal(t, "tiles: the policy requires more cosignatures\n", said)
}
