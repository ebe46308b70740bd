package bundle_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"waymark/audit/evidence/bundle"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/tests/services"
)

const signOffsFile = "record/sign_offs.ndjson"

// signOff lets ann sign off the run of the scene, and returns her line.
func (s *scene) signOff(t *testing.T, role string) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	line := "ann@example.com " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))) + " Ann Example"
	by, err := persons.ParseApprover(line)
	require.NoError(t, err)
	recorded, err := s.log.Run(t.Context(), run)
	require.NoError(t, err)
	sealed, err := s.log.LastSeal(t.Context(), run)
	require.NoError(t, err)
	outputs, err := landscape.Select[landscape.ArtifactRecord](t.Context(), s.log, run)
	require.NoError(t, err)
	statement, err := persons.NewStatement(recorded, sealed, outputs, role, "fit for <filing>", by, digest(line), time.Now())
	require.NoError(t, err)
	signature, err := statement.Sign(key)
	require.NoError(t, err)
	record, err := statement.Record(signature, by)
	require.NoError(t, err)
	_, err = s.log.RecordSignOff(t.Context(), record)
	require.NoError(t, err)
	return line
}

// TestSignOffs: a bundle shows what people signed, and whatever of it is changed afterwards is named, in Go and in Python alike, although who changes it
// has a sealer's key.
func TestSignOffs(t *testing.T) {
	s := newScene(t).ended(t)
	line := s.signOff(t, "reviewer")
	unsigned, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Equal(t, "sign-offs", manifest.Gaps[0].What, "no signed head has the entry yet")
	require.Empty(t, verify(t, unsigned, s.trusted).Problem)
	s.signOff(t, "owner")
	require.NoError(t, s.notary.Pass(t.Context()))
	good, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, manifest.Gaps)
	report := verify(t, good, s.trusted)
	require.Empty(t, report.Problem)
	require.Len(t, report.SignOffs, 2)
	require.Contains(t, report.SignOffs[0].String(), "Ann Example (ann@example.com) as reviewer at ")
	require.Contains(t, report.SignOffs[0].String(), ": fit for <filing>; by its own word: no approvers file here says whose key that is")

	secondLine := func(text string) string { return text[strings.Index(text, "\n")+1:] }
	hostile := []struct {
		want   string
		change func(p *parts)
	}{
		{"sign-offs: sign-off 0: the signature does not hold", func(p *parts) { p.replace(signOffsFile, "fit for", "unfit for") }},
		{"sign-offs: sign-off 0: ann@example.com signed with the key ", func(p *parts) { p.replace(signOffsFile, "Ann Example\",\"at_us", "Bob\",\"at_us") }},
		{"sign-offs: sign-off 0: ann@example.com signed as reviewer", func(p *parts) { p.replace(signOffsFile, `"person":"ann@example.com"`, `"person":"bob@example.com"`) }},
		{"sign-offs: sign-off 0 is missing", func(p *parts) { p.contents[signOffsFile] = secondLine(p.contents[signOffsFile]) }},
		{"sign-offs: the log has 2 entries about sign-offs of the run, and the bundle has 0", func(p *parts) { p.remove(signOffsFile) }},
		{"sign-offs: sign-off 0: the bundle contains no log entry about it", func(p *parts) {
			for _, name := range p.names {
				if strings.HasPrefix(name, "log/") && strings.Contains(p.contents[name], `"type":"signed-off"`) {
					p.remove(name)
					p.remove(strings.TrimSuffix(name, "entry") + "proof")
					return
				}
			}
		}},
	}
	files, wants := [][]byte{good, unsigned}, []string{"", ""}
	for _, h := range hostile {
		p := takeApart(t, good)
		h.change(p)
		file := p.signed(t, s.key)
		problem := verify(t, file, s.trusted).Problem
		require.True(t, strings.HasPrefix(problem, h.want), "%s: %s", h.want, problem)
		files, wants = append(files, file), append(wants, h.want)
	}
	for i, said := range python(t, files, policyOf(t, s.trusted)) {
		if wants[i] == "" {
			require.True(t, strings.HasPrefix(said, "0 "), said)
			continue
		}
		require.True(t, strings.HasPrefix(said, "4 NOT verified: sign-offs: "), "%s: %s", wants[i], said)
	}
	signOffsBy(t, good, line)
}

// signOffsBy verifies a bundle by approvers files.
func signOffsBy(t *testing.T, file []byte, line string) {
	t.Helper()
	folder := t.TempDir()
	path, lines := filepath.Join(folder, "b.zip"), filepath.Join(folder, "approvers")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	docs, err := filepath.Abs("../../../docs/verify.py")
	require.NoError(t, err)
	by := map[string]string{
		line: "sign-offs: sign-off 1: ", // which is by another key of hers
		`ann@example.com valid-before="20200101Z" ` + strings.SplitN(line, " ", 2)[1]: "sign-offs: sign-off 0: ",
		"# nobody": "sign-offs: sign-off 0: ",
	}
	texts := slices.Sorted(maps.Keys(by))
	said, codes := pythonBy(t, file, texts)
	for i, text := range texts {
		require.NoError(t, os.WriteFile(lines, []byte(text), 0o600))
		approvers, err := persons.ReadApprovers(lines)
		require.NoError(t, err)
		report, err := bundle.Verify(bytes.NewReader(file), int64(len(file)), nil, approvers)
		require.NoError(t, err)
		require.Contains(t, report.Problem, by[text])
		require.Contains(t, report.Problem, "may not sign")
		require.NotZero(t, codes[i])
		const want = "the key of ann@example.com is of none of the approvers, or may not sign then"
		require.Contains(t, said[i], "NOT verified: sign-offs: "+want)
	}
	require.NoError(t, os.WriteFile(lines, []byte(line+"\n"+strings.Replace(line, "ann@example.com", "bob@example.com", 1)), 0o600))
	_, err = persons.ReadApprovers(lines)
	require.ErrorContains(t, err, "bob@example.com has the key of ann@example.com")
	out, err := exec.CommandContext(t.Context(), services.Python(t), "-B", docs, path, "", lines).CombinedOutput()
	require.ErrorContains(t, err, "exit status 2")
	require.Contains(t, string(out), "bob@example.com has the key of ann@example.com")
	out, err = exec.CommandContext(t.Context(), services.Python(t), "-B", docs, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), ": fit for <filing>; by its own word: no approvers file here says whose key that is\n")
}
