package evidence_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/mldsa"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence"
	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
)

// quantum makes a key of ML-DSA-44 beside the log's, in place of the one that is there.
func (p *place) quantum() keys.Key {
	p.t.Helper()
	log, err := keys.Load(p.keys, keys.Log)
	require.NoError(p.t, err)
	require.NoError(p.t, os.RemoveAll(filepath.Join(p.keys, "log-pq.key")))
	key, err := keys.Generate(p.keys, keys.Quantum, log.Name())
	require.NoError(p.t, err)
	return key
}

// checkpoint is the one of the anchor: its text, and the lines of signatures.
func (p *place) checkpoint() (text string, signatures []string) {
	p.t.Helper()
	all, err := os.ReadFile(filepath.Join(p.anchor, "checkpoint"))
	require.NoError(p.t, err)
	text, lines, _ := strings.Cut(string(all), "\n\n")
	return text + "\n", strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
}

// policyWith is the policy that trusts a log by these keys.
func policyWith(t *testing.T, vkeys ...string) string {
	t.Helper()
	text, err := trust.Text(vkeys)
	require.NoError(t, err)
	return text
}

func hashOf(vkey string) string { return strings.Join(strings.SplitN(vkey, "+", 3)[:2], "+") }

// TestQuantumSignature: once the folder has a key of ML-DSA-44, the log names it, and heads have a second signature: over the message that the C2SP words, which
// this test puts together itself. Who does not know the key skips it.
func TestQuantumSignature(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	_, signatures := p.checkpoint()
	require.Len(t, signatures, 1, "off by default")
	key := p.quantum()
	p.runs("r2")
	p.runs("r3")
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 2+3+1, report.Entries, "one entry names it, once")
	require.Equal(t, evidence.KnownKey{Kind: "log-pq", Since: p.known()[2].Since, Digest: p.known()[2].Digest}, p.known()[2])
	require.True(t, p.known()[2].IsKey(key.VKey))

	text, signatures := p.checkpoint()
	require.Len(t, signatures, 2)
	all, err := os.ReadFile("anchor/checkpoint")
	require.NoError(t, err)
	n, err := note.Open(all, note.VerifierList(verifierOf(t, report.Key)))
	require.NoError(t, err)
	require.Len(t, n.UnverifiedSigs, 1, "golang.org/x/mod/sumdb/note skips it")
	_, err = note.NewVerifier(key.VKey)
	require.Error(t, err)

	words := strings.Split(signatures[1], " ")
	require.Equal(t, []string{"\u2014", report.Origin}, words[:2])
	signature, err := base64.StdEncoding.DecodeString(words[2])
	require.NoError(t, err)
	require.Len(t, signature, 4+8+2420)
	public, err := base64.StdEncoding.DecodeString(strings.SplitN(key.VKey, "+", 3)[2])
	require.NoError(t, err)
	require.EqualValues(t, 6, public[0])
	require.Equal(t, fmt.Sprintf("%s+%x", report.Origin, signature[:4]), hashOf(key.VKey))
	lines := strings.Split(text, "\n")
	root, err := base64.StdEncoding.DecodeString(lines[2])
	require.NoError(t, err)
	message := []byte("subtree/v1\n\x00")
	message = append(append(message, byte(len(report.Origin))), report.Origin...)
	message = append(message, signature[4:12]...)
	message = append(append(message, byte(len(report.Origin))), report.Origin...)
	message = binary.BigEndian.AppendUint64(message, 0)
	message = binary.BigEndian.AppendUint64(message, uint64(report.Signed)) //nolint:gosec // a size
	message = append(message, root...)
	verifier, err := mldsa.NewPublicKey(mldsa.MLDSA44(), public[1:])
	require.NoError(t, err)
	require.NoError(t, mldsa.Verify(verifier, message, signature[12:], nil))

	for _, by := range []struct {
		policy  string
		quantum string
	}{
		{policyWith(t, report.Key), ""},
		{policyWith(t, report.Key, key.VKey), hashOf(key.VKey)},
		{policyWith(t, key.VKey), hashOf(key.VKey)},
	} {
		for _, run := range []string{"r1", "r2", "r3"} {
			proven, err := p.proven(run, by.policy)
			require.NoError(t, err)
			require.Equal(t, by.quantum, proven.Quantum)
		}
	}
}

