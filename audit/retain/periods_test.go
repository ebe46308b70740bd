package retain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/pipeline"
)

func periodsOf(t *testing.T, text string) *retain.Periods {
	t.Helper()
	p := &retain.Periods{}
	require.NoError(t, p.Set(text))
	return p
}

func TestPeriods(t *testing.T) {
	p := periodsOf(t, `{source: 90d, derived: 0d, debugging: 36h, `+
		`pipelines: {orders: {source: 400d}, ledger: {source: forever, derived: 1h30m}}}`)
	text := `{"debugging":"36h0m0s","derived":"0d","pipelines":{"ledger":{"derived":"1h30m0s","source":"forever"},` +
		`"orders":{"source":"400d"}},"source":"90d"}`
	require.Equal(t, text, p.String())
	require.Equal(t, p, periodsOf(t, text), "what is recorded is read again")
	require.Equal(t, "source 90d, derived 0d, debugging 36h0m0s; ledger: source forever, derived 1h30m0s; "+
		"orders: source 400d", p.Told())

	const day = 24 * time.Hour
	long := map[landscape.Class]time.Duration{landscape.SourceClass: 500 * day, landscape.DebuggingClass: time.Hour}
	for name, want := range map[string]retain.Rules{
		"other": {
			landscape.SourceClass:    90 * day,
			landscape.DerivedClass:   0,
			landscape.DebuggingClass: 36 * time.Hour,
		},
		"orders": {
			landscape.SourceClass:    400 * day,
			landscape.DerivedClass:   0,
			landscape.DebuggingClass: 36 * time.Hour,
		},
		"ledger": {landscape.DerivedClass: 90 * time.Minute, landscape.DebuggingClass: 36 * time.Hour},
	} {
		require.Equal(t, want, p.Of(name, nil), name)
		if name != "ledger" {
			want[landscape.SourceClass] = 500 * day
		}
		require.Equal(t, want, p.Of(name, long), "the document of %s lengthens, and never shortens", name)
	}
	unsaid := retain.Rules{landscape.DebuggingClass: retain.DefaultDebugging}
	require.Equal(t, unsaid, (&retain.Periods{}).Of("any", nil), "nothing was said")
	require.Empty(t, (&retain.Periods{}).String())
	require.Equal(t, "{}", periodsOf(t, "{}").String(), "all is kept, as somebody said")
}

func TestWrongPeriods(t *testing.T) {
	for text, want := range map[string]string{
		"90d":                         "write classes with times, such as {source: 90d, derived: 7d, debugging: 30d}",
		"[source]":                    "write classes with times",
		"{source: 90d":                `"{source: 90d": `,
		"{sauce: 90d}":                `unknown class "sauce" (did you mean "source"?)`,
		"{artifacts: 90d}":            `unknown class "artifacts" (there are: source, derived, debugging, pipelines)`,
		"{source: 0d}":                "source: 0d would purge source records as soon as their run has ended",
		"{debugging: 0d}":             "debugging: 0d would drop events before anybody reads them",
		"{source: 40000d}":            "more than 100 years",
		"{source: [90d]}":             "source: write a time such as 90d, or forever",
		"{source: }":                  `source: "null" is not a length of time`,
		"{source: 90}":                "source: ",
		"{pipelines: [orders]}":       "pipelines: write names with classes",
		"{pipelines: {orders: 90d}}":  "orders: write classes with times, such as {source: 400d}",
		"{pipelines: {'a b': {}}}":    `"a b" cannot be a pipeline`,
		"{pipelines: {x: {pip: 1d}}}": `x: unknown class "pip"`,
	} {
		require.ErrorContains(t, (&retain.Periods{}).Set(text), want, text)
	}
}

