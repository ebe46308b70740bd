package remote

import (
	"context"
	"iter"
	"net/url"
	"strings"

	"waymark/client"
	"waymark/landscape"
)

// Pipelines returns the pipelines that are deployed in an environment; the default one if that is empty.
func (c *Client) Pipelines(ctx context.Context, environment string) ([]client.Pipeline, error) {
	return all(list[client.Pipeline](ctx, c, "/v1/pipelines", words("environment", environment), 0))
}

// Pipeline returns a version of a pipeline: NAME@VERSION, or the current one of NAME.
func (c *Client) Pipeline(ctx context.Context, environment, word string) (client.Pipeline, error) {
	name, version := versionOf(word)
	return ask[client.Pipeline](ctx, c, get(path("pipelines", name), words("environment", environment, "version", version)))
}

// PipelineDocument returns the document of a version: NAME@VERSION, or the current one of NAME.
func (c *Client) PipelineDocument(ctx context.Context, environment, word string) (*client.PipelineDocument, error) {
	name, version := versionOf(word)
	return ask[*client.PipelineDocument](ctx, c, get(path("pipelines", name, "document"), words("environment", environment, "version", version)))
}

// PipelineHistory returns which version became current when, by whom and why, the last first.
func (c *Client) PipelineHistory(ctx context.Context, environment, name string) ([]client.Redeployment, error) {
	return whole[client.Redeployment](ctx, c, path("pipelines", name, "history"), words("environment", environment))
}

// DiffPipelines returns what two versions of one pipeline do differently, and then in which lines. The error is of kind Invalid if they are of two pipelines.
func (c *Client) DiffPipelines(ctx context.Context, environment, from, to string) (*client.PipelineDiff, error) {
	name, older := versionOf(from)
	other, newer := versionOf(to)
	if other != name {
		return nil, invalid("%s and %s are two pipelines: the API compares versions of one", from, to)
	}
	return ask[*client.PipelineDiff](ctx, c, get(path("pipelines", name, "diff"), words("environment", environment, "from", older, "to", newer)))
}

// versionOf divides NAME@VERSION; version is empty for NAME.
func versionOf(word string) (name, version string) {
	name, version, _ = strings.Cut(word, "@")
	return name, version
}

// Deploy makes a version of a document, and makes it current. Equal bytes are the same version.
func (c *Client) Deploy(ctx context.Context, r DeployRequest) (*client.Deployed, error) {
	return ask[*client.Deployed](ctx, c, post("/v1/pipelines", "", r, true))
}

// Promote makes a version that is current in one environment the current one in another.
func (c *Client) Promote(ctx context.Context, name string, r RedeployRequest) (*client.Redeployed, error) {
	return c.redeploy(ctx, name, "promote", r, true)
}

// Rollback makes an older version current again. Without a Version it is sent once: the second time, it would go back one more.
func (c *Client) Rollback(ctx context.Context, name string, r RedeployRequest) (*client.Redeployed, error) {
	return c.redeploy(ctx, name, "rollback", r, r.Version != 0)
}

// Retire lets no more runs of a pipeline start.
func (c *Client) Retire(ctx context.Context, name string, r RedeployRequest) (*client.Redeployed, error) {
	return c.redeploy(ctx, name, "retire", r, true)
}

// Restore lets runs of a retired pipeline start again.
func (c *Client) Restore(ctx context.Context, name string, r RedeployRequest) (*client.Redeployed, error) {
	return c.redeploy(ctx, name, "restore", r, true)
}

func (c *Client) redeploy(ctx context.Context, name, verb string, r RedeployRequest, again bool) (*client.Redeployed, error) {
	return ask[*client.Redeployed](ctx, c, post(path("pipelines", name, verb), "", r, again))
}

// Schedules returns the schedules of deployed pipelines in an environment; in all if that is empty.
func (c *Client) Schedules(ctx context.Context, environment string) ([]client.Schedule, error) {
	return all(list[client.Schedule](ctx, c, "/v1/schedules", words("environment", environment), 0))
}

// ScheduleGrid returns a schedule, ENVIRONMENT/PIPELINE/NAME, and what became of its slots from one to another; empty ones are as client.Client.ScheduleGrid takes them.
func (c *Client) ScheduleGrid(ctx context.Context, id, from, to string) (*client.Grid, error) {
	return ask[*client.Grid](ctx, c, get(schedulePath(id), words("from", from, "to", to)))
}

