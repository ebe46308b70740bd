package client

import (
	"cmp"

	"waymark/activities"
)

// By says who wants something, through which door, and why. All three are recorded.
type By struct {
	Actor   string // such as the name of a user
	Trigger string // such as activities.TriggerCLI; empty for activities.TriggerLibrary
	Why     string // may be empty where nothing is ended or decided by it
}

func (b By) trigger() string { return cmp.Or(b.Trigger, activities.TriggerLibrary) }
