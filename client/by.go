package client

import (
	"cmp"

	"waymark/activities"
)

// By says who wants something, through which door, and why. All three are recorded.
type By struct {
	Actor   string // such as the name of a user; empty for the Actor of the Client or Session
	Trigger string // such as activities.TriggerCLI; empty for activities.TriggerLibrary
	Why     string // must not be empty for Pause, Cancel, Resolve and Waive
}

func (b By) trigger() string { return cmp.Or(b.Trigger, activities.TriggerLibrary) }

// or is b with this actor, if b names none.
func (b By) or(actor string) By {
	b.Actor = cmp.Or(b.Actor, actor)
	return b
}