// TestWrongQuantumSignatures: a policy that has a key of ML-DSA-44 accepts no head without its signature, and none with a wrong one, which is named. Who does not
// have the key skips both.
func TestWrongQuantumSignatures(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	key := p.quantum()
	p.runs("r2")
	_, before := p.checkpoint()
	p.runs("r3")
	log, other := p.check().Key, newKey(t, p.check().Origin)
	text, now := p.checkpoint()
	both, alone := policyWith(t, log, key.VKey), policyWith(t, log)
	stranger, err := keys.Generate(t.TempDir(), keys.Quantum, p.check().Origin)
	require.NoError(t, err)
	by := func(signer note.Signer) string {
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		require.NoError(t, err)
		return strings.TrimSuffix(strings.TrimPrefix(string(signed), text+"\n"), "\n")
	}
	changed := func(at int) string {
		words := strings.Split(now[1], " ")
		signature, err := base64.StdEncoding.DecodeString(words[2])
		require.NoError(t, err)
		signature[at] ^= 1
		return strings.Join(append(words[:2], base64.StdEncoding.EncodeToString(signature)), " ")
	}
	invalid, missing := "invalid signature for key "+hashOf(key.VKey), "the post-quantum key "+hashOf(key.VKey)+" did not sign it"
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"the right one":            {now[1], ""},
		"signed once more":         {by(key), ""},
		"none":                     {"", missing},
		"of another head":          {before[1], invalid},
		"another time":             {changed(4 + 7), invalid},
		"another bit":              {changed(2000), invalid},
		"too short":                {now[1][:len(now[1])-400], invalid},
		"by a stranger":            {by(stranger), missing},
		"by a stranger, with both": {by(stranger) + "\n" + now[1], ""},
		"by another key's hash":    {changed(0), missing},
	} {
		head := text + "\n" + now[0] + "\n" + strings.TrimPrefix(c.line+"\n", "\n")
		verify := func(policy string) (err error) {
			parsed, wrong := trust.Parse(policy)
			require.NoError(t, wrong)
			p.read(func(ctx context.Context, log *landscape.Reader) {
				proofs, _, wrong := evidence.ProofsOf(ctx, log, "r1", evidence.Beside{})
				require.NoError(t, wrong)
				for i := range proofs {
					before, _, _ := strings.Cut(proofs[i].Text, "\n\n")
					proofs[i].Text = before + "\n\n" + head
				}
				_, err = evidence.VerifyProofs(parsed, proofs)
			})
			return err
		}
		require.NoError(t, verify(alone), name)
		if c.want == "" {
			require.NoError(t, verify(both), name)
			continue
		}
		require.ErrorContains(t, verify(both), "the head of the log: "+c.want, name)
	}
	_, err = p.proven("r1", policyWith(t, other.VKey, key.VKey))
	require.ErrorContains(t, err, "not the trusted "+hashOf(other.VKey), "the post-quantum key does not stand for another key of the policy")
	_, err = p.proven("r1", policyWith(t, log, stranger.VKey, key.VKey))
	require.NoError(t, err, "one of several is enough")
	elsewhere, err := keys.Generate(t.TempDir(), keys.Quantum, "other.example/log")
	require.NoError(t, err)
	_, err = p.proven("r1", policyWith(t, elsewhere.VKey))
	require.ErrorContains(t, err, "not the trusted "+hashOf(elsewhere.VKey))
	_, err = p.proven("r1", policyWith(t, log, elsewhere.VKey))
	require.NoError(t, err, "a key of another log is none of this one")
}

