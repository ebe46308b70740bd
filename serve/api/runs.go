package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/activities"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// noRun is the problem with a run that is not recorded, or that the caller does not see.
func noRun(id string) error {
	return &client.Error{Kind: client.NotFound, Code: client.RunNotFound, Message: fmt.Sprintf("no run %.64q is recorded", id), Cure: client.ListRuns}
}

// noPipeline is the problem with a pipeline that the caller does not see.
func noPipeline(name string) error {
	return &client.Error{Kind: client.NotFound, Code: client.PipelineNotFound, Message: fmt.Sprintf("no pipeline %.64q is deployed", name), Cure: client.ListPipelines}
}

// sees reports whether the caller may know of a run.
func (c *call) sees(pipeline, actor, trigger string) bool {
	return c.token.Sees(pipeline) && (c.token.Has(allowed[look]...) || c.token.Is(actor) && trigger == activities.TriggerAPI)
}

// record returns the run of the path.
func (c *call) record() (landscape.Run, error) { return c.recordOf(c.PathValue("run")) }

// recordOf returns a run that the caller sees.
func (c *call) recordOf(id string) (landscape.Run, error) {
	if err := pipeline.CheckRunID(id); err != nil {
		return landscape.Run{}, &client.Error{Kind: client.Invalid, Code: client.InvalidRun, Message: err.Error(), Err: err}
	}
	run, err := c.server.Home.Recorded(c.Context(), id)
	if isMissing(err) || err == nil && !c.sees(run.Pipeline, run.Actor, run.Trigger) {
		return run, noRun(id)
	}
	return run, err
}

// started returns the start of a run that counts: the last one that was not refused, or the first one if all were.
// There is none for who sees another one only, or not the run that is recorded under the id: somebody else began that.
func (c *call) started(id string) (*client.Start, error) {
	starts, err := c.server.Home.StartsOf(c.Context(), id)
	if err != nil {
		return nil, err
	}
	var counts *client.Start
	for i := range slices.Backward(starts) {
		s := &starts[i]
		if seen := c.sees(s.Pipeline, s.Actor, s.Trigger); seen {
			counts = s
		} else if s.State != landscape.StartRefused {
			counts = nil
		}
		if s.State != landscape.StartRefused {
			break
		}
	}
	if counts == nil {
		return nil, noRun(id)
	}
	run, err := c.server.Home.Recorded(c.Context(), id)
	switch {
	case isMissing(err) || err == nil && c.sees(run.Pipeline, run.Actor, run.Trigger):
		return counts, nil
	case err != nil:
		return nil, err
	}
	return nil, noRun(id)
}

// getRun returns how a run is, also one that has not begun.
func getRun(c *call) (any, error) {
	report, err := runNow(c)
	if isMissing(err) {
		return c.unbegun()
	}
	return report, err
}

// unbegun is what is known of the run of the path, which is not recorded.
func (c *call) unbegun() (*client.RunReport, error) {
	start, err := c.started(c.PathValue("run"))
	if err != nil {
		return nil, err
	}
	return pending(start), nil
}

// report is what is known of a run, without values of rows.
func (c *call) report(run landscape.Run) (*client.RunReport, error) {
	report, err := c.server.Home.Report(c.Context(), run)
	if err != nil {
		return nil, err
	}
	report.Reason = landscape.WithoutValues(report.Reason)
	for i := range report.Sinks {
		if attested := report.Sinks[i].Attested; attested != nil {
			attested.Reason = landscape.WithoutValues(attested.Reason)
		}
	}
	return report, nil
}

// pending is what is known of a run that has not begun.
func pending(start *client.Start) *client.RunReport {
	return &client.RunReport{
		Status: &client.Status{
			Run: client.Run{
				ID: start.Run, Pipeline: start.Pipeline, Environment: start.Environment, Slot: start.Slot, Schedule: start.Schedule,
				Status: pipeline.RunStatus(start.State), Reason: start.Reason, Actor: start.Actor, Trigger: start.Trigger, Why: start.Why,
			},
			Sinks: []client.Sink{}, Nodes: []landscape.NodeCount{},
		},
		Start: start,
	}
}

