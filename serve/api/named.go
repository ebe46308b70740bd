package api

import (
	"errors"
	"slices"
	"strings"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
)

// named returns the one run that a word means, among those that the caller sees.
func (c *call) named(word string) (remote.Page[client.Run], error) {
	home := c.server.Home
	runs, err := home.Beginning(c.Context(), word, 0)
	if err != nil {
		return remote.Page[client.Run]{}, err
	}
	runs = slices.DeleteFunc(runs, func(run landscape.RunHead) bool { return !c.sees(run.Pipeline, run.Actor, run.Trigger) })
	if exact := slices.IndexFunc(runs, func(run landscape.RunHead) bool { return run.ID == word }); exact >= 0 {
		runs = runs[exact : exact+1]
	}
	switch len(runs) {
	case 0:
		return c.namedOtherwise(word)
	case 1:
		return c.only(runs[0].ID)
	}
	slices.SortFunc(runs, func(a, b landscape.RunHead) int { return strings.Compare(a.ID, b.ID) })
	ambiguous := landscape.AmbiguousRuns(word, runs)
	return remote.Page[client.Run]{}, &client.Error{Kind: client.Invalid, Code: client.AmbiguousRun, Message: ambiguous.Error(), Err: ambiguous}
}

// namedOtherwise returns the run of a workflow. For one that is not recorded the error says why, if the caller may know that somebody asked for it.
func (c *call) namedOtherwise(word string) (remote.Page[client.Run], error) {
	run, err := c.server.Home.Find(c.Context(), word)
	known, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil && c.sees(run.Pipeline, run.Actor, run.Trigger):
		return c.only(run.ID)
	case err != nil && !ok:
		return remote.Page[client.Run]{}, err
	case ok && known.Run != "":
		if _, unseen := c.started(known.Run); unseen == nil {
			return remote.Page[client.Run]{}, err
		}
	}
	return remote.Page[client.Run]{}, noRun(word)
}

// only is a list of one run.
func (c *call) only(id string) (page remote.Page[client.Run], err error) {
	status, err := c.server.Home.Status(c.Context(), id)
	if err == nil {
		status.Reason = landscape.WithoutValues(status.Reason)
		page.Items = []client.Run{status.Run}
	}
	return page, err
}
