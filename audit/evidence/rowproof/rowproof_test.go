package rowproof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/rowproof"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// scene is a record of runs with a signed log.
type scene struct {
	evidence *evidence.Evidence
	trusted  string // the key of the log
}

func newScene(t *testing.T, runs ...landscapetest.Scene) *scene {
	t.Helper()
	ctx := t.Context()
	e, err := evidence.Open(ctx, landscape.New(blank.New(t), nil), evidence.Options{Keys: t.TempDir(), Make: true, Host: "h"})
	require.NoError(t, err)
	for _, run := range runs {
		require.NoError(t, run.Play(ctx, e.Log))
	}
	require.NoError(t, e.Notary.Pass(ctx))
	known, err := evidence.Keys(ctx, e.Log.Reader)
	require.NoError(t, err)
	return &scene{e, known[0].Key}
}

// one is a run of three chunks, the last of which is shorter.
var one = landscapetest.Scene{Run: "one", Chunks: 3, ChunkRows: 33}

func (s *scene) prove(t *testing.T, run string, row int64) (*rowproof.Proof, error) {
	t.Helper()
	recorded, err := s.evidence.Log.Run(t.Context(), run)
	require.NoError(t, err)
	return rowproof.Make(t.Context(), s.evidence.Log.Reader, recorded, landscapetest.Source, row)
}

// policyOf returns the policy that trusts a log, and asks for no witness.
func policyOf(t testing.TB, key string) string {
	t.Helper()
	text, err := trust.Text([]string{key})
	require.NoError(t, err)
	return text
}

// parsed reads a policy; nil for an empty one.
func parsed(t testing.TB, text string) *trust.Policy {
	t.Helper()
	if text == "" {
		return nil
	}
	policy, err := trust.Parse(text)
	require.NoError(t, err)
	return policy
}

func text(t *testing.T, p *rowproof.Proof) []byte {
	t.Helper()
	text, err := p.Encode()
	require.NoError(t, err)
	return text
}