// listRuns returns the runs that the caller sees, the newest first.
func listRuns(c *call) (any, error) {
	return shared(c, "runs", func(c *call) (remote.Page[client.Run], error) {
		page, err := c.pageOfRuns()
		if err == nil {
			err = c.server.Home.AddSlots(c.Context(), page.Items)
		}
		return page, err
	})
}

// pageOfRuns returns a page of the runs that are asked for, without their slots if it has several.
func (c *call) pageOfRuns() (page remote.Page[client.Run], err error) {
	if word := c.query.Get("named"); word != "" && word != pipeline.LastRun {
		return c.named(word)
	}
	limit, after, err := c.asked()
	if err != nil {
		return page, err
	}
	newest := c.query.Get("named") == pipeline.LastRun
	if newest {
		limit = 1
	}
	page.Items = []client.Run{}
	next, err := c.server.Home.RunsAfter(c.Context(), after, func(run *client.Run) (bool, error) {
		run.Reason = landscape.WithoutValues(run.Reason)
		wanted := c.sees(run.Pipeline, run.Actor, run.Trigger) && c.asks("pipeline", run.Pipeline) && c.asks("status", string(run.Status))
		if wanted {
			page.Items = append(page.Items, *run)
		}
		return len(page.Items) < limit, nil
	})
	page.Next = c.cursor(next)
	if newest && len(page.Items) > 0 {
		page.Next = ""
	}
	return page, err
}

// asks reports whether a parameter has this value, or none.
func (c *call) asks(name, value string) bool {
	asked := c.query[name]
	return len(asked) == 0 || slices.Contains(asked, value)
}

// visibleKey is what an Idempotency-Key may be.
var visibleKey = regexp.MustCompile(`^[!-~]{1,255}$`)

// startRun starts a run, once for each Idempotency-Key.
func startRun(c *call) (any, error) {
	asked, err := c.asksFor()
	if err != nil {
		return nil, err
	}
	wait, err := c.prefersWait()
	if err != nil {
		return nil, err
	}
	key := c.Header.Get("Idempotency-Key")
	name, _, _ := strings.Cut(asked.Pipeline, "@")
	switch {
	case asked.Pipeline == "":
		return nil, faulty("/pipeline", "name a pipeline")
	case key != "" && !visibleKey.MatchString(key):
		return nil, problem(http.StatusBadRequest, badKey, "an Idempotency-Key has up to 255 visible characters of ASCII, without spaces")
	case key != "" && asked.Run != "":
		return nil, faulty("/run", "an Idempotency-Key gives the run its id: leave this out")
	case !c.token.Sees(name):
		return nil, noPipeline(asked.Pipeline)
	case key != "":
		asked.Run = activities.RunOfKey(name, key)
	case asked.Run == "":
		asked.Run = client.NewRunID()
	default:
		err = free(asked.Run)
	}
	if err != nil {
		return nil, err
	}
	started, again, err := c.once(key != "", asked)
	if err != nil {
		return nil, err
	}
	if again {
		c.w.Header().Set("Idempotent-Replayed", "true")
	}
	c.w.Header().Set("Location", "/v1/runs/"+asked.Run)
	if wait > 0 {
		return c.await(started, wait)
	}
	if again {
		return c.now(started)
	}
	return pending(started), nil
}

// now is what is known of a run that was started before. Until a worker of a cluster records it, only the caller knows of it.
func (c *call) now(started *client.Start) (any, error) {
	report, err := c.reportOf(started.Run)
	if isMissing(err) {
		return pending(started), nil
	}
	return report, err
}

// free refuses an id that a caller gives to a run, if it is of the form that ids have by their keys: who guesses the
// key of somebody else could take his run's.
func free(run string) error {
	if id, err := uuid.Parse(run); err == nil && id.Version() == 5 {
		return faulty("/run", "an id of this form belongs to an Idempotency-Key: send the key, or give another id")
	}
	return nil
}

