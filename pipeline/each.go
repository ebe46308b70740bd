package pipeline

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"waymark/pipeline/calendar"
)

// ReadFile returns the content of a file beside a document: of a version of a pipeline, the one that it has.
type ReadFile func(path string) ([]byte, error)

// Files returns the files beside the document that have the values of its schedules, each once, in order.
func (t *Timetable) Files() (files []string) {
	for _, schedule := range t.Specs {
		for _, each := range schedule.Value.ForEach {
			if each.Value.File != "" {
				files = append(files, each.Value.File)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Resolve reads the values of schedules that are in files. The error is Problems.
func (t *Timetable) Resolve(read ReadFile) error {
	if len(t.Files()) == 0 {
		return nil
	}
	l := t.loader(t.doc)
	for i := range t.Specs {
		entry := &t.Specs[i]
		path := Key("schedules", entry.Name)
		l.readValues(path, &entry.Value, read)
		l.checkSlots(path, entry.Value, t.Pipeline+"/"+entry.Name)
		if slots, err := entry.Value.Slots(t.Pipeline, entry.Name); err == nil {
			t.Schedules[i].Value = slots
		}
	}
	if len(l.problems) > 0 {
		return l.sorted()
	}
	return nil
}

// readValues gives a schedule at the path the values that are in files.
func (l *loader) readValues(path string, s *Schedule, read ReadFile) {
	s.ForEach = slices.Clone(s.ForEach)
	for i := range s.ForEach {
		each := &s.ForEach[i].Value
		if !each.Open() || each.Field == "" { // that is reported already
			continue
		}
		at := Key(Key(path, "for_each"), s.ForEach[i].Name)
		content, err := read(each.File)
		if err == nil {
			each.Values, err = columnOf(content, each.Field)
		}
		if err != nil {
			l.report(at, "%s: %v", each.File, err)
		}
	}
}

// notUTF8 returns the first line, from 1, that is not valid UTF-8; 0 if all are.
func notUTF8(content []byte) int {
	line := 0
	for text := range bytes.Lines(content) {
		if line++; !utf8.Valid(text) {
			return line
		}
	}
	return 0
}

// columnOf returns the values of a column of a CSV file with a header, each once, in the order of their first lines.
func columnOf(content []byte, field string) (values []string, err error) {
	if line := notUTF8(content); line > 0 {
		return nil, fmt.Errorf("line %d is not valid UTF-8: save the file as UTF-8", line)
	}
	rows := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	header, err := rows.Read()
	if err != nil {
		return nil, errors.New("has no header: the first line of a CSV file names its columns")
	}
	column := slices.Index(header, field)
	if column < 0 {
		return nil, fmt.Errorf("has no column %s%s", quote(field), suggestion(field, header))
	}
	seen := map[string]bool{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if value := row[column]; !seen[value] {
			seen[value] = true
			values = append(values, value)
		}
		if len(values) > calendar.MaxParts {
			return nil, fmt.Errorf("has more than %d values in the column %s", calendar.MaxParts, quote(field))
		}
	}
	if len(values) == 0 {
		return nil, errors.New("has no lines after its header")
	}
	return values, nil
}