func TestEveryRowIsProven(t *testing.T) {
	s := newScene(t, one, landscapetest.Scene{Run: "two", Chunks: 1, ChunkRows: 33})
	var files [][]byte
	rows := []int64{33, 34, 66, 67} // around the ends of chunks
	for row := int64(1); row <= 99; row += int64(sample.Step(7)) {
		rows = append(rows, row)
	}
	for _, row := range rows {
		p, err := s.prove(t, "one", row)
		require.NoError(t, err)
		file := text(t, p)
		require.LessOrEqual(t, len(file), 4096)
		report := rowproof.Verify(file, parsed(t, policyOf(t, s.trusted)), nil)
		require.Empty(t, report.Problem)
		require.True(t, report.Trusted)
		require.Equal(t, row, report.Row)
		require.Equal(t, "one", report.Run)
		require.NotEmpty(t, report.Ways)
		require.False(t, rowproof.Verify(file, nil, nil).Trusted, "without a policy it is the proof's own word")
		require.Contains(t, rowproof.Verify(file, parsed(t, policyOf(t, s.trusted)), []byte("another record")).Problem, "record: its SHA-256 is")
		files = append(files, file)
	}
	for i, said := range python(t, files, policyOf(t, s.trusted)) {
		require.True(t, strings.HasPrefix(said, "0 "), "row %d: %s", rows[i], said)
		require.Contains(t, said, fmt.Sprintf("row %d of %s, in run one ", rows[i], landscapetest.Source))
	}
	_, err := s.prove(t, "one", 100)
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

// TestChangedProofs changes bytes of a proof, and puts parts of others into it.
func TestChangedProofs(t *testing.T) {
	s := newScene(t, one, landscapetest.Scene{Run: "two", Chunks: 1, ChunkRows: 33})
	p, err := s.prove(t, "one", 40)
	require.NoError(t, err)
	good := text(t, p)
	want := rowproof.Verify(good, parsed(t, policyOf(t, s.trusted)), nil)
	var hostile [][]byte
	for at := 0; at < len(good); at += sample.Step(13) {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		report := rowproof.Verify(changed, parsed(t, policyOf(t, s.trusted)), nil)
		if report.Problem == "" { // how many leaves a tree has may be said wrongly, as long as the path is the same
			require.Equal(t, want, report, "byte %d: %s", at, changed)
			continue
		}
		if at%39 == 0 {
			hostile = append(hostile, changed)
		}
	}
	neighbour, err := s.prove(t, "one", 41)
	require.NoError(t, err)
	foreign, err := s.prove(t, "two", 7)
	require.NoError(t, err)
	for _, h := range []struct {
		change func(p *rowproof.Proof)
		want   string
	}{
		{func(p *rowproof.Proof) { p.Proof = 2 }, "form: it is a proof of another version"},
		{func(p *rowproof.Proof) { p.Body = p.Body[:len(p.Body)-1] }, "form: the body of a row has a part"},
		{func(p *rowproof.Proof) { p.Records = p.Records[:1] }, "form: it does not have a record"},
		{func(p *rowproof.Proof) { p.Records = append(p.Records, p.Records[1]) }, "form: it does not have a record"},
		{func(p *rowproof.Proof) { p.Entries = nil }, "log: "},
		{func(p *rowproof.Proof) { p.Entries = p.Entries[:2] }, "log: entry 1 is not about the seal of a run"},
		{func(p *rowproof.Proof) { p.Entries = append(p.Entries, p.Entries[1]) }, "log: its entries are not in order"},
		{func(p *rowproof.Proof) { p.Entries[0].Text = strings.Replace(p.Entries[0].Text, `"key"`, `"kez"`, 1) }, "log: "},
		{func(p *rowproof.Proof) { p.Entries[0].Text = "{\"key\":7,\"type\":\"genesis\"}\n" }, "log: "},
		{func(p *rowproof.Proof) { p.Entries[0].Text = strings.Repeat("[", 100_000) }, "log: "},
		{func(p *rowproof.Proof) { p.Entries = foreign.Entries }, "run: a record is not one of the run"},
		{func(p *rowproof.Proof) { p.Records = foreign.Records[:len(p.Records)] }, "run: a record is not one of the run"},
		{func(p *rowproof.Proof) { p.Records[0] = p.Records[1] }, "chunk: the first record is not the seal"},
		{func(p *rowproof.Proof) { p.Body = neighbour.Body }, "chunk: the row is not under"},
		{func(p *rowproof.Proof) { p.Row = neighbour.Row }, "chunk: the row is not under"},
		{func(p *rowproof.Proof) { p.Records[1] = p.Records[0] }, "ways: record 1 is not the way"},
	} {
		changed := new(rowproof.Proof)
		require.NoError(t, json.Unmarshal(good, changed))
		h.change(changed)
		file := text(t, changed)
		require.Contains(t, rowproof.Verify(file, parsed(t, policyOf(t, s.trusted)), nil).Problem, h.want)
		hostile = append(hostile, file)
	}
	other := newScene(t, one)
	require.Contains(t, rowproof.Verify(good, parsed(t, policyOf(t, other.trusted)), nil).Problem, "log: the log's key is")
	for i, said := range python(t, hostile, policyOf(t, s.trusted)) {
		check, _, _ := strings.Cut(rowproof.Verify(hostile[i], parsed(t, policyOf(t, s.trusted)), nil).Problem, ":")
		require.True(t, strings.HasPrefix(said, "4 NOT verified: "+check+": "), "Go says %s, and Python %s: %s", check, said, hostile[i])
	}
}

func TestWhatCannotBeProven(t *testing.T) {
	s := newScene(t)
	require.NoError(t, one.Play(t.Context(), s.evidence.Log))
	_, err := s.prove(t, "one", 1)
	require.ErrorIs(t, err, evidence.ErrUnsigned)
	require.NoError(t, landscapetest.Scene{Run: "going", Chunks: 1, ChunkRows: 5}.Begin(t.Context(), s.evidence.Log))
	_, err = s.prove(t, "going", 1)
	require.ErrorIs(t, err, landscape.ErrUnsealed)
}

// python returns what docs/proof.py says of proofs: its exit code, and what it printed, on one line.
func python(t *testing.T, files [][]byte, policy string) (said []string) {
	t.Helper()
	program := services.Python(t)
	folder := t.TempDir()
	names := []string{"-B", "-c", `import functools, sys; sys.path.insert(0, "../../../docs"); import proof, verify
verify.ed25519_verify = functools.lru_cache(None)(verify.ed25519_verify) # proofs have signatures in common
for name in sys.argv[2:]:
    try:
        print("0", end=" "); sys.stdout.flush()
        proof.verify(name, sys.argv[1])
    except proof.Refused as reason:
        print("\r4 NOT verified: %s" % reason)
    print("--")`, filepath.Join(folder, "policy")}
	require.NoError(t, os.WriteFile(names[3], []byte(policy), 0o600))
	for i, file := range files {
		names = append(names, filepath.Join(folder, fmt.Sprint(i)))
		require.NoError(t, os.WriteFile(names[len(names)-1], file, 0o600))
	}
	out, err := exec.CommandContext(t.Context(), program, names...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for part := range strings.SplitSeq(strings.TrimSuffix(string(out), "--\n"), "--\n") {
		said = append(said, strings.TrimPrefix(part, "0 \r"))
	}
	require.Len(t, said, len(files))
	return said
}
