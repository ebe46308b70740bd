package api

import (
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/ui"
)

func triggersPage(c *call) (any, error) {
	answer, err := triggers(c)
	if err != nil {
		return nil, err
	}
	environment := c.query.Get("environment")
	body := ui.Triggers{Triggers: answer.(remote.Page[client.Trigger]).Items, Environment: environment} //nolint:forcetypeassert // as triggers says
	return ui.Page{
		Title: "Triggers", Crumbs: []ui.Link{{Text: "Triggers"}}, Command: "waymark triggers" + environmentFlag(environment), Path: c.itself(),
		SQL: "select trigger, count(*) as waiting, min(arrived_us) as oldest_us from arrivals where state = 'ready' group by trigger", Body: body,
	}, nil
}

func triggerPage(c *call) (any, error) {
	answer, err := arrivals(c)
	if err != nil {
		return nil, err
	}
	page := answer.(remote.Page[client.Arrival]) //nolint:forcetypeassert // as arrivals says
	id := landscape.ScheduleID(c.PathValue("environment"), c.PathValue("pipeline"), c.PathValue("trigger"))
	body := ui.Trigger{Arrivals: page.Items, State: c.query.Get("state"), States: ofArrivals[0].values, Next: c.next(page.Next), MayOrder: c.token.Has(allowed[order]...)}
	if body.Trigger, err = c.server.Home.Trigger(c.Context(), id); err != nil {
		return nil, err
	}
	if body.History, err = c.server.Home.TriggerHistory(c.Context(), id); err != nil {
		return nil, err
	}
	return ui.Page{
		Title: id, Crumbs: []ui.Link{{Text: "Triggers", To: "/triggers"}, {Text: id}}, Command: "waymark triggers arrivals " + id, Path: "/v1" + ui.TriggerPath(id, "arrivals"),
		SQL: "select item, revision, state, run_id, reason from arrivals where trigger = '" + id + "' order by arrived_us desc", Body: body,
	}, nil
}

// triggerPath is the address of the page of the trigger that a form is about.
func triggerPath(c *call) string {
	return ui.TriggerPath(landscape.ScheduleID(c.PathValue("environment"), c.PathValue("pipeline"), c.PathValue("trigger")))
}
