package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/pipeline/calendar"
)

// maxSchedules is how many schedules a document may have.
const maxSchedules = 100

// everyWords are the words that Every.Word may have, beside lengths of time.
var everyWords = []string{"minute", "hour", "day", "week", "month", "quarter", "year"}

// spec returns the schedule as package calendar takes it. The seed of the jitter is the pipeline's name and the schedule's.
func (s Schedule) spec(seed string) calendar.Spec {
	var each []calendar.Dimension
	for _, d := range s.ForEach {
		each = append(each, calendar.Dimension{Name: d.Name, Values: d.Value.Values, Open: d.Value.Open()})
	}
	return calendar.Spec{
		ForEach: each, Every: s.Every.Word, Cron: s.Every.Cron, Days: s.Every.Days, At: s.At, Zone: s.Zone, Covers: s.Covers, Except: s.Except,
		Jitter: time.Duration(s.Jitter), Seed: seed,
	}
}

// Open reports whether the values are in a file that nobody has read yet.
func (e Each) Open() bool { return e.File != "" && e.Values == nil }

// Slots returns when the schedule of a pipeline fires, and what its slots cover. The error is calendar.Problems.
func (s Schedule) Slots(pipeline, name string) (*calendar.Schedule, error) {
	return calendar.New(s.spec(pipeline + "/" + name))
}

// checkSchedules reports what is wrong with schedules.
func (l *loader) checkSchedules(p *Pipeline) {
	if len(p.Schedules) > maxSchedules {
		l.report("schedules", "has %d schedules, but at most %d are allowed", len(p.Schedules), maxSchedules)
		return
	}
	if len(p.Schedules) == 0 && len(l.slots) > 0 {
		l.checkSlotDefaults(daily(), nil, "", "")
	}
	l.checkSlotNames(p)
	required := l.required()
	for _, schedule := range p.Schedules {
		l.checkSchedule(Key("schedules", schedule.Name), schedule, required)
	}
}

// required returns the names of the parameters that have no default.
func (l *loader) required() (names []string) {
	for _, param := range l.doc.Pipeline.Params {
		if l.doc.find(defaultPath(param.Name)) == nil {
			names = append(names, param.Name)
		}
	}
	return names
}

// checkSchedule reports what is wrong with one schedule, which gives values to the parameters that are required.
func (l *loader) checkSchedule(path string, schedule Named[Schedule], required []string) {
	l.checkName(path, schedule.Name)
	l.checkTimed(path, schedule.Value)
	l.checkSlots(path, schedule.Value, l.doc.Pipeline.Name+"/"+schedule.Name)
	l.checkScheduleParams(path, schedule.Value.Params, required)
	l.checkPromise(path+".promise.by", schedule.Value.Promise.By)
}

// checkTimed reports a schedule that does not say how often it fires, and one without time that says what needs one.
func (l *loader) checkTimed(path string, s Schedule) {
	if s.Covers != coversNothing {
		if never := s.Every.Word == "" && s.Every.Cron == "" && s.Every.Days == nil; never && l.sound(path) {
			l.report(path, "the key %q is missing", "every")
		}
		return
	}
	for _, given := range []struct {
		key string
		is  bool
	}{{"overlap", s.Overlap != ""}, {"after", s.After != ""}, {"catch_up", s.CatchUp != CatchUp{}}, {"promise", s.Promise != Promise{}}} {
		if given.is {
			l.report(Key(path, given.key),
				"is for schedules that fire, and covers: nothing is for slots without time: leave it out")
		}
	}
}

// coversNothing is what a schedule covers whose slots have no time.
const coversNothing = "nothing"

// checkPromise reports a time of day that is none.
func (l *loader) checkPromise(path, by string) {
	if _, err := calendar.ParseClock(by); by != "" && err != nil {
		l.report(path, "%s", err)
	}
}

// checkSlots reports what is wrong with when the schedule fires, unless something is known to be wrong with it.
func (l *loader) checkSlots(path string, schedule Schedule, seed string) {
	if !l.sound(path) {
		return
	}
	slots, err := calendar.New(schedule.spec(seed))
	if err == nil {
		l.checkSlotDefaults(slots, schedule.Params, path, " of "+seed[strings.LastIndex(seed, "/")+1:])
	}
	problems, _ := errors.AsType[calendar.Problems](err)
	for _, problem := range problems {
		l.report(path+"."+problem.Field, "%s%s", problem.Message, cureOf(problem.Field, schedule))
	}
}

// cureOf names the word that was probably meant.
func cureOf(field string, schedule Schedule) string {
	switch field {
	case "every":
		return suggestion(schedule.Every.Word, everyWords)
	case "zone":
		return zoneSuggestion(schedule.Zone)
	}
	return ""
}

// zoneSuggestion is suggestion for zones. It knows a city by its name alone, and looks for typing errors in the names with the same first
// letter, which are few enough.
func zoneSuggestion(text string) string {
	var like []string
	for _, zone := range calendar.Zones() {
		city := zone[strings.LastIndex(zone, "/")+1:]
		if strings.EqualFold(city, strings.ReplaceAll(text, " ", "_")) {
			return fmt.Sprintf(" (did you mean %q?)", zone)
		}
		if text != "" && strings.EqualFold(text[:1], zone[:1]) {
			like = append(like, zone)
		}
	}
	return suggestion(text, like)
}

// checkScheduleParams reports values for parameters that are not declared or do not fit, and parameters that have none.
func (l *loader) checkScheduleParams(path string, given Map[string], required []string) {
	has, declared := map[string]bool{}, l.doc.Pipeline.Params
	for _, value := range given {
		has[value.Name] = true
		at := Key(Key(path, "params"), value.Name)
		param, ok := declared.Get(value.Name)
		if !ok {
			l.report(at, "no parameter named %s%s", quote(value.Name), suggestion(value.Name, declared.names()))
			continue
		}
		if _, err := parseParam(param, value.Value); err != nil && !errors.Is(err, errUnknownType) && l.sound(at) {
			l.report(at, "%s", err)
		}
	}
	for _, name := range required {
		if !has[name] {
			l.report(path, "gives no value to the parameter %q, which has no default: add params: {%[1]s: VALUE}", name)
		}
	}
}

// sound reports whether no problem is known at the path or below it.
func (l *loader) sound(path string) bool {
	return !slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Path == path || isBelow(p.Path, path) })
}
