package rowproof_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/rowproof"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness/witnesstest"
	"waymark/landscape"
	"waymark/tests/blank"
)

// witnessedProof is a proof under a head that two witnesses cosigned.
func witnessedProof(t *testing.T) (proof *rowproof.Proof, log string, witnesses []trust.Witness) {
	t.Helper()
	folder := t.TempDir()
	log = witnesstest.Log(t, folder, "p.example/log")
	var anchors []string
	for _, name := range []string{"a.example/witness", "b.example/witness"} {
		of, anchor := witnesstest.Start(t, name, log)
		witnesses, anchors = append(witnesses, of), append(anchors, anchor)
	}
	e, err := evidence.Open(t.Context(), landscape.New(blank.New(t), nil), evidence.Options{Keys: folder, Make: true, Host: "h", Anchors: anchors})
	require.NoError(t, err)
	require.NoError(t, one.Play(t.Context(), e.Log))
	require.NoError(t, e.Notary.Pass(t.Context()))
	proof, err = (&scene{evidence: e}).prove(t, "one", 40)
	require.NoError(t, err)
	return proof, log, witnesses
}

// TestWitnesses: Go and Python agree on good and bad cosignatures, and on policies.
func TestWitnesses(t *testing.T) {
	proof, log, witnesses := witnessedProof(t)
	policy := func(of ...trust.Witness) string {
		text, err := trust.Text([]string{log}, of...)
		require.NoError(t, err)
		return text
	}
	stranger, _ := witnesstest.Start(t, "c.example/witness", log)
	both := policy(witnesses...)
	any3 := strings.NewReplacer("witnesses 2 ", "more any ", "quorum witnesses", "quorum more").Replace(policy(stranger, witnesses[0]))
	lines := strings.SplitAfter(proof.Head, "\n")
	body, signatures := strings.Join(lines[:4], ""), lines[4:7]
	slices.Sort(signatures[1:]) // they come in the order of the witnesses' URLs
	head := func(parts ...string) string { return body + strings.Join(parts, "") }
	flipped := func(line string, at int) string {
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		data, err := base64.StdEncoding.DecodeString(words[2])
		require.NoError(t, err)
		data[at] ^= 1
		return strings.Join(words[:2], " ") + " " + base64.StdEncoding.EncodeToString(data) + "\n"
	}
	unknown := "\u2014 d.example/witness " + base64.StdEncoding.EncodeToString(make([]byte, 76)) + "\n"
	const good = ""
	tests := map[string]struct {
		policy, head, problem string
		cosigned              int
	}{
		"both":                            {both, proof.Head, good, 2},
		"none is asked for":               {policy(), proof.Head, good, 0},
		"one is asked for":                {policy(witnesses[1]), proof.Head, good, 1},
		"one of two":                      {any3, proof.Head, good, 1},
		"the other order":                 {both, head(signatures[0], signatures[2], signatures[1]), good, 2},
		"one of an unknown":               {both, head(signatures[0], unknown, signatures[1], signatures[2]), good, 2},
		"one of an unknown, changed":      {policy(), head(signatures[0], flipped(signatures[1], 40)), good, 0},
		"one is missing":                  {both, head(signatures[0], signatures[1]), "1 of the 2 members of the group witnesses cosigned the head, and the policy requires 2: b.example/witness did not", 0},
		"the only one is missing":         {policy(stranger), proof.Head, "the witness c.example/witness did not cosign the head, and the policy requires it", 0},
		"all are missing":                 {both, head(signatures[0]), "0 of the 2 members", 0},
		"a changed one":                   {both, head(signatures[0], signatures[1], flipped(signatures[2], 40)), "invalid signature", 0},
		"another time":                    {both, head(signatures[0], signatures[1], flipped(signatures[2], 11)), "invalid signature", 0},
		"the line of the other":           {both, head(signatures[0], signatures[1], strings.Replace(signatures[1], "a.example", "b.example", 1)), "1 of the 2 members", 0},
		"one twice":                       {both, head(signatures[0], signatures[1], signatures[1], signatures[2]), "it is not in the strict form", 0},
		"an unknown twice":                {both, head(append(signatures, unknown, unknown)...), "it is not in the strict form", 0},
		"the log's is not the first":      {both, head(signatures[1], signatures[0], signatures[2]), "it is not in the strict form", 0},
		"the log's is missing":            {both, head(signatures[1:]...), "no verifiable signatures", 0},
		"the log's twice":                 {both, head(append(signatures, signatures[0])...), "it is not in the strict form", 0},
		"too short":                       {both, head(signatures[0], "\u2014 d.example/witness AAAA\n"), "malformed note", 0},
		"bits of base64 that say nothing": {policy(), head(signatures[0], strings.Replace(unknown, "A==", "B==", 1)), "it is not in the strict form", 0},
		"an empty line":                   {both, head(append(signatures, "\n")...), "", -1},
		"another log":                     {strings.Replace(both, log, witnesstest.Log(t, t.TempDir(), "p.example/log"), 1), proof.Head, "log: the log's key is", 0},
	}
	files, names := map[string][][]byte{}, map[string][]string{} // by policy: Python is started once for each
	for name, test := range tests {
		changed := *proof
		changed.Head = test.head
		files[test.policy] = append(files[test.policy], text(t, &changed))
		names[test.policy] = append(names[test.policy], name)
	}
	for policy := range files {
		for i, said := range python(t, files[policy], policy) {
			t.Run(names[policy][i], func(t *testing.T) {
				test, report := tests[names[policy][i]], rowproof.Verify(files[policy][i], parsed(t, policy), nil)
				if test.problem == good && test.cosigned >= 0 {
					require.Empty(t, report.Problem)
					require.Len(t, report.Cosigned, test.cosigned)
					require.Contains(t, said, "verified: recorded so", said)
					require.Equal(t, test.cosigned, strings.Count(said, " cosigned the head of the log, "), said)
					return
				}
				require.NotEmpty(t, report.Problem)
				require.Contains(t, report.Problem, test.problem)
				require.True(t, strings.HasPrefix(said, "4 NOT verified: log: "), said)
			})
		}
	}
	report := rowproof.Verify(text(t, proof), nil, nil)
	require.Empty(t, report.Problem)
	require.NotNil(t, report.Cosigned)
	var b strings.Builder
	require.NoError(t, rowproof.Verify(text(t, proof), parsed(t, both), nil).WriteText(&b))
	require.Contains(t, b.String(), "witness   b.example/witness cosigned the head of the log, 20")
}
