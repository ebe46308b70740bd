package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/pipeline/schema"
)

// TestFitsCells tries cells. (0 CPU-s.)
func TestFitsCells(t *testing.T) {
	layout := schema.Layout{Columns: true, Fields: []schema.Known{
		{Name: "id", Kinds: schema.Declared(row.Int, false)}, {Name: "at", Kinds: schema.Declared(row.Timestamp, true)},
		{Name: "note", Kinds: schema.Declared(row.String, false)},
	}}
	s, err := layout.With(nil)
	require.NoError(t, err)
	for _, c := range []struct {
		cells []string
		fits  bool
	}{
		{[]string{"1", "2001-01-31T23:59:59.5Z", "x"}, true},
		{[]string{"1", "", ""}, true},
		{[]string{"", "", ""}, false},
		{[]string{"1.5", "", ""}, false},
		{[]string{"1", "2001-01-31", ""}, false},
		{[]string{"1", ""}, false},
		{[]string{"1", "", "", ""}, false},
	} {
		require.Equal(t, c.fits, s.FitsCells(c.cells) == nil, c.cells)
	}
	require.NoError(t, s.FitsHeader([]string{"id", "at", "'note"}))
	for _, header := range [][]string{{"id", "at"}, {"id", "note", "at"}, {"id", "at", "note", "more"}} {
		require.Error(t, s.FitsHeader(header))
	}
}
