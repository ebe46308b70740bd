package landscape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/memdriver"
	"waymark/pipeline"
)

// TestErrorGroupsNameFiles: a sample names the file of its chunk, to which its line refers.
func TestErrorGroupsNameFiles(t *testing.T) {
	driver := memdriver.New()
	var insert []landscape.Record
	for i, file := range []string{"a.csv", "b.csv"} {
		n := int64(i)
		insert = append(insert,
			landscape.Chunk{Run: "r", Source: "s", Chunk: n, File: file, FirstRow: 1 + n, Rows: 1, FirstLine: 2, Pack: "digest"},
			landscape.RowError{ErrorHead: landscape.ErrorHead{
				ErrorKey: landscape.ErrorKey{Run: "r", Source: "s", Row: 1 + n, Node: "s"}, Chunk: n,
				Code: "CONVERT", Field: "n", Message: `"x" is no int`, Line: 2, SentTo: pipeline.QuarantineSink,
			}})
	}
	require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: insert}))
	groups, err := landscape.New(driver, nil).ErrorGroups(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, groups, 1)
	var files []string
	for _, sample := range groups[0].Samples {
		files = append(files, sample.File)
	}
	require.Equal(t, []string{"a.csv", "b.csv"}, files)
}

// TestErrorGroupsKeepNames: what a message quotes from a row makes no other group, and what it names does. What all messages of a
// group say is said, values as well: a date that an advice names is none of the rows'.
func TestErrorGroupsKeepNames(t *testing.T) {
	driver := memdriver.New()
	insert := []landscape.Record{landscape.Chunk{Run: "r", Source: "s", File: "a.csv", FirstRow: 1, Rows: 6, FirstLine: 2, Pack: "digest"}}
	for i, message := range []string{`"7" is 7 (SQLSTATE 22003)`, `"8" is 8 (SQLSTATE 22003)`, `"7" is 7 (SQLSTATE 22012)`, `see the constraint day_7 of 7`,
		`"5/1" is no date: write YYYY-MM-DD, such as 2024-01-31, for example "2024-01-31"`, `"x" is no date: write YYYY-MM-DD, such as 2024-01-31, for example "2024-01-31"`,
	} {
		insert = append(insert, landscape.RowError{ErrorHead: landscape.ErrorHead{
			ErrorKey: landscape.ErrorKey{Run: "r", Source: "s", Row: 1 + int64(i), Node: "s"}, Code: "CONVERT", Message: message, Line: 2,
			SentTo: pipeline.QuarantineSink,
		}})
	}
	require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: insert}))
	groups, err := landscape.New(driver, nil).ErrorGroups(t.Context(), "r")
	require.NoError(t, err)
	var messages []string
	for _, g := range groups {
		messages = append(messages, g.Message)
	}
	require.Equal(t, []string{
		`"…" is N (SQLSTATE 22003)`, `"…" is no date: write YYYY-MM-DD, such as 2024-01-31, for example "2024-01-31"`,
		`"7" is 7 (SQLSTATE 22012)`, `see the constraint day_7 of 7`,
	}, messages)
}
