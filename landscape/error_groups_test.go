package landscape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
)

// someDigest is that of nothing.
var someDigest = strings.Repeat("d", 64)

// begun returns a landscape in which a run has begun, and nothing else.
func begun(t *testing.T, driver *blank.Driver, run string) *landscape.Log {
	t.Helper()
	log := landscape.New(driver, nil)
	record, graph := landscapetest.Scene{Run: run}.Graph()
	require.NoError(t, log.BeginRun(t.Context(), record, graph))
	return log
}

// passed returns a chunk and what its rows passed through.
func passed(c landscape.Chunk) []landscape.Record {
	c.Source, c.FirstLine, c.Cursor, c.Attempt, c.Read, c.Pack = "strikes", c.FirstRow+1, "{}", 1, 1, someDigest
	return []landscape.Record{c, landscape.PassageRecord{
		Run: c.Run, Source: c.Source, Chunk: c.Chunk, Rows: c.Rows, CodeBytes: 1, WayCodes: make([]byte, c.Rows),
		Started: 1, Finished: 1, Attempt: 1,
	}}
}

// TestErrorGroupsNameFiles: a sample names the file of its chunk, to which its line refers.
func TestErrorGroupsNameFiles(t *testing.T) {
	driver := blank.New(t)
	log := begun(t, driver, "r")
	var insert []landscape.Record
	for i, file := range []string{"a.csv", "b.csv"} {
		n := int64(i)
		insert = append(insert, passed(landscape.Chunk{Run: "r", Chunk: n, File: file, FirstRow: 1 + n, Rows: 1})...)
		insert = append(insert,
			landscape.RowError{ErrorHead: landscape.ErrorHead{
				ErrorKey: landscape.ErrorKey{Run: "r", Source: "strikes", Row: 1 + n, Node: "strikes"}, Chunk: n,
				Code: "CONVERT", Field: "n", Message: `"x" is no int`, Line: 2, SentTo: pipeline.QuarantineSink,
			}, ErrorHash: someDigest, At: 1})
	}
	require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: insert}))
	groups, err := log.ErrorGroups(t.Context(), "r")
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
	driver := blank.New(t)
	log := begun(t, driver, "r")
	insert := passed(landscape.Chunk{Run: "r", File: "a.csv", FirstRow: 1, Rows: 6})
	for i, message := range []string{`"7" is 7 (SQLSTATE 22003)`, `"8" is 8 (SQLSTATE 22003)`, `"7" is 7 (SQLSTATE 22012)`, `see the constraint day_7 of 7`,
		`"5/1" is no date: write YYYY-MM-DD, such as 2024-01-31, for example "2024-01-31"`, `"x" is no date: write YYYY-MM-DD, such as 2024-01-31, for example "2024-01-31"`,
	} {
		insert = append(insert, landscape.RowError{ErrorHead: landscape.ErrorHead{
			ErrorKey: landscape.ErrorKey{Run: "r", Source: "strikes", Row: 1 + int64(i), Node: "strikes"}, Code: "CONVERT", Message: message, Line: 2,
			SentTo: pipeline.QuarantineSink,
		}, ErrorHash: someDigest, At: 1})
	}
	require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: insert}))
	groups, err := log.ErrorGroups(t.Context(), "r")
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

