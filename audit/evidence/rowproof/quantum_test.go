package rowproof_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/rowproof"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
	"waymark/tests/blank"
)

// TestProofUnderAQuantumSignature: Go verifies the signature of ML-DSA-44 under the head if the policy has the key, and refuses a wrong one by its name. Python skips the
// line of the policy and the one under the head.
func TestProofUnderAQuantumSignature(t *testing.T) {
	folder := t.TempDir()
	log, err := keys.Generate(folder, keys.Log, "p.example/log")
	require.NoError(t, err)
	quantum, err := keys.Generate(folder, keys.Quantum, log.Name())
	require.NoError(t, err)
	e, err := evidence.Open(t.Context(), landscape.New(blank.New(t), nil), evidence.Options{Keys: folder, Make: true, Host: "h"})
	require.NoError(t, err)
	require.NoError(t, one.Play(t.Context(), e.Log))
	require.NoError(t, e.Notary.Pass(t.Context()))
	s := &scene{evidence: e}
	p, err := s.prove(t, "one", 7)
	require.NoError(t, err)
	good := p.Head
	lines := strings.SplitAfter(good, "\n")
	at := len(lines) - 2
	files := [][]byte{text(t, p)}
	p.Head = strings.Join(lines[:at], "")
	files = append(files, text(t, p))
	p.Head = strings.Join(lines[:at], "") + lines[at][:len(lines[at])-9] + "AAAAAAA=\n"
	files = append(files, text(t, p))
	both, err := trust.Text([]string{log.VKey, quantum.VKey})
	require.NoError(t, err)
	short := strings.Join(strings.SplitN(quantum.VKey, "+", 3)[:2], "+")
	for policy, wants := range map[string][]string{
		policyOf(t, log.VKey): {"", "", ""},
		both:                  {"", "the post-quantum key " + short + " did not sign it", "invalid signature for key " + short},
	} {
		for i, said := range python(t, files, policy) {
			require.True(t, strings.HasPrefix(said, "0 "), said)
			report := rowproof.Verify(files[i], parsed(t, policy), nil)
			require.Contains(t, report.Problem, wants[i])
			require.Equal(t, wants[i] == "", report.Problem == "", report.Problem)
			require.Equal(t, policy == both && wants[i] == "", report.Quantum == short)
		}
	}
	alone, err := trust.Text([]string{quantum.VKey})
	require.NoError(t, err)
	require.Empty(t, rowproof.Verify(files[0], parsed(t, alone), nil).Problem)
}
