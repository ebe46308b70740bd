package bundle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
	"waymark/tests/storages"
)

// published is a scene with a run that published its output, and was attested.
func published(t *testing.T) *scene {
	t.Helper()
	folder := t.TempDir()
	s := &scene{driver: storages.Use(t, storages.Memory).Landscape(t)}
	e, err := evidence.Open(t.Context(), landscape.New(s.driver, nil), evidence.Options{Keys: folder, Make: true, Host: "h"})
	require.NoError(t, err)
	s.log, s.notary = e.Log, e.Notary
	require.NoError(t, landscapetest.Published(t.Context(), s.log, run))
	s.key, err = keys.Load(folder, keys.Sealer)
	require.NoError(t, err)
	known, err := evidence.Keys(t.Context(), s.log.Reader)
	require.NoError(t, err)
	s.trusted = known[0].Key
	s.attest(t, s.log, plugin.AsWritten)
	s.attest(t, s.log, plugin.Changed)
	require.NoError(t, s.notary.Pass(t.Context()))
	return s
}

// attest records an attestation of every output of the run.
func (s *scene) attest(t *testing.T, log *landscape.Log, result plugin.State) {
	t.Helper()
	_, err := landscapetest.Attest(t.Context(), log, run, result)
	require.NoError(t, err)
}

// linesOf returns the lines of the attestations of one number.
func linesOf(p *parts, number int) (lines []string) {
	for line := range strings.Lines(p.contents[attestationsFile]) {
		if strings.Contains(line, fmt.Sprintf(`"seq":%d,`, number)) {
			lines = append(lines, line)
		}
	}
	return lines
}

const attestationsFile = "record/attestations.ndjson"

// TestAttestedBundle carries attestations with their entries, in Go and in Python alike; one that was changed, removed or made up is refused.
func TestAttestedBundle(t *testing.T) {
	s := published(t)
	good, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, manifest.Gaps)
	require.Equal(t, 6, strings.Count(takeApart(t, good).contents["events.ndjson"], `"type":"attested.`))
	files, wants := [][]byte{good}, []string{""}
	for _, h := range []struct {
		want   string
		change func(p *parts)
	}{
		{"no entry of the log says what number 1 says", func(p *parts) { p.replace(attestationsFile, `"result":"changed"`, `"result":"missing"`) }},
		{"no entry of the log says what number 0 says", func(p *parts) { p.replace(attestationsFile, `"ann"`, `"bob"`) }},
		{"is about number 1, which is not recorded so", func(p *parts) {
			p.contents[attestationsFile] = strings.Join(linesOf(p, 0), "")
		}},
		{"is about number 0, which is not recorded so", func(p *parts) { p.remove(attestationsFile) }},
		{"no entry of the log says what number 2 says", func(p *parts) {
			second := strings.Join(linesOf(p, 1), "")
			p.contents[attestationsFile] = strings.Join(linesOf(p, 0), "") + second + strings.ReplaceAll(second, `"seq":1`, `"seq":2`)
		}},
		{"no entry of the log says what number 0 says", func(p *parts) {
			for _, name := range p.names {
				if strings.HasPrefix(name, "log/") && strings.Contains(p.contents[name], `"type":"attested"`) {
					p.remove(name)
					p.remove(strings.TrimSuffix(name, "entry") + "proof")
					return
				}
			}
		}},
	} {
		p := takeApart(t, good)
		h.change(p)
		files, wants = append(files, p.signed(t, s.key)), append(wants, h.want)
	}
	for i, file := range files {
		problem := verify(t, file, s.trusted).Problem
		require.Equal(t, wants[i] == "", problem == "", problem)
		require.Contains(t, problem, wants[i])
	}
	for i, line := range python(t, files, policyOf(t, s.trusted)) {
		require.True(t, strings.HasPrefix(line, "0 ") == (i == 0), line)
		require.True(t, i == 0 || strings.HasPrefix(line, "4 NOT verified: records: record/attestations.ndjson: "), line)
	}
}

// TestUnvouchedAttestation is a gap: a process without a key made it, or no head covers its entry yet.
func TestUnvouchedAttestation(t *testing.T) {
	s := published(t)
	s.attest(t, s.log, plugin.AsWritten)
	unsigned, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Len(t, manifest.Gaps, 1)
	require.Equal(t, "attestations", manifest.Gaps[0].What)
	require.Empty(t, verify(t, unsigned, s.trusted).Problem)
	require.NoError(t, s.notary.Pass(t.Context()))
	_, manifest = s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, manifest.Gaps)
	s.attest(t, landscape.New(unaware{s.driver}, nil), plugin.AsWritten)
	unvouched, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Len(t, manifest.Gaps, 1)
	require.Empty(t, verify(t, unvouched, s.trusted).Problem)
	for _, line := range python(t, [][]byte{unsigned, unvouched}, policyOf(t, s.trusted)) {
		require.True(t, strings.HasPrefix(line, "0 "), line)
	}
}
