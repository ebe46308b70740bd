package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
)

func pipelines(c *call) (any, error) {
	name := func(p client.Pipeline) string { return p.Pipeline }
	return pageOf(c, name, func(after string, limit int) ([]client.Pipeline, error) {
		page := client.DeployedPage{After: after, Limit: limit, Sees: c.token.Sees}
		return c.server.Home.PipelinesAfter(c.Context(), c.query.Get("environment"), page)
	})
}

func schedules(c *call) (any, error) {
	id := func(s client.Schedule) string { return s.ID }
	return pageOf(c, id, func(after string, limit int) ([]client.Schedule, error) {
		page := client.DeployedPage{After: after, Limit: limit, Sees: c.token.Sees}
		list, err := c.server.Home.SchedulesAfter(c.Context(), c.query.Get("environment"), page)
		for i := range list {
			withoutSlotValues(list[i].Last)
		}
		return list, err
	})
}

// withPipeline answers what is asked about the pipeline of the path, in the version that the query names.
func withPipeline[T any](answer func(home *local.Home, ctx context.Context, environment, word string) (T, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		word, err := c.version("version")
		if err != nil {
			return nil, err
		}
		return answer(c.server.Home, c.Context(), c.query.Get("environment"), word)
	}
}

// version names the version of the pipeline of the path whose number a parameter has; the current one if it has none.
func (c *call) version(parameter string) (word string, err error) {
	name := c.PathValue("name")
	if plain, _, _ := strings.Cut(name, "@"); !c.token.Sees(plain) { // what follows is a version
		return "", noPipeline(name)
	}
	if number := c.query.Get(parameter); number != "" {
		return name + "@" + number, nil
	}
	return name, nil
}

func pipelineHistory(c *call) (any, error) {
	name, err := c.version("")
	if err != nil {
		return nil, err
	}
	return whole(c.server.Home.PipelineHistory(c.Context(), c.query.Get("environment"), name))
}

func pipelineDiff(c *call) (any, error) {
	from, err := c.version("from")
	if err != nil {
		return nil, err
	}
	to, err := c.version("to")
	if err != nil {
		return nil, err
	}
	return c.server.Home.DiffPipelines(c.Context(), c.query.Get("environment"), from, to, nil)
}

// schedule names the schedule of the path.
func (c *call) schedule() (word string, err error) {
	word = c.PathValue("environment") + "/" + c.PathValue("pipeline") + "/" + c.PathValue("schedule")
	if !c.token.Sees(c.PathValue("pipeline")) {
		return "", &client.Error{Kind: client.NotFound, Code: client.ScheduleNotFound, Message: fmt.Sprintf("no schedule %.200q", word), Cure: client.ListSchedules}
	}
	return word, nil
}

func gridOf(c *call) (any, error) {
	word, err := c.schedule()
	if err != nil {
		return nil, err
	}
	grid, err := c.server.Home.ScheduleGrid(c.Context(), word, c.query.Get("from"), c.query.Get("to"))
	if err != nil {
		return nil, err
	}
	withoutSlotValues(grid.Last)
	for i := range grid.Slots {
		withoutSlotValues(&grid.Slots[i])
	}
	return grid, nil
}

// withoutSlotValues takes the values of rows out of why a slot is what it is: that is why its run failed. nil is no
// slot.
func withoutSlotValues(slot *client.ScheduledSlot) {
	if slot != nil {
		slot.Reason = landscape.WithoutValues(slot.Reason)
	}
}

// withoutSlotsValues does so for the slots of a request.
func withoutSlotsValues(asked *client.SlotsAsked) {
	for _, slots := range [][]client.ScheduledSlot{asked.Slots, asked.Others} {
		for i := range slots {
			withoutSlotValues(&slots[i])
		}
	}
}

func pauseSchedule(c *call) (any, error) {
	asked, word, err := orderingSchedule(c, func(r *remote.PauseScheduleRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	var until time.Time
	if asked.Until != "" {
		if until, err = time.Parse(time.RFC3339, asked.Until); err != nil {
			return nil, faulty("/until", "write an instant, as 2026-12-01T06:00:00Z")
		}
	}
	return c.server.Home.PauseSchedule(c.Context(), word, until, c.by(asked.Why))
}

func resumeSchedule(c *call) (any, error) {
	asked, word, err := orderingSchedule(c, func(r *remote.ResumeScheduleRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	up := client.MakeUp(cmp.Or(asked.MakeUp, string(client.MakeUpNone)))
	if up != client.MakeUpNone && up != client.MakeUpLast && up != client.MakeUpAll {
		return nil, faulty("/make_up", "choose among none, last, all")
	}
	did, err := c.server.Home.ResumeSchedule(c.Context(), word, up, c.by(asked.Why))
	if err == nil && did.MadeUp != nil {
		withoutSlotsValues(did.MadeUp)
	}
	return did, err
}

func runSlot(c *call) (any, error) {
	asked, word, err := orderingSchedule(c, func(r *remote.SlotRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	if asked.Slot == "" {
		return nil, faulty("/slot", "name the slot")
	}
	done, err := c.server.Home.RunSlot(c.Context(), client.SlotsRequested{
		By: c.by(asked.Why), Schedule: word, First: asked.Slot, Again: asked.Again,
	})
	if err != nil {
		return nil, err
	}
	withoutSlotsValues(done)
	return done, nil
}

// orderingSchedule reads an order about the schedule of the path.
func orderingSchedule[T any](c *call, reason func(*T) string) (asked T, word string, err error) {
	if word, err = c.schedule(); err != nil {
		return asked, "", err
	}
	asked, err = ordering(c, reason)
	return asked, word, err
}