// once starts a run. With a key, a run that was asked for in the same words before is the same; again says so.
func (c *call) once(keyed bool, asked remote.StartRequest) (started *client.Start, again bool, err error) {
	home := c.server.Home
	if keyed {
		lock, _ := c.server.starting.LoadOrStore(asked.Run, make(chan struct{}, 1))
		turn := lock.(chan struct{})
		select {
		case turn <- struct{}{}:
		case <-c.Context().Done():
			return nil, false, client.UnlessStopped(c.Context(), c.Context().Err())
		}
		defer func() {
			<-turn
			c.server.starting.Delete(asked.Run)
		}()
		if started, err := c.before(asked); started != nil || err != nil {
			return started, true, err
		}
	}
	request := client.StartRequest{
		By: c.by(asked.Why), Run: asked.Run, Pipeline: asked.Pipeline, Environment: asked.Environment, Params: asked.Params, For: asked.For, Schedule: asked.Schedule, Rows: asked.Rows, Detach: true, Lasting: true,
	}
	err = c.begin(request)
	if known, ok := errors.AsType[*client.Error](err); keyed && ok && (known.Code == client.RunExists || known.Code == client.RunBusy) { // another process was faster
		if started, err := c.before(asked); started != nil || err != nil {
			return started, true, err
		}
	}
	if err != nil {
		return nil, false, c.discreet(asked.Run, err)
	}
	starts, err := home.StartsOf(c.Context(), asked.Run)
	if err == nil && len(starts) == 0 { // a worker of the cluster will record it
		params, _ := json.Marshal(asked.Params)
		starts = []client.Start{{
			Run: asked.Run, Pipeline: asked.Pipeline, Environment: asked.Environment, State: landscape.StartAccepted, Actor: c.token.Name, Trigger: activities.TriggerAPI, Why: asked.Why,
			Workflow: workflows.WorkflowID(asked.Run), Params: params,
		}}
	}
	if err != nil {
		return nil, false, err
	}
	return &starts[len(starts)-1], false, nil
}

// discreet says of a run whose id somebody else gave no more than that it is there.
func (c *call) discreet(id string, err error) error {
	known, ok := errors.AsType[*client.Error](err)
	if !ok || known.Code != client.RunExists && known.Code != client.RunBusy {
		return err
	}
	run, failed := c.server.Home.Recorded(c.Context(), id)
	if failed != nil || c.sees(run.Pipeline, run.Actor, run.Trigger) {
		return err
	}
	return &client.Error{Kind: client.Conflict, Code: client.RunExists, Message: fmt.Sprintf("the id %.64q is taken", id), Cure: client.OtherID}
}

// before returns what became of an earlier request with the same key; nil if there was none, or it was refused: then the key is free.
func (c *call) before(asked remote.StartRequest) (*client.Start, error) {
	starts, err := c.server.Home.StartsOf(c.Context(), asked.Run)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(starts, func(s client.Start) bool { return s.State != landscape.StartRefused })
	if i < 0 {
		return nil, nil //nolint:nilnil // nobody asked is no error
	}
	first := &starts[i]
	if !c.sees(first.Pipeline, first.Actor, first.Trigger) {
		return nil, problem(http.StatusUnprocessableEntity, keyReused, "somebody else asked for a run under this Idempotency-Key: give another key")
	}
	var params activities.Params
	if err := json.Unmarshal(first.Params, &params); err != nil {
		return nil, err
	}
	same := first.Pipeline == asked.Pipeline && client.SameSlot(asked.For, first.Slot) && maps.Equal(params, asked.Params) &&
		(asked.Environment == "" || asked.Environment == first.Environment) && first.SameRows(asked.Rows)
	if !same {
		return nil, problem(http.StatusUnprocessableEntity, keyReused, fmt.Sprintf("run %s was asked for under this Idempotency-Key in other words: give another key", asked.Run))
	}
	return first, nil
}

