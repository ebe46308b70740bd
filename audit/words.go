package audit

import (
	"fmt"
	"strings"
	"time"

	"waymark/engine/barrier"
	"waymark/pipeline"
)

// triggers says for people when a batch fires.
var triggers = map[string]string{
	barrier.FiredByRows:    "when there were as many rows as its trigger says",
	barrier.FiredByWhen:    "when the expression of its trigger was true",
	barrier.FiredByAfter:   "when the time of its trigger had passed",
	barrier.FiredByEnd:     "at the end of the sources",
	barrier.FiredByMemory:  "because the barrier held as much as it may",
	barrier.FiredByArrival: "as it came",
	barrier.FiredByAll:     "when all branches had come",
	barrier.FiredByQuorum:  "when enough branches had come",
	barrier.FiredByFirst:   "when the first branch had come",
	barrier.FiredByLost:    "when nothing more was to be waited for",
	barrier.FiredByTimeout: "when its timeout had passed",
}

// say says why the batch fired.
func (b Batch) say() string { return "fired " + b.cause() }

func (b Batch) cause() string {
	if said := triggers[b.Trigger]; said != "" {
		return said
	}
	return "by " + b.Trigger
}

// say says what became of a token that came to a barrier.
func (h *Holding) say() string {
	switch {
	case h.Number == 0:
		return "came to " + h.Barrier + ", which has not taken it yet"
	case h.Of != 0:
		return fmt.Sprintf("came too late for batch %d of %s, which was decided without it", h.Of, h.Barrier)
	case h.Trigger == "":
		return fmt.Sprintf("held by %s, batch %d, which is still open", h.Barrier, h.Number)
	}
	text := fmt.Sprintf("held by %s, batch %d; %s", h.Barrier, h.Number, h.Batch.say())
	if len(h.Became) == 0 {
		return text + "; nothing came out for it"
	}
	return text + "; became " + listed(h.Became, h.More)
}

// listed writes ids for people.
func listed(ids []string, more int) string {
	text := strings.Join(ids, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more; --all lists them", more)
	}
	return text
}

// say says what the coalesce decided, and why.
func (d *Decision) say() string {
	var parts []string
	for k, arrived := range d.Arrived {
		parts = append(parts, arrived.say(k == 0))
	}
	for _, lost := range d.Lost {
		parts = append(parts, lost.say())
	}
	for _, branch := range d.NotNeeded {
		parts = append(parts, branch+d.missed())
	}
	return d.head() + ": " + strings.Join(parts, ", ")
}

func (d *Decision) head() string {
	counted := fmt.Sprintf("%d of %d branches (%s%s)", len(d.Arrived), d.Expected, d.policy(), d.moment())
	switch {
	case d.Result == "nothing":
		return "made nothing: no branch came"
	case d.Code != "":
		return "refused what came with " + d.Code + ", " + counted
	default:
		return "merged " + counted
	}
}

func (d *Decision) policy() string {
	if d.Quorum > 0 {
		return fmt.Sprintf("policy quorum %d", d.Quorum)
	}
	return "policy " + d.Policy
}

// strategy says how the branches are merged.
func (d *Decision) strategy() string {
	if d.Select != "" {
		return d.Merge + " " + d.Select
	}
	return d.Merge
}

// fired says what made the coalesce decide, and how long it waited.
func (d *Decision) fired() string {
	switch text := (Batch{Trigger: d.FiredBy}).cause(); {
	case len(d.Arrived) == 0, d.FiredBy == barrier.FiredByFirst:
		return text
	case d.Batch == 0:
		return text + ", in one pass"
	default:
		return fmt.Sprintf("%s, %s after the first", text, span(d.WaitMS))
	}
}

// origins says which fields come from which branch, in the order of the row.
func (d *Decision) origins() string {
	fields := map[string][]string{}
	var order, parts []string
	for _, field := range d.Fields {
		if fields[field.Branch] == nil {
			order = append(order, field.Branch)
		}
		fields[field.Branch] = append(fields[field.Branch], field.Field)
	}
	for _, branch := range order {
		parts = append(parts, strings.Join(fields[branch], ", ")+" from "+branch)
	}
	return strings.Join(parts, "; ")
}

// moment says when it was decided, if that is not clear from what came.
func (d *Decision) moment() string {
	switch d.FiredBy {
	case barrier.FiredByTimeout:
		return ", after the timeout of " + span(d.TimeoutMS)
	case barrier.FiredByEnd:
		return ", at the end of the sources"
	default:
		return ""
	}
}

// missed says why the coalesce did not wait for a branch.
func (d *Decision) missed() string {
	switch d.FiredBy {
	case barrier.FiredByTimeout, barrier.FiredByEnd:
		return " had not come"
	case barrier.FiredByLost:
		return " was not awaited any more"
	default:
		return " was not needed any more"
	}
}

func (a Arrived) say(first bool) string {
	switch {
	case first:
		return a.Branch + " arrived first"
	case a.OffsetMS == 0:
		return "then " + a.Branch
	default:
		return fmt.Sprintf("%s came %s later", a.Branch, span(a.OffsetMS))
	}
}

// span says how long something took: milliseconds below a second, else a duration.
func span(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

// losses says for people how a token ended that a coalesce waited for.
var losses = map[pipeline.Path]string{
	pipeline.DefaultFlow:         "went on to a sink from",
	pipeline.GateRouted:          "sent elsewhere by",
	pipeline.GateDiscarded:       "discarded by",
	pipeline.FilterDropped:       "filtered at",
	pipeline.OnErrorRouted:       "refused by",
	pipeline.QuarantinedAtSource: "refused by",
	pipeline.Unrouted:            "refused by",
	pipeline.SinkDiscarded:       "refused by",
	pipeline.ForkParent:          "forked at",
	pipeline.ExpandParent:        "expanded by",
	pipeline.BatchConsumed:       "taken into a batch by",
	pipeline.BranchNotNeeded:     "not needed by",
}

func (l Lost) say() string {
	if l.Node == "" || losses[pipeline.Path(l.Reason)] == "" {
		return fmt.Sprintf("%s was lost (%s)", l.Branch, pipeline.Path(l.Reason).Words())
	}
	return fmt.Sprintf("%s was lost (%s %s)", l.Branch, losses[pipeline.Path(l.Reason)], l.Node)
}

func (c Collision) say() string {
	if c.Branch == "" {
		return "the branches differ in " + c.Field
	}
	return fmt.Sprintf("the branches differ in %s; the value of %s stands", c.Field, c.Branch)
}
