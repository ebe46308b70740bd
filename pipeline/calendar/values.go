package calendar

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Dimension is what a schedule has slots for beside time: one for each value, such as for each tenant.
type Dimension struct {
	Name   string   // such as tenant: a to z, 0 to 9 and _, a letter first
	Values []string // in the order in which their slots come
	Open   bool     // Values are known elsewhere: Named takes any, and there are no other slots
}

// MaxParts is how many slots there are at most for one interval of time.
const MaxParts = 1000

// maxValueBytes bounds a value, which becomes part of the names of slots.
const maxValueBytes = 200

var dimensionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Reserved are the names that no Dimension can have: documents refer to the time of a slot by them.
var Reserved = []string{"start", "end", "date", "hour", "label"}

// nothing is the word of Spec.Covers for slots without time.
const nothing = "nothing"

// dimensions checks the dimensions, and finds their combinations.
func (b *builder) dimensions() {
	b.schedule.dimensions = slices.SortedStableFunc(slices.Values(b.spec.ForEach), func(a, b Dimension) int { return strings.Compare(a.Name, b.Name) })
	b.schedule.parts = []string{""}
	for _, d := range b.schedule.dimensions {
		b.dimension(d)
		if len(d.Values)*len(b.schedule.parts) > MaxParts {
			b.problem("for_each", "makes more than %d slots of one interval: a schedule has at most so many", MaxParts)
			return
		}
		b.schedule.parts = combine(b.schedule.parts, d)
	}
}

func (b *builder) dimension(d Dimension) {
	switch {
	case !dimensionName.MatchString(d.Name):
		b.problem("for_each", "%.64q is not a name: use a to z, 0 to 9 and _, at most 63 characters, a letter first", d.Name)
	case slices.Contains(Reserved, d.Name):
		b.problem("for_each", "%q is a word for the time of slots: choose another name", d.Name)
	case len(d.Values) == 0 && !d.Open:
		b.problem("for_each."+d.Name, "has no values: give at least one")
	}
	for i, value := range d.Values {
		switch {
		case value == "":
			b.problem(fmt.Sprintf("for_each.%s[%d]", d.Name, i), "is empty: a slot has a value")
		case len(value) > maxValueBytes:
			b.problem(fmt.Sprintf("for_each.%s[%d]", d.Name, i), "has %d bytes, and a value has at most %d", len(value), maxValueBytes)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			b.problem(fmt.Sprintf("for_each.%s[%d]", d.Name, i), "%.64q is not a text of UTF-8 without control characters", value)
		case slices.Contains(d.Values[:i], value):
			b.problem(fmt.Sprintf("for_each.%s[%d]", d.Name, i), "%.64q is listed twice", value)
		}
	}
}

// combine returns every part with every value.
func combine(parts []string, d Dimension) (all []string) {
	for _, part := range parts {
		for _, value := range d.Values {
			all = append(all, joinPart(part, d.Name, value))
		}
	}
	return all
}

func joinPart(part, name, value string) string {
	if part != "" {
		part += ","
	}
	return part + name + "=" + escape(value)
}

// escape writes a value as it stands in the name of a slot: what is not a letter or digit of ASCII, -, _ or ~ is percent-encoded, and so is a dot that is
// not between two of these, so that no name has the .. of ranges.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if plain(value, i) || value[i] == '.' && plain(value, i-1) && plain(value, i+1) {
			b.WriteByte(value[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", value[i])
		}
	}
	return b.String()
}

func plain(value string, i int) bool {
	if i < 0 || i >= len(value) {
		return false
	}
	c := value[i]
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '~'
}

// Value is one value of a slot.
type Value struct {
	Name string `json:"name"`
	Text string `json:"value"`
}

// SplitName cuts the name of a slot into that of its time and its values: 2026-11-21/tenant=acme, or tenant=acme of a slot without time. It has none
// if there are none in the name. The error says what is wrong with it.
func SplitName(name string) (when string, values []Value, err error) {
	when, part, cut := strings.Cut(name, "/")
	if !cut && strings.Contains(name, "=") {
		when, part, cut = "", name, true
	}
	if !cut {
		return name, nil, nil
	}
	for pair := range strings.SplitSeq(part, ",") {
		key, escaped, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(escaped)
		if !ok || err != nil || text == "" || !dimensionName.MatchString(key) {
			return "", nil, fmt.Errorf("%.80q is not the name of a slot: values are written as in 2026-11-21/tenant=acme, with %%2C for a comma, %%2F for a slash and %%2E for one of several dots", name)
		}
		values = append(values, Value{key, text})
	}
	return when, values, nil
}

// Values returns the values of the slot; nil if it has none.
func (s Slot) Values() []Value {
	if s.Part == "" {
		return nil
	}
	_, values, _ := SplitName(s.Part) // it was made by joinPart
	return values
}

// Value returns the value with this name, and false if the slot has none.
func (s Slot) Value(name string) (string, bool) {
	for _, value := range s.Values() {
		if value.Name == name {
			return value.Text, true
		}
	}
	return "", false
}