// PauseSchedule pauses a schedule until it is resumed, or until the instant that the request names.
func (c *Client) PauseSchedule(ctx context.Context, id string, r PauseScheduleRequest) (client.ScheduleOrder, error) {
	return ask[client.ScheduleOrder](ctx, c, post(schedulePath(id)+"/pause", "", r, true))
}

// ResumeSchedule lets a paused schedule begin runs again. It is sent once if slots are to be made up.
func (c *Client) ResumeSchedule(
	ctx context.Context, id string, r ResumeScheduleRequest,
) (client.ScheduleResumed, error) {
	again := r.MakeUp == "" || r.MakeUp == string(client.MakeUpNone)
	return ask[client.ScheduleResumed](ctx, c, post(schedulePath(id)+"/resume", "", r, again))
}

// RunSlot runs a slot that has no run, or whose last one failed. It is sent once.
func (c *Client) RunSlot(ctx context.Context, id string, r SlotRequest) (*client.SlotsAsked, error) {
	return ask[*client.SlotsAsked](ctx, c, post(schedulePath(id)+"/run", "", r, false))
}

// schedulePath is the path of a schedule. A word that is none leads nowhere.
func schedulePath(id string) string {
	return path(append([]string{"schedules"}, strings.Split(id, "/")...)...)
}

// Triggers returns the triggers of pipelines that are deployed in an environment, or in all if that is empty, and those that were removed and for which something waits.
func (c *Client) Triggers(ctx context.Context, environment string) ([]client.Trigger, error) {
	return whole[client.Trigger](ctx, c, "/v1/triggers", words("environment", environment))
}

// Trigger returns a trigger, ENVIRONMENT/PIPELINE/NAME.
func (c *Client) Trigger(ctx context.Context, id string) (client.Trigger, error) {
	return ask[client.Trigger](ctx, c, get(triggerPath(id), nil))
}

// Arrivals returns what arrived at a trigger, the last first, at most limit; 0 for all. An empty state is all of them.
func (c *Client) Arrivals(ctx context.Context, id string, state landscape.ArrivalState, limit int) iter.Seq2[client.Arrival, error] {
	return list[client.Arrival](ctx, c, triggerPath(id)+"/arrivals", words("state", string(state)), limit)
}

// PauseTrigger lets a trigger begin no runs until somebody resumes it.
func (c *Client) PauseTrigger(ctx context.Context, id, why string) (client.TriggerOrder, error) {
	return ask[client.TriggerOrder](ctx, c, post(triggerPath(id)+"/pause", "", OrderRequest{why}, true))
}

// ResumeTrigger lets a paused trigger begin runs again, also of what arrived meanwhile.
func (c *Client) ResumeTrigger(ctx context.Context, id, why string) (client.TriggerOrder, error) {
	return ask[client.TriggerOrder](ctx, c, post(triggerPath(id)+"/resume", "", OrderRequest{why}, true))
}

// IgnoreArrivals lets an item, or everything that waits at a trigger, get no run.
func (c *Client) IgnoreArrivals(ctx context.Context, id string, r IgnoreRequest) (client.ArrivalOrder, error) {
	return ask[client.ArrivalOrder](ctx, c, post(triggerPath(id)+"/ignore", "", r, true))
}

// ArriveAgain lets what arrived last of an item arrive once more. It is sent once: the second time, a run may have read it, and another one would.
func (c *Client) ArriveAgain(ctx context.Context, id string, r AgainRequest) (client.ArrivalOrder, error) {
	return ask[client.ArrivalOrder](ctx, c, post(triggerPath(id)+"/again", "", r, false))
}

// triggerPath is the path of a trigger. A word that is none leads nowhere.
func triggerPath(id string) string {
	return path(append([]string{"triggers"}, strings.Split(id, "/")...)...)
}

// AccessTokens returns the access tokens, without their secrets.
func (c *Client) AccessTokens(ctx context.Context) ([]client.Access, error) {
	return whole[client.Access](ctx, c, "/v1/access", nil)
}

// RevokeAccess revokes an access token for ever. changed is false if that was done before.
func (c *Client) RevokeAccess(ctx context.Context, token, why string) (changed bool, err error) {
	done, err := ask[Ordered](ctx, c, post("/v1/access/"+url.PathEscape(token)+"/revoke", "", OrderRequest{why}, true))
	return done.Changed, err
}
