package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"waymark/pipeline/calendar"
)

// Timetable is what a document says about slots of time.
type Timetable struct {
	Pipeline  string                  // the document's name
	Schedules Map[*calendar.Schedule] // in the order of the document
	Specs     Map[Schedule]           // the same, as the document has them
	Triggers  Map[ArrivalTrigger]     // what else begins runs

	doc      *Document
	declared Map[Param]
	required []string          // parameters without a default
	params   Map[Map[string]]  // by schedule, the texts of the parameters to which it gives values
	slots    map[string][]span // by parameter, the default that refers to a slot
}

// Daily is the schedule that gives slots to a document without schedules: days in UTC.
func (*Timetable) Daily() Named[*calendar.Schedule] { return Named[*calendar.Schedule]{Value: daily()} }

// Schedule returns the schedule with the name, or the only one for an empty name: Daily, if the document has none. The error begins with a verb, of
// which the document is the subject.
func (t *Timetable) Schedule(name string) (Named[*calendar.Schedule], error) {
	var names []string
	for _, schedule := range t.Schedules {
		if schedule.Name == name {
			return schedule, nil
		}
		names = append(names, schedule.Name)
	}
	switch {
	case name == "" && len(names) == 0:
		return t.Daily(), nil
	case name == "" && len(names) == 1:
		return t.Schedules[0], nil
	case name == "":
		return Named[*calendar.Schedule]{}, fmt.Errorf("has several schedules: say whose slot it is: %s", strings.Join(names, ", "))
	case len(names) == 0:
		return Named[*calendar.Schedule]{}, errors.New("has no schedules")
	}
	meant := ": it has " + strings.Join(names, ", ")
	if nearest := Nearest(name, names); nearest != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return Named[*calendar.Schedule]{}, fmt.Errorf("has no schedule named %.64q%s", name, meant)
}

// Fill returns the texts of the parameters of a run for a slot: those that were given, and the others that the run has because of the slot. It
// reports whether there are any of these, given or not.
func (t *Timetable) Fill(schedule Named[*calendar.Schedule], slot calendar.Slot, given map[string]string) (params map[string]string, depends bool) {
	params = t.Params(schedule, slot)
	depends = len(params) > 0
	maps.Copy(params, given)
	return params, depends
}

// Overridden returns the texts that parameters have because of a slot to which their defaults refer, by name, of those for which others were given; it is
// empty, not nil, if there is none.
func (t *Timetable) Overridden(schedule Named[*calendar.Schedule], slot calendar.Slot, given map[string]string) map[string]string {
	texts := t.Params(schedule, slot)
	maps.DeleteFunc(texts, func(param, text string) bool {
		other, overridden := given[param]
		return t.slots[param] == nil || !overridden || other == text
	})
	return texts
}

// Params returns the texts of the parameters that a run for a slot has because of that: those that the schedule gives, and those whose
// defaults refer to the slot. It is not nil.
func (t *Timetable) Params(schedule Named[*calendar.Schedule], slot calendar.Slot) map[string]string {
	texts := map[string]string{}
	for param, spans := range t.slots {
		if text, missing := slotText(spans, slot, schedule.Value); missing == "" {
			texts[param] = text
		}
	}
	given, _ := t.params.Get(schedule.Name)
	for _, param := range given {
		texts[param.Name] = param.Value
	}
	return texts
}

// Declares reports whether the document has a parameter of this name.
func (t *Timetable) Declares(param string) bool {
	_, is := t.declared.Get(param)
	return is
}

// NeedsSlot reports whether a run has to be about a slot unless these parameters are given.
func (t *Timetable) NeedsSlot(given map[string]string) bool {
	for param := range t.slots {
		if _, is := given[param]; !is {
			return true
		}
	}
	return false
}

// timetableKeys are the keys of the document that a Timetable is made of.
var timetableKeys = []string{"name", "params", "schedules", "triggers"}

// LoadTimetable reads the schedules and triggers of a document, and nothing else: nothing that the document refers to need be there. It adds others, which take the
// place of those of the same name, and are checked as these. The error is Problems. Like Load, it never panics, and its time and memory are bounded for
// any data.
func LoadTimetable(file string, data []byte, others ...Named[Schedule]) (*Timetable, error) {
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
	doc.Pipeline.Schedules.replace(others)
	l.checkSchedules(&doc.Pipeline)
	if len(l.problems) > 0 {
		return nil, l.sorted()
	}
	table := &Timetable{
		doc: doc, Pipeline: doc.Pipeline.Name, Specs: doc.Pipeline.Schedules, Triggers: doc.Pipeline.Triggers, declared: doc.Pipeline.Params, required: l.required(), slots: map[string][]span{},
	}
	for _, param := range doc.Pipeline.Params {
		if spans, refers := l.slots[defaultPath(param.Name)]; refers {
			table.slots[param.Name] = spans
		}
	}
	for _, entry := range doc.Pipeline.Schedules {
		schedule, err := entry.Value.Slots(table.Pipeline, entry.Name)
		if err != nil {
			return nil, err
		}
		table.params = append(table.params, Named[Map[string]]{Name: entry.Name, Value: entry.Value.Params})
		table.Schedules = append(table.Schedules, Named[*calendar.Schedule]{Name: entry.Name, Value: schedule})
	}
	return table, nil
}

// replace puts entries into the map, in the place of those of the same name.
func (m *Map[T]) replace(others []Named[T]) {
	for _, other := range others {
		*m = slices.DeleteFunc(*m, func(entry Named[T]) bool { return entry.Name == other.Name })
		*m = append(*m, other)
	}
}

// LoadSchedule reads one more schedule for the document of the timetable: a mapping, as documents have it under the schedule's name. The error is
// Problems, the same as if the document had it; file is the name in them, or empty.
func (t *Timetable) LoadSchedule(file, name string, data []byte, read ReadFile) (Schedule, error) {
	doc := &Document{File: file, Source: bytes.Clone(data), Pipeline: Pipeline{Name: t.Pipeline, Params: t.declared}}
	l := t.loader(doc)
	l.form = "a schedule is a mapping with at least the key every"
	root := l.parse()
	if root == nil {
		return Schedule{}, l.sorted()
	}
	path := Key("schedules", name)
	doc.root = root.under(name).under("schedules")
	var schedule Schedule
	l.decode(path, root, reflect.ValueOf(&schedule).Elem(), fieldRule{})
	l.readValues(path, &schedule, read)
	l.checkSchedule(path, Named[Schedule]{Name: name, Value: schedule}, t.required)
	for i := range l.problems {
		below := strings.TrimPrefix(l.problems[i].Path, path)
		l.problems[i].Path = strings.TrimPrefix(below, ".")
	}
	if len(l.problems) > 0 {
		return Schedule{}, l.sorted()
	}
	return schedule, nil
}

// loader returns one that checks what another document says of the parameters of this one.
func (t *Timetable) loader(doc *Document) *loader {
	l := &loader{doc: doc, params: map[string]paramText{}, noted: map[Reference]bool{}, slots: map[string][]span{}}
	for param, spans := range t.slots {
		l.slots[defaultPath(param)] = spans
	}
	return l
}

// under returns a mapping, at the same place, that has the node under a key.
func (n *node) under(key string) *node {
	return &node{kind: mappingNode, line: n.line, column: n.column, written: true, byKey: map[string]*node{key: n}}
}
