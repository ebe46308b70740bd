package pipeline

import (
	"bytes"
	"reflect"
	"slices"

	"waymark/pipeline/calendar"
)

// Timetable is what a document says about slots of time.
type Timetable struct {
	Pipeline  string                  // the document's name
	Schedules Map[*calendar.Schedule] // in the order of the document
}

// timetableKeys are the keys of the document that a Timetable is made of.
var timetableKeys = []string{"name", "params", "schedules"}

// LoadTimetable reads the schedules of a document, and nothing else: nothing that the document refers to need be there. The error is
// Problems. Like Load, it never panics, and its time and memory are bounded for any data.
func LoadTimetable(file string, data []byte) (*Timetable, error) {
	doc := &Document{File: file, Source: bytes.Clone(data), Digest: digest(data)}
	l := &loader{doc: doc, params: map[string]paramText{}, noted: map[Reference]bool{}}
	if doc.root = l.parse(); doc.root == nil {
		return nil, l.sorted()
	}
	p := reflect.ValueOf(&doc.Pipeline).Elem()
	for _, rule := range rulesOf(p.Type()) {
		if child := doc.root.child(rule.key, -1); child != nil && slices.Contains(timetableKeys, rule.key) {
			l.decode(rule.key, child, p.FieldByIndex(rule.index), rule)
		}
	}
	l.checkSchedules(&doc.Pipeline)
	if len(l.problems) > 0 {
		return nil, l.sorted()
	}
	table := &Timetable{Pipeline: doc.Pipeline.Name}
	for _, entry := range doc.Pipeline.Schedules {
		schedule, err := calendar.New(entry.Value.spec(table.Pipeline + "/" + entry.Name))
		if err != nil {
			return nil, err
		}
		table.Schedules = append(table.Schedules, Named[*calendar.Schedule]{Name: entry.Name, Value: schedule})
	}
	return table, nil
}
