package api

import (
	"context"
	"slices"

	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
)

func triggers(c *call) (any, error) {
	list, err := c.server.Home.Triggers(c.Context(), c.query.Get("environment"))
	return whole(slices.DeleteFunc(list, func(t client.Trigger) bool { return !c.token.Sees(t.Pipeline) }), err)
}

// trigger names the trigger of the path.
func (c *call) trigger() (id string, err error) {
	id = landscape.ScheduleID(c.PathValue("environment"), c.PathValue("pipeline"), c.PathValue("trigger"))
	if !c.token.Sees(c.PathValue("pipeline")) {
		_, err = client.TriggerNamed(nil, id, c.server.Home.Place())
	}
	return id, err
}

func triggerOf(c *call) (any, error) {
	id, err := c.trigger()
	if err != nil {
		return nil, err
	}
	return c.server.Home.Trigger(c.Context(), id)
}

func arrivals(c *call) (any, error) {
	id, err := c.trigger()
	if err != nil {
		return nil, err
	}
	return pageOf(c, func(a client.Arrival) string { return a.ID }, func(after string, limit int) ([]client.Arrival, error) {
		return c.server.Home.Arrivals(c.Context(), id, landscape.ArrivalState(c.query.Get("state")), after, limit)
	})
}

// orderTrigger is what a route does with a trigger.
func orderTrigger(do func(*local.Home, context.Context, string, client.By) (client.TriggerOrder, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		asked, id, err := orderingTrigger(c, func(r *remote.OrderRequest) string { return r.Why })
		if err != nil {
			return nil, err
		}
		return do(c.server.Home, c.Context(), id, c.by(asked.Why))
	}
}

func ignoreArrivals(c *call) (any, error) {
	asked, id, err := orderingTrigger(c, func(r *remote.IgnoreRequest) string { return r.Why })
	switch {
	case err != nil:
		return nil, err
	case asked.All && asked.Item == "":
		return c.server.Home.IgnoreWaiting(c.Context(), id, c.by(asked.Why))
	case asked.All || asked.Item == "":
		return nil, faulty("/item", "name one item, or say all")
	}
	return c.server.Home.IgnoreArrival(c.Context(), id, asked.Item, c.by(asked.Why))
}

func arriveAgain(c *call) (any, error) {
	asked, id, err := orderingTrigger(c, func(r *remote.AgainRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	if asked.Item == "" {
		return nil, faulty("/item", "name what is to arrive once more")
	}
	return c.server.Home.ArriveAgain(c.Context(), id, asked.Item, c.by(asked.Why))
}

// orderingTrigger reads an order about the trigger of the path.
func orderingTrigger[T any](c *call, reason func(*T) string) (asked T, id string, err error) {
	if id, err = c.trigger(); err != nil {
		return asked, "", err
	}
	asked, err = ordering(c, reason)
	return asked, id, err
}
