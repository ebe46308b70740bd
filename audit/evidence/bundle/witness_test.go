package bundle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness/witnesstest"
	"waymark/tests/storages"
)

// TestWitnessedBundle: the head of a bundle has the cosignature, the same one each time, and a policy that asks for another one refuses it.
func TestWitnessedBundle(t *testing.T) {
	folder := t.TempDir()
	log := witnesstest.Log(t, folder, "p.example/log")
	of, anchor := witnesstest.Start(t, "a.example/witness", log)
	other, _ := witnesstest.Start(t, "b.example/witness", log)
	s := newSceneWith(t, storages.Use(t, storages.Memory).Landscape(t), folder, anchor).ended(t)
	file, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	again, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Equal(t, file, again)

	good, err := trust.Text([]string{log}, of)
	require.NoError(t, err)
	report := verifyBy(t, file, good)
	require.Empty(t, report.Problem)
	require.Len(t, report.Cosigned, 1)
	var b strings.Builder
	require.NoError(t, report.WriteText(&b))
	require.Contains(t, b.String(), "the witness a.example/witness cosigned the head of the log, 20")

	bad, err := trust.Text([]string{log}, other)
	require.NoError(t, err)
	report = verifyBy(t, file, bad)
	require.Equal(t, "log: the head of the log: the witness b.example/witness did not cosign the head, and the policy requires it", report.Problem)
	require.Contains(t, python(t, [][]byte{file}, good)[0], "0 verified: run one")
	require.Contains(t, python(t, [][]byte{file}, bad)[0], "4 NOT verified: log: the policy requires more cosignatures of the head; witnesses that did not cosign it: b.example/witness")
	require.Empty(t, verify(t, file, log).Cosigned)
}
