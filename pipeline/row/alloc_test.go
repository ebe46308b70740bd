//go:build !race

package row

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The hot paths allocate nothing: they run once for each row or cell. (The race detector makes sync.Pool
// forget on purpose.)
func TestHotPathsDoNotAllocate(t *testing.T) {
	r, buf := benchRow(), make([]byte, 0, 4096)
	require.Zero(t, testing.AllocsPerRun(100, func() { AppendCanonical(buf, r) }), "AppendCanonical")
	var hasher Hasher
	require.Zero(t, testing.AllocsPerRun(100, func() { hasher.Sum(r, Change{front: 1}) }), "Hasher")
	require.Zero(t, testing.AllocsPerRun(100, func() { AppendJSON(buf, r) }), "AppendJSON")
	for kind, text := range parseTexts {
		require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = Parse(kind, text) }), "Parse %s", kind)
	}
	text, sum := string(AppendJSON(nil, r)), 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = ScanObject(text, func(_ string, raw RawValue) error {
			v, err := raw.Natural()
			sum += len(v.Text())
			return err
		})
	}), "ScanObject and Natural")
	labels := []string{`"a":`, `"b":`, `"c":`}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		known, err := ScanKeyed(`{"a":1,"b":"text","c":[1,{"d":2.5}]}`, labels, func(label int, raw RawValue) error {
			sum += label + len(raw.Literal)
			return nil
		})
		if !known || err != nil {
			sum = -1
		}
	}), "ScanKeyed")
	require.Positive(t, sum)
	canonical, parser, values := string(AppendCanonical(nil, r)), NewCanonicalParser(nil), make([]Value, 0, 16)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = parser.Parse(canonical, values) }), "CanonicalParser")
}
