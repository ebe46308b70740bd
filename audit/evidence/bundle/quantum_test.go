package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/tests/storages"
)

// TestBundleUnderAQuantumSignature: the bundle of before the key of ML-DSA-44 has no signature of it, which a policy with that key requires; the one of after it has. Python
// verifies both, and says what it does not verify.
func TestBundleUnderAQuantumSignature(t *testing.T) {
	folder := t.TempDir()
	s := newSceneWith(t, storages.Use(t, storages.Memory).Landscape(t), folder).ended(t)
	before, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	log, err := keys.Load(folder, keys.Log)
	require.NoError(t, err)
	quantum, err := keys.Generate(folder, keys.Quantum, log.Name())
	require.NoError(t, err)
	require.NoError(t, s.notary.Pass(t.Context()))
	after, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Equal(t, []int{1, 2}, []int{signaturesOfHead(t, before), signaturesOfHead(t, after)})
	both, err := trust.Text([]string{log.VKey, quantum.VKey})
	require.NoError(t, err)
	files := [][]byte{before, after}
	for _, file := range files {
		report := verify(t, file, log.VKey)
		require.Empty(t, report.Problem)
		require.Empty(t, report.Quantum)
	}
	require.Contains(t, verifyBy(t, before, both).Problem, "log: the head of the log: the post-quantum key ")
	report := verifyBy(t, after, both)
	require.Empty(t, report.Problem)
	require.NotEmpty(t, report.Quantum)
	for _, policy := range []string{policyOf(t, log.VKey), both} {
		for _, said := range python(t, files, policy) {
			require.Contains(t, said, "0 verified: run one")
		}
	}
}