// Has reports whether the slot has all of the values.
func (s Slot) Has(values []Value) bool {
	for _, value := range values {
		if text, ok := s.Value(value.Name); !ok || text != value.Text {
			return false
		}
	}
	return true
}

// PartOf returns what the name of a slot says of its values, such as tenant=acme; empty if it has none.
func PartOf(name string) string {
	if _, part, cut := strings.Cut(name, "/"); cut || !strings.Contains(name, "=") {
		return part
	}
	return name
}

// Timed reports whether slots are of intervals of time. Without it a schedule never fires, and Parts are its slots.
func (s *Schedule) Timed() bool {
	_, untimed := s.rule.(untimed)
	return !untimed
}

// Dimensions returns what the schedule has slots for beside time, by name.
func (s *Schedule) Dimensions() []Dimension { return s.dimensions }

// PartsOfTime is how many slots there are for one interval of time.
func (s *Schedule) PartsOfTime() int { return len(s.parts) }

// Parts returns the slots of a schedule without time, as they are at a moment, which they cover for want of an interval.
func (s *Schedule) Parts(at time.Time) (slots []Slot) {
	s.each(partless(at), func(slot Slot) bool {
		slots = append(slots, slot)
		return true
	})
	return slots
}

// Next returns the slots that are due first at an instant or later, of all values; those without time, if the
// schedule never fires. It is nil if there is none.
func (s *Schedule) Next(from time.Time) (slots []Slot) {
	if !s.Timed() {
		return s.Parts(from)
	}
	for slot := range s.firings(from) {
		s.each(slot, func(slot Slot) bool {
			slots = append(slots, slot)
			return true
		})
		return slots
	}
	return nil
}

func partless(at time.Time) Slot {
	at = at.UTC().Truncate(time.Microsecond)
	return Slot{From: at, To: at.Add(time.Microsecond), Due: at}
}

// each yields the slots of an interval of time, one for each combination of values, until yield returns false, which it reports.
func (s *Schedule) each(slot Slot, yield func(Slot) bool) bool {
	for _, part := range s.parts {
		if !yield(s.with(slot, part)) {
			return false
		}
	}
	return true
}

func (s *Schedule) with(slot Slot, part string) Slot {
	if slot.Part = part; part != "" {
		slot.Name = strings.TrimPrefix(slot.Name+"/"+part, "/")
	}
	slot.Start = slot.Due.Add(s.delay(slot.Name))
	return slot
}

// Knows returns nil if slots of the schedule have each of the values; else the error names one that none has.
func (s *Schedule) Knows(values []Value) error {
	for _, value := range values {
		i := slices.IndexFunc(s.dimensions, func(d Dimension) bool { return d.Name == value.Name })
		if i < 0 {
			return fmt.Errorf("slots of the schedule have no value %.64q", value.Name)
		}
		if d := s.dimensions[i]; !d.Open && !slices.Contains(d.Values, value.Text) {
			return fmt.Errorf("the schedule has no slots for %s %.64q", d.Name, value.Text)
		}
	}
	return nil
}

// part returns the values as the names of this schedule's slots have them.
func (s *Schedule) part(name string, values []Value) (part string, err error) {
	if err := s.Knows(values); err != nil {
		return "", err
	}
	for _, d := range s.dimensions {
		i := slices.IndexFunc(values, func(v Value) bool { return v.Name == d.Name })
		if i < 0 {
			return "", fmt.Errorf("%.80q does not say for which %s: write it as %s", name, d.Name, s.example(name))
		}
		part = joinPart(part, d.Name, values[i].Text)
	}
	if len(values) > len(s.dimensions) {
		return "", fmt.Errorf("%.80q has a value twice: write it as %s", name, s.example(name))
	}
	return part, nil
}

// example is a slot of the time that a name is about.
func (s *Schedule) example(name string) string {
	when, _, _ := SplitName(name)
	part := ""
	for _, d := range s.dimensions {
		part = joinPart(part, d.Name, append(slices.Clone(d.Values), "VALUE")[0])
	}
	return strings.TrimPrefix(when+"/"+part, "/")
}

// untimed is the rule of slots without time: it never fires.
type untimed struct{}

func (untimed) next(place int64) int64  { return place + 1 }
func (untimed) slot(int64) Slot         { return Slot{To: lastInstant.Add(time.Hour)} }
func (untimed) fired(time.Time) int64   { return 0 }
func (untimed) covered(time.Time) int64 { return 0 }

// without returns the rule of slots without time. What is about time is a problem.
func (b *builder) withoutTime() rule {
	if len(b.spec.ForEach) == 0 {
		b.problem("covers", "nothing is for slots without time, one for each value: add for_each, or write what they cover")
	}
	for field, given := range map[string]bool{
		"every": b.spec.Every != "" || b.spec.Cron != "" || len(b.spec.Days) > 0, "at": b.spec.At != "", "zone": b.spec.Zone != "",
		"except": len(b.spec.Except) > 0, "jitter": b.spec.Jitter != 0,
	} {
		if given {
			b.problem(field, "says something about time, and covers: nothing is for slots without time: leave it out")
		}
	}
	return untimed{}
}
