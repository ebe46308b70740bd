package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"waymark/audit"
	"waymark/internal/text"
)

// lastRuns reads last:N; 0 for an empty word.
func lastRuns(word string) (int, error) {
	if word == "" {
		return 0, nil
	}
	number, ok := strings.CutPrefix(word, "last:")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 {
		return 0, wrongUsef("--try %q: write last:N, such as last:7", word)
	}
	return n, nil
}

// writeTrials says what a version makes of earlier runs: all together, then run by run.
func writeTrials(w io.Writer, trials []audit.Trial) {
	var all audit.Trial
	var other, tried int64
	for i := range trials {
		if trials[i].Left == "" {
			tried++
		}
		all.Rows, all.Flipped, all.Refused = all.Rows+trials[i].Rows, all.Flipped+trials[i].Flipped, all.Refused+trials[i].Refused
		for _, v := range trials[i].Values {
			other += v.Rows
		}
	}
	fmt.Fprintf(w, "tried on %s, %s, nothing written: %s, %d %s other values, %d refused that passed before\n",
		text.Count(tried, "run"), text.Count(all.Rows, "row"), goElsewhere(all.Flipped), other,
		text.Agree(other, "has", "have"), all.Refused)
	same := 0
	for i := range trials {
		if trials[i].Same() {
			same++
			continue
		}
		writeTrial(w, &trials[i])
	}
	if same > 0 {
		fmt.Fprintf(w, "  no difference in %s\n", text.Count(int64(same), "run"))
	}
}

// goElsewhere says how many rows end elsewhere than they did.
func goElsewhere(rows int64) string {
	return fmt.Sprintf("%d %s another way", rows, text.Agree(rows, "goes", "go"))
}

func writeTrial(w io.Writer, t *audit.Trial) {
	if t.Left != "" {
		fmt.Fprintf(w, "  %s: not tried: %s\n", t.Run, text.Cell(t.Left))
		return
	}
	fmt.Fprintf(w, "  %s: %s, %s, %d refused that passed before\n",
		t.Run, text.Count(t.Rows, "row"), goElsewhere(t.Flipped), t.Refused)
	if t.Forgotten > 0 {
		fmt.Fprintf(w, "    not tried: %s forgotten\n", text.Count(t.Forgotten, "row"))
	}
	for _, f := range t.Flips {
		was, is := audit.EndWords(f.From), audit.EndWords(f.To)
		rows, examples := text.Count(f.Rows, "row"), strings.Join(f.Examples, ", ")
		fmt.Fprintf(w, "    %s → %s: %s, such as %s\n", was, is, rows, examples)
	}
	for _, v := range t.Values {
		fmt.Fprintf(w, "    other values in %s: %s, such as %s\n", v.Sink, text.Count(v.Rows, "row"), strings.Join(v.Examples, ", "))
	}
	if t.Stops != "" {
		fmt.Fprintf(w, "    the run would stop: %s\n", text.Cell(t.Stops))
	}
}
