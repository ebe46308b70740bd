package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestDiagram draws expressions with the value of each part under its place.
func TestDiagram(t *testing.T) {
	for _, drawn := range []struct {
		expression string
		values     []audit.Value
		want       string
	}{
		{
			"row.severity >= 3 && row.airport != ''",
			[]audit.Value{
				{Source: "row.severity >= 3 && row.airport != ''", Value: "true", At: 18}, {Source: "row.severity >= 3", Value: "true", Depth: 1, At: 13},
				{Source: "row.severity", Value: "3", Depth: 2, At: 0}, {Source: "row.airport != ''", Value: "true", Depth: 1, At: 33}, {Source: "row.airport", Value: `"Lihue Arpt"`, Depth: 2, At: 21},
			}, `
row.severity >= 3 && row.airport != ''
|            |    |  |           |
3            true |  |           true
                  |  "Lihue Arpt"
                  true
`[1:],
		},
		{"row.n > 4", []audit.Value{{Source: "row.n > 4", Value: "false", At: 6}, {Source: "row.n", Value: "4", Depth: 1, At: 0}}, "row.n > 4\n|     |\n4     false\n"},
		{"row.x / row.y", []audit.Value{{Source: "row.x / row.y", Error: "division by zero", At: 6}, {Source: "row.x", Value: strings.Repeat("1", 60), Depth: 1}}, "row.x / row.y\n|     |\n|     error\n" + strings.Repeat("1", 39) + "…\n"},
		{"row.n > 4 &&\nrow.b", []audit.Value{{Source: "row.n > 4 &&\nrow.b", Value: "true", At: 10}}, ""},
		{"row.n == 'é'", []audit.Value{{Source: "row.n == 'é'", Value: "true", At: 6}}, ""},
		{"row.n", []audit.Value{{Source: "row.n", Value: "\"\u202e\""}}, ""},
		{"int", []audit.Value{{Source: "row.n", Value: "4"}}, ""},
		{"row.n", nil, ""},
		{strings.Repeat("row.n + ", 20) + "1", []audit.Value{{Source: "row.n", Value: "4"}}, ""},
	} {
		require.Equal(t, strings.TrimSuffix(drawn.want, "\n"), diagram(drawn.expression, drawn.values))
	}
}
