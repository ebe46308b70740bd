package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/admit"
)

func TestCanonicalTargets(t *testing.T) {
	for word, want := range map[string]string{
		"s3://birds/out/":                         "s3://birds/out",
		"postgres://h:5432/d/dw.t":                "postgres://h:5432/d/dw.t",
		"postgres://h/d/t":                        "postgres://h:5432/d/public.t",
		"postgresql://ann:pw@h:5433/d/t?a=b":      "postgres://h:5433/d/public.t",
		"postgres://[::1]/d/t":                    "postgres://[::1]:5432/d/public.t",
		"postgres://%2Fvar%2Frun:5432/d/public.t": "postgres://%2Fvar%2Frun:5432/d/public.t",
		"postgres://a:1,b:2/d/public.t":           "postgres://a:1,b:2/d/public.t",
	} {
		require.Equal(t, want, canonical(word), word)
		require.Equal(t, want, canonical(canonical(word)), "as it is recorded")
	}
}

func TestSameTarget(t *testing.T) {
	for _, c := range []struct {
		word, path string
		want       bool
	}{
		{"/a/out.csv", "/a/out.csv", true},
		{"/a//b/../out.csv", "/a/out.csv", true},
		{"/b/out.csv", "/a/out.csv", false},
		{"/a/out.csv", "s3://a/out.csv", false},
		{"t", "postgres://h:5432/d/public.t", true},
		{"public.t", "postgres://h:5432/d/public.t", true},
		{"dw.t", "postgres://h:5432/d/public.t", false},
		{"t", "s3://h/d/public.t", false},
		{"postgres://ann@h/d/t", "postgres://h:5432/d/public.t", true},
		{"postgres://h/other/t", "postgres://h:5432/d/public.t", false},
	} {
		require.Equal(t, c.want, sameTarget(c.word)(c.path), "%s and %s", c.word, c.path)
	}
}

func TestAWordNamesOneTarget(t *testing.T) {
	at := func(paths ...string) (records []landscape.ArtifactRecord) {
		for _, path := range paths {
			records = append(records, landscape.ArtifactRecord{Path: path})
		}
		return records
	}
	require.NoError(t, oneTarget("t", at("postgres://h:5432/d/public.t", "postgres://h:5432/d/public.t")))
	require.ErrorContains(t, oneTarget("t", at("postgres://h:5432/d/public.t", "postgres://h:5432/e/public.t")), "t is postgres://h:5432/d/public.t and postgres://h:5432/e/public.t: write which")
	require.Error(t, oneTarget("t", at("/a/t", "postgres://h:5432/e/public.t")))
	require.NoError(t, oneTarget("out.csv", at("/a/out.csv", "/link/out.csv")))
}

func TestTargetsOfGates(t *testing.T) {
	for target, want := range map[string]string{
		"/look at me/out.csv":          "/look at me/out.csv",
		"s3://b/out at s3.example.org": "s3://b/out",
		"s3://b/out":                   "s3://b/out",
		"postgres://h:5432/d/public.t": "postgres://h:5432/d/public.t",
	} {
		require.Equal(t, want, gateTarget(admit.Target(target)))
	}
}
