package pipeline

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/pipeline/calendar"
)

// slotName is what a reference to a slot may be: ${slot:date}, ${slot:date-1d}, or one to a value of for_each, such as ${slot:tenant}.
var slotName = regexp.MustCompile(`^([a-z][a-z0-9_]{0,62})([+-][0-9]{1,4}d)?$`)

// parseSlotReference reads what follows ${slot: in a reference.
func parseSlotReference(name string) (span, error) {
	if parts := slotName.FindStringSubmatch(name); parts != nil && (parts[2] == "" || parts[1] == "date") {
		return span{SlotReference, name}, nil
	}
	return span{}, errors.New(noSlotReference(name, ""))
}

// noSlotReference says that a document cannot refer so to a slot.
func noSlotReference(name, suggested string) string {
	return fmt.Sprintf("%s is not a reference to a slot: write start, end, date, date-1d, hour or label after slot:, or a name of for_each%s", quote("${slot:"+name+"}"), suggested)
}

// ofTime reports whether a reference to a slot is one to its time, and not to a value of for_each.
func ofTime(name string) bool {
	word, _, _ := strings.Cut(strings.ReplaceAll(name, "+", "-"), "-")
	return slices.Contains(calendar.Reserved, word)
}

// slotDefault reads the default of a parameter that may refer to a slot: only one that does is kept as written.
func (l *loader) slotDefault(path string, n *node, literal string, references []span) (string, bool) {
	for _, reference := range references {
		if reference.kind != SlotReference {
			l.report(path, "${%s}: %s", reference.name(), noReferences(exactText, reference))
			return "", false
		}
	}
	if len(references) == 0 {
		return literal, true
	}
	spans, err := splitSpans(n.text)
	if err != nil {
		l.report(path, "%s", err)
		return "", false
	}
	if l.slots == nil {
		l.slots = map[string][]span{}
	}
	l.slots[path] = spans
	return n.text, true
}

// defaultPath is where the default of a parameter stands.
func defaultPath(param string) string { return Key(Key("params", param), "default") }

// slotText replaces the references to a slot of a schedule. missing is the first one to what such slots do not have; empty if they have all.
func slotText(spans []span, slot calendar.Slot, schedule *calendar.Schedule) (filled, missing string) {
	var text strings.Builder
	for _, s := range spans {
		value, has := s.text, true
		if s.kind != "" {
			value, has = slotValue(s.text, slot, schedule)
		}
		if !has {
			return "", s.text
		}
		text.WriteString(value)
	}
	return text.String(), ""
}

// slotValue is the value of a reference that parseSlotReference takes, and false if slots of the schedule have none.
func slotValue(name string, slot calendar.Slot, schedule *calendar.Schedule) (string, bool) {
	switch {
	case name == "label":
		return slot.Name, true
	case ofTime(name):
		return timeValue(name, slot, schedule.Zone()), schedule.Timed()
	}
	return slot.Value(name)
}

// timeValue is the value of a reference to the time of a slot.
func timeValue(name string, slot calendar.Slot, zone *time.Location) string {
	switch name {
	case "start":
		return slot.From.Format(time.RFC3339)
	case "end":
		return slot.To.Format(time.RFC3339)
	case "hour":
		return slot.From.In(zone).Format("15")
	}
	days, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "date"), "d")) // none for the date itself
	return (calendar.DateOf(slot.From, zone) + calendar.Date(days)).String()
}

// checkSlotDefaults reports defaults that do not fit their parameters in some slot of the schedule at the path, which is empty for that of documents
// without any. A parameter to which the schedule gives a value does not need its default.
func (l *loader) checkSlotDefaults(schedule *calendar.Schedule, given Map[string], path, what string) {
	for _, param := range l.doc.Pipeline.Params {
		spans, refers := l.slots[defaultPath(param.Name)]
		if _, has := given.Get(param.Name); !refers || has {
			continue
		}
		for slot := range examples(schedule) {
			text, missing := slotText(spans, slot, schedule)
			if missing != "" {
				l.reportMissing(path, param.Name, missing)
				break
			}
			_, err := parseParam(param.Value, text)
			if err != nil && !errors.Is(err, errUnknownType) && l.misfit(defaultPath(param.Name)) {
				l.report(defaultPath(param.Name), "in slot %s%s: %s", slot.Name, what, err)
			}
		}
	}
}

// misfit reports whether the default at the path is the first one there that does not fit.
func (l *loader) misfit(path string) bool {
	if l.misfits == nil {
		l.misfits = map[string]bool{}
	}
	known := l.misfits[path]
	l.misfits[path] = true
	return !known
}

// reportMissing reports a parameter that has no value in the runs of a schedule, because its default refers to what the slots of that do not have.
func (l *loader) reportMissing(path, param, missing string) {
	cure := fmt.Sprintf("add for_each: {%s: [VALUE]}, or params: {%s: VALUE}", missing, param)
	if ofTime(missing) {
		cure = fmt.Sprintf("its slots have no time: add params: {%s: VALUE}", param)
	}
	if path != "" {
		l.report(path, "gives no value to the parameter %q, whose default has ${slot:%s}: %s", param, missing, cure)
	}
}

// examples are slots that stand for all others: those of one interval of time, as far as their values are known.
func examples(schedule *calendar.Schedule) iter.Seq[calendar.Slot] {
	if !schedule.Timed() {
		return slices.Values(schedule.Parts(exampleTime))
	}
	return func(yield func(calendar.Slot) bool) {
		name := ""
		for slot := range schedule.Slots(exampleTime, exampleTime.AddDate(10, 0, 0)) {
			when := strings.TrimSuffix(slot.Name, slot.Part)
			if name == "" {
				name = when
			}
			if when != name || !yield(slot) {
				return
			}
		}
	}
}

// checkSlotNames reports references to values that no slot has: those of documents whose schedules have for_each, and what may be a typing error.
func (l *loader) checkSlotNames(p *Pipeline) {
	known := slices.Clone(calendar.Reserved)
	for _, schedule := range p.Schedules {
		known = append(known, schedule.Value.ForEach.names()...)
	}
	for _, path := range slices.Sorted(maps.Keys(l.slots)) {
		for _, s := range l.slots[path] {
			meant := suggestion(s.text, known)
			if s.kind != "" && !ofTime(s.text) && !slices.Contains(known, s.text) && meant != "" {
				l.report(path, "%s", noSlotReference(s.text, meant))
			}
		}
	}
}

// ungiven returns the first reference of the default at the path to a value of for_each that no schedule of the document has; empty if there is none.
func (l *loader) ungiven(path string) string {
	for _, s := range l.slots[path] {
		has := func(schedule Named[Schedule]) bool { return slices.Contains(schedule.Value.ForEach.names(), s.text) }
		if s.kind != "" && !ofTime(s.text) && !slices.ContainsFunc(l.doc.Pipeline.Schedules, has) {
			return s.text
		}
	}
	return ""
}

// exampleTime lies in the slot that stands for all others.
var exampleTime = time.Date(2026, time.November, 21, 2, 0, 0, 0, time.UTC)

// daily is the schedule of documents that have none: days in UTC.
func daily() *calendar.Schedule {
	schedule, err := calendar.New(calendar.Spec{Every: "day"})
	if err != nil {
		panic("pipeline: " + err.Error()) // a Spec without mistakes
	}
	return schedule
}