// TestShortens: what needs several persons is anything that is kept for a shorter time, of whatever pipeline.
func TestShortens(t *testing.T) {
	for _, c := range []struct {
		before, now string
		shorter     []string
	}{
		{"", "{source: 90d}", []string{"source: 90d, forever before"}},
		{"", "{debugging: 30d}", nil},
		{"", "{debugging: 29d}", []string{"debugging: 29d, 30d before"}},
		{"{source: 90d}", "{source: 91d}", nil},
		{"{source: 90d}", "{}", nil},
		{
			"{source: 90d}", "{source: 90d, pipelines: {orders: {source: 9d}}}",
			[]string{"orders.source: 9d, 90d before"},
		},
		{
			"{source: 90d, pipelines: {orders: {source: 400d}}}", "{source: 90d}",
			[]string{"orders.source: 90d, 400d before"},
		},
		{
			"{source: 90d, pipelines: {orders: {source: forever}}}", "{source: 90d, derived: 1d}",
			[]string{
				"derived: 1d, forever before",
				"orders.source: 90d, forever before",
				"orders.derived: 1d, forever before",
			},
		},
	} {
		before := &retain.Periods{}
		if c.before != "" {
			before = periodsOf(t, c.before)
		}
		require.Equal(t, c.shorter, periodsOf(t, c.now).Shortens(before), "%s → %s", c.before, c.now)
	}
}

// TestADocumentOnlyLengthens: one that says less than the settings is refused, with its place.
func TestADocumentOnlyLengthens(t *testing.T) {
	settings := periodsOf(t, "{source: 90d, debugging: 30d, pipelines: {orders: {source: 400d}}}")
	for text, want := range map[string][]string{
		// derived records are kept for ever, which nobody can shorten
		"{source: 400d, derived: 1s, debugging: 31d}": nil,
		"{source: 399d,\n  debugging: 1h}": {
			"orders.yaml:4:21: retention.source: 399d is shorter than the 400d of the settings, " +
				"which a document can only lengthen: write at least 400d, or leave it out",
			"orders.yaml:5:14: retention.debugging: 1h0m0s is shorter than the 30d of the settings, " +
				"which a document can only lengthen: write at least 30d, or leave it out",
		},
	} {
		document := "name: orders\nsources: {a: {csv: {path: a.csv}, schema: {fields: {id: int}}}}\n" +
			"sinks: {b: {from: a, csv: {path: b.csv}}}\nretention: " + text + "\n"
		loaded, err := pipeline.Load("orders.yaml", []byte(document), pipeline.Environment{})
		require.NoError(t, err)
		err = settings.Admits(loaded)
		if want == nil {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, strings.Join(want, "\n"), err.Error())
		require.ErrorAs(t, err, new(pipeline.Problems))
		require.NoError(t, (&retain.Periods{}).Admits(loaded), "no settings are known")
	}
}

// TestADocumentNeverShortensForever: what the settings keep forever, for one pipeline or for all, no document limits.
func TestADocumentNeverShortensForever(t *testing.T) {
	document := "name: ledger\nsources: {a: {csv: {path: a.csv}, schema: {fields: {id: int}}}}\n" +
		"sinks: {b: {from: a, csv: {path: b.csv}}}\nretention: {source: 10d}\n"
	loaded, err := pipeline.Load("ledger.yaml", []byte(document), pipeline.Environment{})
	require.NoError(t, err)
	for _, settings := range []string{
		"{source: 5d, pipelines: {ledger: {source: forever}}}",
		"{source: forever}",
	} {
		require.EqualError(t, periodsOf(t, settings).Admits(loaded), "ledger.yaml:4:21: retention.source: 10d is shorter "+
			"than the settings say, which keep this forever and which a document can only lengthen: leave it out", settings)
	}
	for _, settings := range []string{
		"{source: forever, pipelines: {ledger: {source: 10d}}}",
		"{pipelines: {other: {source: forever}}}",
		"{derived: forever}",
	} {
		require.NoError(t, periodsOf(t, settings).Admits(loaded), settings)
	}
}
