package bundle_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

const (
	forgottenFile = "record/forgotten.ndjson"
	leavesFile    = "record/forgotten_leaves.ndjson"
)

// redacting is a scene with a run that published its outputs, and was paused by somebody for a reason.
func redacting(t *testing.T) *scene {
	t.Helper()
	s, _ := publishing(t)
	require.NoError(t, s.log.RecordAction(t.Context(), run, "pause", "ann", "a reason"))
	require.NoError(t, s.notary.Pass(t.Context()))
	return s
}

// TestRedacted leaves the rows of a source out of a bundle, and its seals hold all the same, in Go and in Python alike. One that hides more than it lists is refused.
func TestRedacted(t *testing.T) {
	s := redacting(t)
	options := bundle.Options{Payloads: bundle.AllPayloads, Redact: []string{"strikes.name", "strikes.city"}}
	good, manifest, err := s.exportWith(t, options)
	require.NoError(t, err)
	again, _, err := s.exportWith(t, options)
	require.NoError(t, err)
	require.Equal(t, good, again)
	require.Empty(t, manifest.Gaps)
	require.Len(t, manifest.Redactions, 2)
	require.EqualValues(t, 20, manifest.Redactions[1].Rows)
	require.Equal(t, []string{"city", "name"}, manifest.Redactions[1].Fields)

	whole, _, err := s.exportWith(t, bundle.Options{Payloads: bundle.AllPayloads})
	require.NoError(t, err)
	was, p := takeApart(t, whole), takeApart(t, good)
	for _, text := range []string{"pack 0", `"a reason"`, `"ann"`, `"/data"`, `"tester"`, "/out/all", "strikes.csv"} {
		found := func(p *parts) (found bool) {
			for _, content := range p.contents {
				found = found || strings.Contains(content, text)
			}
			return found
		}
		require.True(t, found(was), text)
		require.False(t, found(p), text)
	}
	require.NotContains(t, strings.Join(p.names, " "), "payloads/")
	require.Contains(t, p.contents[saltsFile], `"chunk":-1,"keys":"00000000000000000000000000000000"`)
	require.Contains(t, p.contents[saltsFile], `"chunk":0,"keys":"","run_id":"one","source":"strikes"`)
	require.Len(t, p.statement(t).Subject, 1)

	report := verify(t, good, s.trusted)
	require.Empty(t, report.Problem)
	require.Equal(t, manifest.Redactions, report.Redacted)
	var text strings.Builder
	require.NoError(t, report.WriteText(&text))
	require.Regexp(t, `(?s)redacted: 20 rows of strikes for city, name: .*\nverified: .*; 20 rows redacted`, text.String())

	bundles, wants := [][]byte{good}, []string{""}
	for _, h := range []struct {
		want   string
		change func(p *parts)
	}{
		{"left out: 20 rows of strikes; the manifest does not list them", func(p *parts) {
			p.lie = func(m *bundle.Manifest) { m.Redactions = m.Redactions[:1] }
		}},
		{"left out: 20 rows of strikes; the manifest says 19", func(p *parts) {
			p.lie = func(m *bundle.Manifest) { m.Redactions[1].Rows-- }
		}},
		{"records of the run; the manifest does not list them", func(p *parts) {
			p.lie = func(m *bundle.Manifest) { m.Redactions = m.Redactions[1:] }
		}},
		{"rows were forgotten, and no gap says so", func(p *parts) {
			p.contents[forgottenFile] = strings.ReplaceAll(p.contents[forgottenFile], `"purge_id":0`, `"purge_id":1`)
		}},
		{"", func(p *parts) { p.contents[saltsFile] = was.contents[saltsFile] }},
		{"", func(p *parts) { p.turn(forgottenFile, "leaf") }},
		{"", func(p *parts) { p.turn(leavesFile, "hash") }},
		{"", func(p *parts) { p.remove(leavesFile) }},
		{"", func(p *parts) {
			p.contents[forgottenFile] = regexp.MustCompile(`^[^\n]*\n`).ReplaceAllString(p.contents[forgottenFile], "")
		}},
	} {
		p := takeApart(t, good)
		h.change(p)
		bundles, wants = append(bundles, p.signed(t, s.key)), append(wants, h.want)
	}
	said := python(t, bundles, policyOf(t, s.trusted))
	for i, file := range bundles {
		problem := verify(t, file, s.trusted).Problem
		require.Equal(t, i == 0, problem == "", "%d: %s", i, problem)
		require.Contains(t, problem, wants[i])
		require.True(t, i == 0 || strings.HasPrefix(problem, "records: "), problem)
		require.True(t, strings.HasPrefix(said[i], "0 ") == (i == 0), "%d: %s", i, said[i])
		require.True(t, i == 0 || strings.HasPrefix(said[i], "4 NOT verified: records: "), said[i])
	}
}

// TestRedactedOther refuses a source that the run does not have, and outputs beside redacted rows.
func TestRedactedOther(t *testing.T) {
	s, files := publishing(t)
	_, _, err := s.exportWith(t, bundle.Options{Redact: []string{"orders.name"}})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.ErrorContains(t, err, "source orders of run one")
	_, _, err = s.exportWith(t, bundle.Options{Redact: []string{"strikes"}, Outputs: files.of})
	require.ErrorIs(t, err, bundle.ErrRedactedOutputs)
}

// TestRedactedEvidence leaves out what people signed and what was found of outputs, and says so.
func TestRedactedEvidence(t *testing.T) {
	s := published(t)
	file, manifest, err := s.exportWith(t, bundle.Options{Redact: []string{landscapetest.Source}})
	require.NoError(t, err)
	require.Len(t, manifest.Gaps, 1)
	require.Equal(t, "attestations", manifest.Gaps[0].What)
	require.NotContains(t, strings.Join(takeApart(t, file).names, " "), "attestations")
	require.Empty(t, verify(t, file, s.trusted).Problem)
	require.True(t, strings.HasPrefix(python(t, [][]byte{file}, policyOf(t, s.trusted))[0], "0 "))
}
