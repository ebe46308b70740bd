package lab

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// differences compares what a run left behind with what an undisturbed one did.
func (s *snapshot) differences(got *snapshot) []Finding {
	var found []Finding
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		content, there := got.files[name]
		if !there {
			found = append(found, Finding{Lost, bytes.Count(s.files[name], []byte{'\n'}), name + " is not there"})
			continue
		}
		found = append(found, compareFile(name, s.files[name], content)...)
	}
	for _, name := range slices.Sorted(maps.Keys(got.files)) {
		if _, there := s.files[name]; !there && !strings.HasPrefix(filepath.Base(name), ".") {
			found = append(found, Finding{Duplicated, bytes.Count(got.files[name], []byte{'\n'}), name + " should not be there"})
		}
	}
	for _, table := range slices.Sorted(maps.Keys(s.tables)) {
		found = append(found, compareTable(table, s.tables[table], got.tables[table])...)
	}
	return found
}

// compareFile compares two files line by line: what is missing is lost, what is there once too often is duplicated.
func compareFile(name string, want, got []byte) []Finding {
	if bytes.Equal(want, got) {
		return nil
	}
	missing, extra := lines(want, got)
	if len(missing) == 0 && len(extra) == 0 {
		return []Finding{{Differing, 1, name + " has its lines in another order"}}
	}
	var found []Finding
	if len(got) > 0 && got[len(got)-1] != '\n' && want[len(want)-1] == '\n' {
		found = append(found, Finding{Torn, 1, name + " ends within a line"})
	}
	if len(missing) > 0 {
		found = append(found, Finding{Lost, len(missing), fmt.Sprintf("%s lacks %q", name, shorten(missing[0]))})
	}
	if len(extra) > 0 {
		found = append(found, Finding{Duplicated, len(extra), fmt.Sprintf("%s has %q too often", name, shorten(extra[0]))})
	}
	return found
}

// lines returns the lines of want that got lacks, and those that got has and want has not, or not as often.
func lines(want, got []byte) (missing, extra []string) {
	return without(slices.Collect(strings.Lines(string(want))), slices.Collect(strings.Lines(string(got))))
}

// without returns what is only in want and what is only in got, both counted.
func without(want, got []string) (missing, extra []string) {
	count := map[string]int{}
	for _, line := range got {
		count[line]++
	}
	for _, line := range want {
		if count[line] == 0 {
			missing = append(missing, line)
		} else {
			count[line]--
		}
	}
	for _, line := range got {
		if count[line] > 0 {
			extra = append(extra, line)
			count[line]--
		}
	}
	return missing, extra
}

// compareTable compares the records of a table. Rows that are in no output are recorded in the table errors: one that is
// missing there is lost.
func compareTable(table string, want, got []string) []Finding {
	missing, extra := without(want, got)
	var found []Finding
	if len(missing) > 0 {
		kind := Differing
		if table == "errors" {
			kind = Lost
		}
		found = append(found, Finding{kind, len(missing), fmt.Sprintf("table %s lacks %s", table, shorten(missing[0]))})
	}
	if len(extra) > 0 {
		found = append(found, Finding{Differing, len(extra), fmt.Sprintf("table %s has %s", table, shorten(extra[0]))})
	}
	return found
}

// shorten returns the beginning of a long text.
func shorten(text string) string {
	const most = 400
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

// missing compares a run with an undisturbed one where batches depend on the time: only what was read is the same.
func (s *snapshot) missing(got *snapshot) []Finding {
	return compareTable("source_ends", s.ends, got.ends)
}
