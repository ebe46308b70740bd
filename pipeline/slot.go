package pipeline

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"waymark/pipeline/calendar"
)

// slotName is what a reference to a slot may be: ${slot:date}, ${slot:date-1d}.
var slotName = regexp.MustCompile(`^(start|end|date|hour|label)([+-][0-9]{1,4}d)?$`)

var slotNames = []string{"start", "end", "date", "hour", "label"}

// parseSlotReference reads what follows ${slot: in a reference.
func parseSlotReference(name string) (span, error) {
	if parts := slotName.FindStringSubmatch(name); parts != nil && (parts[2] == "" || parts[1] == "date") {
		return span{SlotReference, name}, nil
	}
	return span{}, fmt.Errorf("%s is not a reference to a slot: write start, end, date, date-1d, hour or label after slot:%s",
		quote("${slot:"+name+"}"), suggestion(name, slotNames))
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

// slotText replaces the references to a slot of a schedule in such a zone.
func slotText(spans []span, slot calendar.Slot, zone *time.Location) string {
	var text strings.Builder
	for _, s := range spans {
		if s.kind == "" {
			text.WriteString(s.text)
		} else {
			text.WriteString(slotValue(s.text, slot, zone))
		}
	}
	return text.String()
}

// slotValue is the value of a reference that parseSlotReference takes.
func slotValue(name string, slot calendar.Slot, zone *time.Location) string {
	switch name {
	case "start":
		return slot.From.Format(time.RFC3339)
	case "end":
		return slot.To.Format(time.RFC3339)
	case "hour":
		return slot.From.In(zone).Format("15")
	case "label":
		return slot.Name
	}
	days, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "date"), "d")) // none for the date itself
	return (calendar.DateOf(slot.From, zone) + calendar.Date(days)).String()
}

// checkSlotDefaults reports defaults that do not fit their parameters in some slot of the schedule. A parameter to which the schedule gives
// a value does not need its default.
func (l *loader) checkSlotDefaults(schedule *calendar.Schedule, given Map[string], what string) {
	if l.misfits == nil {
		l.misfits = map[string]bool{}
	}
	has := map[string]bool{}
	for _, param := range given {
		has[param.Name] = true
	}
	for slot := range schedule.Slots(exampleTime, exampleTime.AddDate(10, 0, 0)) {
		for _, param := range l.doc.Pipeline.Params {
			path := defaultPath(param.Name)
			spans, refers := l.slots[path]
			if !refers || has[param.Name] {
				continue
			}
			_, err := parseParam(param.Value, slotText(spans, slot, schedule.Zone()))
			if err != nil && !errors.Is(err, errUnknownType) && !l.misfits[path] {
				l.misfits[path] = true
				l.report(path, "in slot %s%s: %s", slot.Name, what, err)
			}
		}
		return
	}
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