// mostWait is how long a request may wait for the end of its run.
const mostWait = time.Minute

// prefersWait returns how long the caller wants to wait for the end of the run.
func (c *call) prefersWait() (time.Duration, error) {
	for _, preference := range strings.Split(c.Header.Get("Prefer"), ",") {
		word, given := strings.CutPrefix(strings.TrimSpace(preference), "wait=")
		if !given {
			continue
		}
		seconds, err := strconv.Atoi(word)
		if err != nil || seconds < 0 {
			return 0, problem(http.StatusBadRequest, badQuery, "Prefer: wait= takes whole seconds")
		}
		return min(time.Duration(seconds)*time.Second, mostWait), nil
	}
	return 0, nil
}

// How long a request does not look at its run again, when that had not ended.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = 250 * time.Millisecond
)

// await is outcome, for who asked for the run: what is wrong with a caller that waits, such as a token that was revoked
// meanwhile, says that the run does not depend on it.
func (c *call) await(started *client.Start, wait time.Duration) (any, error) {
	report, err := c.outcome(started, wait)
	if p, known := problemOf(err); known {
		with := *p
		with.Detail += fmt.Sprintf(". The start of run %s is recorded all the same, and the run goes its way", started.Run)
		return nil, &with
	}
	return report, err
}

// outcome returns how a run that was started is when it has ended, or when the time is over.
func (c *call) outcome(started *client.Start, wait time.Duration) (any, error) {
	id := started.Run
	c.w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	until, cancel := context.WithTimeout(c.Context(), wait)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		if due, err := c.untilDue(until, id); err != nil {
			return nil, err
		} else if !due {
			break
		}
		ended, err := c.ended(id)
		if err != nil {
			return nil, err
		}
		if ended {
			c.status = http.StatusOK
			break
		}
		select {
		case <-until.Done():
		case <-time.After(pause):
		}
	}
	if err := c.Context().Err(); err != nil {
		return nil, client.UnlessStopped(c.Context(), err)
	}
	return c.now(started)
}

// untilDue waits until the run has probably ended; false if the time is over, or the server ends. The error is that the
// caller's token does not count any more.
func (c *call) untilDue(until context.Context, id string) (bool, error) {
	due, leave := c.server.endings.of(id)
	defer leave()
	look := time.NewTicker(countsFor)
	defer look.Stop()
	for {
		select {
		case <-due:
			return true, c.counts()
		case <-until.Done():
			return false, nil
		case <-c.server.drained:
			return false, nil
		case <-look.C:
			if err := c.counts(); err != nil {
				return false, err
			}
		}
	}
}

// ended reports whether a run has ended, or will never begin.
func (c *call) ended(id string) (bool, error) {
	run, err := c.recordOf(id)
	if err == nil || !isMissing(err) {
		return err == nil && run.Status != pipeline.Running, err
	}
	start, err := c.started(id)
	if isMissing(err) {
		return false, nil
	}
	return err == nil && start.Decided.Known() && start.State != landscape.StartWaiting && start.State != landscape.StartBegun, err
}

// reportOf returns how a run is, also one that has not begun.
func (c *call) reportOf(id string) (*client.RunReport, error) {
	run, err := c.recordOf(id)
	if err == nil {
		return c.report(run)
	}
	if !isMissing(err) {
		return nil, err
	}
	start, err := c.started(id)
	if err != nil {
		return nil, err
	}
	return pending(start), nil
}

// isMissing reports whether something is not recorded.
func isMissing(err error) bool {
	known, ok := errors.AsType[*client.Error](err)
	return ok && known.Kind == client.NotFound
}

// withRun is what a route does with a run.
func withRun[T any](do func(context.Context, *call, landscape.Run) (T, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		run, err := c.record()
		if err != nil {
			return nil, err
		}
		return do(c.Context(), c, run)
	}
}
