package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// TestErrorsOfOneRow: what is said of one row is singular, and of a row that was forgotten it says so, and by which order.
func TestErrorsOfOneRow(t *testing.T) {
	samples := func(message, forgotten string, rows ...int64) (samples []client.ErrorSample) {
		for _, row := range rows {
			samples = append(samples, client.ErrorSample{Sample: landscape.Sample{
				Source: "in", File: "in.csv", Row: row, Line: row + 1, Message: message, SentTo: "__quarantine__", Forgotten: forgotten,
			}})
		}
		return samples
	}
	const told = "forgotten 2026-11-30 12:00:00 UTC by ann (order 2: request 89)"
	groups := []client.ErrorGroup{
		{
			ErrorGroup: landscape.ErrorGroup{
				Node: "in", Code: "CONVERT", Field: "id", Message: "N is no int", Count: 4, Retried: 1, RetriedBy: []string{"again"},
				Where: &landscape.Spread{Source: "in", Rows: 5, Counts: []int64{0, 1, 1, 1, 1}},
			},
			Samples: samples("7 is no int", "", 2, 3, 4),
		},
		{
			ErrorGroup: landscape.ErrorGroup{
				Node: "in", Code: "CONVERT", Field: "id", Count: 1, Forgotten: 1, ForgottenBy: []string{told},
			},
			Samples: samples("", told, 1),
		},
	}
	var out strings.Builder
	require.NoError(t, writeErrors(&out, landscape.Run{RunHead: landscape.RunHead{ID: "r"}}, groups, false))
	require.Contains(t, out.String(),
		"\n  1 of these was retried since: what was refused again is shown by waymark errors again\n")
	require.Regexp(t, `(?m)^  where: \[.*\]  1 at row 2 of the 5 of in$`, out.String())
	require.Contains(t, out.String(), "\n1 row refused by in: CONVERT, id\n  1 of these was "+told+"\n")
	require.Regexp(t, `(?m)^  in row 1  line 2  forgotten  → quarantine$`, out.String())
}