// TestQuantumKeyIsNotAtHand: heads have the log's signature alone then, each process that opens the log warns, and nothing stops. Another key takes its place by an
// entry, and one that was replaced never comes back.
func TestQuantumKeyIsNotAtHand(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	silent := func() (why []error) {
		require.NoError(t, p.open(func(e *evidence.Evidence) { why = e.Silent }))
		return why
	}
	require.Empty(t, silent())
	first := p.quantum()
	file := filepath.Join(p.keys, "log-pq.key")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, silent(), "the next pass names it")
	p.runs("r2")
	signs := func() int {
		_, signatures := p.checkpoint()
		return len(signatures)
	}
	require.Equal(t, 2, signs())
	for i, spoil := range []struct {
		do  func() error
		why string
	}{
		{func() error { return os.Remove(file) }, file + ": no such key"},
		{func() error { return os.WriteFile(file, []byte("PRIVATE+KEY+x"), 0o600) }, "is no key as"},
		{func() error { return os.Chmod(file, 0o640) }, "chmod 600"},
		{func() error {
			require.NoError(t, os.Remove(file))
			_, err := keys.Generate(p.keys, keys.Quantum, "other.example/log")
			return err
		}, "is the key of other.example/log"},
	} {
		require.NoError(t, spoil.do())
		p.runs(fmt.Sprintf("r3%d", i))
		require.Equal(t, 1, signs())
		require.Len(t, silent(), 1)
		require.ErrorContains(t, silent()[0], spoil.why)
		require.ErrorContains(t, silent()[0], "heads of the log have no post-quantum signature")
	}
	second := p.quantum()
	p.runs("r4")
	require.Equal(t, 2, signs())
	require.Empty(t, silent())
	replaced := p.known()[3]
	require.Equal(t, []bool{true, true}, []bool{p.known()[2].IsKey(first.VKey), replaced.IsKey(second.VKey)})
	require.Equal(t, replaced.Since, p.known()[2].Replaced)
	_, err = p.proven("r1", policyWith(t, second.VKey))
	require.NoError(t, err)
	_, err = p.proven("r1", policyWith(t, first.VKey))
	require.ErrorContains(t, err, "the post-quantum key "+hashOf(first.VKey)+" did not sign it")

	require.NoError(t, os.WriteFile(file, kept, 0o600))
	p.runs("r5")
	require.Equal(t, 1, signs())
	require.ErrorContains(t, silent()[0], fmt.Sprintf("log-pq.key was replaced in entry %d", replaced.Since))
	require.Empty(t, p.check().Problems)
}

// TestQuantumKeyOfARotatedLog: the key of ML-DSA-44 stays, and signs below both others. Witnesses, old and new, cosign that head.
func TestQuantumKeyOfARotatedLog(t *testing.T) {
	p := newNamed(t, "p.example/log")
	o := newObserver(t, "w.example/witness", p)
	p.bucket = o.anchor()
	key := p.quantum()
	require.NoError(t, p.step("r1"))
	done := p.rotate()
	require.Empty(t, done.Waiting)
	text, signatures := p.checkpoint()
	require.Len(t, signatures, 3)
	quantum, err := cosign.NewQuantum(key.VKey)
	require.NoError(t, err)
	n, err := note.Open([]byte(text+"\n"+strings.Join(signatures, "\n")+"\n"), note.VerifierList(verifierOf(t, done.New), verifierOf(t, done.Old), quantum))
	require.NoError(t, err)
	require.Equal(t, []uint32{verifierOf(t, done.New).KeyHash(), verifierOf(t, done.Old).KeyHash(), quantum.KeyHash()}, []uint32{n.Sigs[0].Hash, n.Sigs[1].Hash, n.Sigs[2].Hash})
	for _, log := range []string{done.Old, done.New} {
		policy, err := trust.Text([]string{log, key.VKey}, evidence.Witness(o.anchor()).Trust())
		require.NoError(t, err)
		parsed, err := trust.Parse(policy)
		require.NoError(t, err)
		o.logs = parsed.Logs // a witness may have both kinds of keys
		o.restart()
		require.NoError(t, p.step("of "+hashOf(log)))
		proven, err := p.proven("r1", policy)
		require.NoError(t, err)
		require.Len(t, proven.Cosigned, 1)
		require.Equal(t, hashOf(key.VKey), proven.Quantum)
	}
	require.Empty(t, p.check().Problems)
}
