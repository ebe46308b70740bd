package ui

import (
	"net/url"
	"strings"
	"time"

	"waymark/client"
	"waymark/landscape"
)

// Triggers is the list of triggers.
type Triggers struct {
	Triggers    []client.Trigger
	Environment string // empty for all
}

// Trigger is a trigger with what arrived there.
type Trigger struct {
	client.Trigger
	Arrivals []client.Arrival // the last first
	State    string           // that is asked for; empty for any
	States   []string
	Next     string                 // path of the next page; empty if there is none
	History  []client.TriggerChange // the last first
	MayOrder bool
}

// An ArrivalOrder is an order that can be given about an arrival.
type ArrivalOrder struct {
	Verb          string // empty if there is none
	Name, About   string
	Trigger, Item string
}

// OrderFor returns the order that can be given about an arrival: it is obeyed if that is the last of its item.
func (t Trigger) OrderFor(a client.Arrival) ArrivalOrder {
	o := ArrivalOrder{Trigger: t.ID, Item: a.Item}
	switch {
	case a.State == landscape.ArrivalReady:
		o.Verb, o.Name, o.About = "ignore", "Ignore", "No run reads it."
	case a.State != landscape.ArrivalTaken && !t.Removed:
		o.Verb, o.Name, o.About = "again", "Read again", "It arrives once more, and another run reads it."
	}
	return o
}

// TriggerPath is the path of the page of a trigger, or of a page below it. id is ENVIRONMENT/PIPELINE/NAME.
func TriggerPath(id string, below ...string) string { return pathOf("triggers", id, below) }

// pathOf is the path of a page whose name has several words, or of a page below it.
func pathOf(pages, id string, below []string) string {
	words := []string{"", pages}
	for _, word := range strings.Split(id, "/") {
		words = append(words, url.PathEscape(word))
	}
	return strings.Join(append(words, below...), "/")
}

// trouble says what keeps a trigger from beginning runs now; empty if nothing does.
func trouble(t client.Trigger) string {
	trouble, _ := t.Trouble(time.Now())
	return trouble
}

// arrivalMark is the sign of what became of an arrival.
func arrivalMark(state landscape.ArrivalState) string {
	switch state {
	case landscape.ArrivalDone:
		return "✓"
	case landscape.ArrivalTaken:
		return "●"
	case landscape.ArrivalIgnored:
		return "–"
	case landscape.ArrivalGone:
		return "✗"
	}
	return "…"
}