// TestErrorGroupsSayTheCause: what the messages quote most often, and where the rows are. Counts are certain: one that may be too high is left out.
func TestErrorGroupsSayTheCause(t *testing.T) {
	driver := blank.New(t)
	log := begun(t, driver, "r")
	insert := slices.Concat(passed(landscape.Chunk{Run: "r", File: "a.csv", FirstRow: 1, Rows: 600}),
		passed(landscape.Chunk{Run: "r", Chunk: 1, File: "a.csv", FirstRow: 601, Rows: 400}))
	refuse := func(row int64, code, message string) {
		insert = append(insert, landscape.RowError{ErrorHead: landscape.ErrorHead{
			ErrorKey: landscape.ErrorKey{Run: "r", Source: "strikes", Row: row, Node: "strikes"}, Chunk: (row - 1) / 600, Code: code, Field: "cost", Message: message, Line: row + 1, SentTo: pipeline.QuarantineSink,
		}, ErrorHash: someDigest, At: 1})
	}
	for row := int64(401); row <= 460; row++ {
		value := `"n/a"`
		if row%3 == 0 {
			value = `"1 200"`
		}
		refuse(row, "CONVERT", value+" is no int")
	}
	for row := int64(501); row <= 999; row++ {
		message := fmt.Sprintf("%d is out of range", row)
		if row > 800 && row%2 == 0 {
			message = "7 is out of range"
		}
		refuse(row, "RANGE", message)
	}
	refuse(1, "REQUIRED", `"cost" is required`)
	refuse(1000, "REQUIRED", `"cost" is required`)
	require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: insert}))
	groups, err := log.ErrorGroups(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, groups, 3)

	many, few, required := groups[0], groups[1], groups[2]
	require.Equal(t, []landscape.Quoted{{Value: `"n/a"`, Count: 40}, {Value: `"1 200"`, Count: 20}}, few.Values)
	require.Equal(t, &landscape.Spread{Source: "strikes", Rows: 1000, Counts: []int64{0, 0, 0, 0, 0, 0, 0, 0, 50, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}, few.Where)
	first, last, count := few.Where.Densest()
	require.Equal(t, []int64{401, 450, 50}, []int64{first, last, count})

	require.Len(t, many.Values, 1, "what came once is no cause")
	require.Equal(t, "7", many.Values[0].Value)
	require.True(t, many.Values[0].AtLeast)
	require.LessOrEqual(t, many.Values[0].Count, int64(100), "never more than came")
	require.Greater(t, many.Values[0].Count, int64(80))
	require.Nil(t, required.Values, "they all say the same")
	require.EqualValues(t, []int64{1, 1}, []int64{required.Where.Counts[0], required.Where.Counts[19]})
}

// TestSpreadsHaveEveryRow: whatever rows a source has, each row is in the part that Densest says.
func TestSpreadsHaveEveryRow(t *testing.T) {
	driver := blank.New(t)
	for _, rows := range []int64{1, 2, 19, 20, 21, 37, 1000} {
		for row := int64(1); row <= rows; row += 1 + rows/100 {
			run := fmt.Sprint(row, "-of-", rows)
			log := begun(t, driver, run)
			insert := passed(landscape.Chunk{Run: run, File: "a.csv", FirstRow: 1, Rows: rows})
			require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: append(insert, landscape.RowError{
				ErrorHead: landscape.ErrorHead{
					ErrorKey: landscape.ErrorKey{Run: run, Source: "strikes", Row: row, Node: "strikes"},
					Code:     "CONVERT", Message: "x", Line: 2, SentTo: pipeline.QuarantineSink,
				}, ErrorHash: someDigest, At: 1,
			})}))
			groups, err := log.ErrorGroups(t.Context(), run)
			require.NoError(t, err)
			first, last, count := groups[0].Where.Densest()
			require.EqualValues(t, 1, count)
			require.True(t, first <= row && row <= last, "row %d of %d is not between %d and %d", row, rows, first, last)
		}
	}
}

// TestWithoutValues: what may be a value of a row is masked, and nothing else: neither counts, nor places, nor names of algorithms.
func TestWithoutValues(t *testing.T) {
	for message, want := range map[string]string{
		`12 bytes were added at the end; row 7 of 1,204 rows is the first that differs`: `12 bytes were added at the end; row 7 of 1,204 rows is the first that differs`,
		`(SHA-256 0301a8…) is not UTF-16`:                                               `(SHA-256 0301a8…) is not UTF-16`,
		`row 3: 999 is more than 500`:                                                   `row 3: N is more than N`,
		`"17 rows" is no int at byte 5`:                                                 `"…" is no int at byte 5`,
		`12.50 rows, row 5.75, 3,5 bytes`:                                               `N rows, row N, N bytes`,
		`999, 4 rows`:                                                                   `N, 4 rows`,
		`Key (id)=(5) exists (SQLSTATE 23505)`:                                          `Key (id)=(N) exists (SQLSTATE 23505)`,
		`line 8: 'row 9' and ` + "`7 bytes`":                                            `line 8: "…" and "…"`,
		`rows 5 to 7 have the value 88 in column 2`:                                     `rows N to N have the value N in column 2`,
		`"1e-400" is no float: expected a number such as -1.5 or 2e-7 at byte 5`:        `"…" is no float: expected a number such as -1.5 or 2e-7 at byte 5`,
		`expected a time with a zone such as 2001-01-31T23:59:59Z; character 5 is '1'`:  `expected a time with a zone such as 2001-01-31T23:59:59Z; character N is "…"`,
		`ints are from -2^63 to 2^63-1; "7" is not in the years 0001 to 9999`:           `ints are from -2^63 to 2^63-1; "…" is not in the years 0001 to 9999`,
		`"1e-400": floats are 0 or from 4.9e-324 to 1.8e308 in size`:                    `"…": floats are 0 or from 4.9e-324 to 1.8e308 in size`,
		`slot 2026-11-30T16:13Z of 2026-11-30 is taken since 2026-11-30 16:08:39Z`:      `slot N-N-30T16:13Z of N-N-N is taken since N-N-N N:N:39Z`,
		`the total 1,000.00 differs from 1,000.01`:                                      `the total N differs from N`,
	} {
		require.Equal(t, want, landscape.WithoutValues(message), message)
	}
	for _, told := range []string{
		"the schedule has no slot named 2026-11-30T16:13Z: the one that covers it is 2026-11-30T16:10Z",
		"the schedule has no slot named 2026-11-30: the one that covers it is 2026-W49",
		"the run of slot 2026-11-30T16:05:20Z was still going on (overlap: skip)",
		"waits for the end of the run of slot 2026-Q4, which is cancelled",
		"waits for slot 2026-11, which is failed (after: previous)",
		"slot 2026 was due (overlap: cancel)",
		"slot 2026-11-30 of schedule default/p046/due is not over before 2026-12-01T00:00:00Z",
		"pipeline p is retired in default since 2026-11-30 16:08:39Z by ann: it is not needed",
	} {
		require.Equal(t, told, landscape.WithoutValues(told))
		require.Equal(t, told+": row 3: N", landscape.WithoutValues(told+": row 3: 999"))
	}
	const cure = "deliveries cannot be verified here: secret HOOK: put it into the file of the server's --secrets-dir, " +
		"or share one in the server's settings, under secrets: HOOK: {pipelines: [billing]}"
	require.Equal(t, cure, landscape.WithoutValues(cure), "an apostrophe in a word quotes nothing")
	require.Equal(t, cure, landscape.WithoutTexts(cure, func(string) bool { return false }))
	for message, want := range map[string]string{
		`the row's 'Ann''s' and the file's.`: `the row's "…""…" and the file's.`,
		`E's secret' x's secret' 's a'`:      `E"…" x"…" "…"`,
		`of 'the dog's breakfast'`:           `of "…"s breakfast'`,
	} {
		require.Equal(t, want, landscape.WithoutValues(message), message)
		require.Equal(t, want, landscape.WithoutTexts(message, func(string) bool { return false }), message)
	}
	const header = `missing: "größe" (U+00F6 U+00DF), "b"; unexpected: "Grün" (U+00FC), "C"`
	require.Equal(t, `missing: "…", "…"; unexpected: "…", "…"`, landscape.WithoutValues(header))
	known := func(text string) bool { return text == "größe" || text == "b" }
	require.Equal(t, `missing: "größe" (U+00F6 U+00DF), "b"; unexpected: "…", "…"`,
		landscape.WithoutTexts(header, known))
}
