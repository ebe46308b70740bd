package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"waymark/activities"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/ui"
)

// itself is the page's own address, as the API has it.
func (c *call) itself() string { return "/v1" + c.URL.RequestURI() }

// environmentFlag is what a command needs to be about an environment.
func environmentFlag(environment string) string {
	if environment == "" || environment == landscape.DefaultEnvironment {
		return ""
	}
	return " --environment " + environment
}

func pipelinesPage(c *call) (any, error) { return c.pipelinesAs(ui.Deploy{}) }

// deployPage deploys the document of a form, and leads to the page of its pipeline; of one with problems, back to the form with all of them.
func deployPage(c *call) (any, error) {
	answer, err := deployDocument(c)
	known, ok := errors.AsType[*client.Error](err)
	switch {
	case ok && known.Kind == client.Invalid:
		c.status = http.StatusBadRequest
		return c.pipelinesAs(ui.Deploy{Document: c.PostForm.Get("document"), Environment: c.PostForm.Get("environment"), Why: c.PostForm.Get("why"), Fault: known.Message})
	case err != nil:
		return nil, err
	}
	deployed := answer.(*client.Deployed) //nolint:forcetypeassert // as deployDocument says
	return elsewhere(ui.PipelinePath(deployed.Environment, deployed.Pipeline)), nil
}

// pipelinesAs is the page of the pipelines with the form as somebody filled it in.
func (c *call) pipelinesAs(form ui.Deploy) (any, error) {
	answer, err := pipelines(c)
	if err != nil {
		return nil, err
	}
	environment := c.query.Get("environment")
	list := answer.(remote.Page[client.Pipeline]) //nolint:forcetypeassert // as pipelines says
	body := ui.Pipelines{
		Pipelines: list.Items, Next: c.next(list.Next), Last: map[string]*client.Run{}, Environment: environment,
		Deploy: form, MayDeploy: c.token.Has(allowed[deploy]...),
	}
	if c.query.Get("after") == "" {
		body.Served = c.servedDocuments(body.Pipelines)
	}
	err = c.newest(func(run *client.Run) bool {
		if _, known := body.Last[run.Pipeline]; !known && run.Version > 0 {
			body.Last[run.Pipeline] = run
		}
		return len(body.Last) < len(body.Pipelines)
	})
	return ui.Page{
		Title: "Pipelines", Crumbs: []ui.Link{{Text: "Pipelines"}}, Command: "waymark pipelines" + environmentFlag(environment), Path: c.itself(),
		SQL: "select pipeline, version, action, actor, why from deployments", Body: body,
	}, err
}

// servedDocuments returns the documents in the folder of this process that the caller sees and that start by their names: what is deployed comes first.
func (c *call) servedDocuments(deployed []client.Pipeline) (served []ui.Served) {
	for _, found := range activities.ServedIn(c.server.Served) {
		is := func(p client.Pipeline) bool { return p.Pipeline == found.Pipeline }
		if !c.token.Sees(found.Pipeline) || slices.ContainsFunc(deployed, is) {
			continue
		}
		document := ui.Served{Name: found.Pipeline, Problem: landscape.WithoutValues(found.Problem)}
		for _, param := range found.Params {
			if param.Required {
				document.Required = append(document.Required, param.Name)
			}
		}
		served = append(served, document)
	}
	return served
}

// newest looks at the newest runs that the caller sees, until look returns false, and at no more than the home page does.
func (c *call) newest(look func(*client.Run) bool) error {
	looked := 0
	_, err := c.server.Home.RunsAfter(c.Context(), "", func(run *client.Run) (bool, error) {
		looked++
		more := true
		if c.sees(run.Pipeline, run.Actor, run.Trigger) {
			run.Reason = landscape.WithoutValues(run.Reason)
			more = look(run)
		}
		return more && looked < homeLooks, nil
	})
	return err
}

func pipelinePage(c *call) (any, error) {
	word, err := c.version("version")
	if err != nil {
		return nil, err
	}
	return c.pipelineAs(word, c.query.Get("environment"), ui.Form{Run: client.NewRunID()})
}

// pipelineAs is the page of a version of a pipeline, with the form for a run filled like this.
func (c *call) pipelineAs(word, environment string, form ui.Form) (page ui.Page, err error) {
	home, ctx := c.server.Home, c.Context()
	body := ui.Pipeline{Form: form, MayStart: c.token.Has(allowed[start]...), MayDeploy: c.token.Has(allowed[deploy]...)}
	if body.Pipeline, err = home.Pipeline(ctx, environment, word); err != nil {
		return page, err
	}
	if body.Document, err = home.PipelineDocument(ctx, environment, word); err != nil {
		return page, err
	}
	if body.History, err = home.PipelineHistory(ctx, environment, body.Pipeline.Pipeline); err != nil {
		return page, err
	}
	if body.Triggers, err = home.TriggersOf(ctx, body.Environment, body.Pipeline.Pipeline); err != nil {
		return page, err
	}
	err = c.newest(func(run *client.Run) bool {
		if run.Pipeline == body.Pipeline.Pipeline {
			body.Runs = append(body.Runs, *run)
		}
		return len(body.Runs) < homeEnded
	})
	path := "/v1" + ui.PipelinePath(body.Environment, fmt.Sprintf("%s@%d", body.Pipeline.Pipeline, body.Version))
	return ui.Page{
		Title: body.Pipeline.Pipeline, Crumbs: []ui.Link{{Text: "Pipelines", To: "/pipelines"}, {Text: body.Pipeline.Pipeline}},
		Command: "waymark pipelines show " + word + environmentFlag(environment), Path: path,
		SQL: "select version, action, actor, why from deployments where pipeline = '" + body.Pipeline.Pipeline + "'", Body: body,
	}, err
}

func diffPage(c *call) (any, error) {
	answer, err := pipelineDiff(c)
	if err != nil {
		return nil, err
	}
	name := c.PathValue("name")
	body := ui.Diff{PipelineDiff: answer.(*client.PipelineDiff)} //nolint:forcetypeassert // as pipelineDiff says
	return ui.Page{
		Title: "Difference", Crumbs: []ui.Link{{Text: "Pipelines", To: "/pipelines"}, {Text: name, To: ui.PipelinePath(c.query.Get("environment"), name)}, {Text: "difference"}},
		Command: fmt.Sprintf("waymark pipelines diff %s %s%s", body.From, body.To, environmentFlag(c.query.Get("environment"))), Path: c.itself(), Body: body,
	}, nil
}

// startPage starts a run, and leads to its page. The form has the run's id: sent twice, it starts one. If it is refused, it leads to the form again, with the reason.
func startPage(c *call) (any, error) {
	var asked remote.StartRequest
	if err := c.decode(&asked); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(asked.Pipeline, "@")
	switch {
	case name != c.PathValue("name") || asked.Run == "":
		return nil, problem(http.StatusBadRequest, malformed, "the form is not that of this pipeline's page")
	case !c.token.Sees(name):
		return nil, noPipeline(name)
	}
	_, _, err := c.once(false, asked)
	known, ok := errors.AsType[*client.Error](err)
	switch {
	case ok && (known.Code == client.RunExists || known.Code == client.RunBusy):
		if _, unseen := c.started(asked.Run); unseen != nil {
			return nil, err
		}
		if _, other := c.before(asked); other != nil {
			return c.formAgain(asked, "this form was sent before with other values, and run "+asked.Run+" began with those: send it again for a run with these")
		}
	case ok && known.Kind == client.Invalid:
		return c.formAgain(asked, known.Message)
	case err != nil:
		return nil, err
	}
	refused, err := c.refusal(asked.Run)
	if err != nil || refused == "" {
		return elsewhere(ui.RunPath(asked.Run)), err
	}
	return c.formAgain(asked, refused)
}

// formAgain is the page with the form for a run as it was sent, and why there is none. Who sends it again asks for another run.
func (c *call) formAgain(asked remote.StartRequest, why string) (any, error) {
	if !c.token.Has(allowed[look]...) {
		return nil, problem(http.StatusBadRequest, malformed, why)
	}
	c.status = http.StatusBadRequest
	return c.pipelineAs(asked.Pipeline, asked.Environment, ui.Form{Run: client.NewRunID(), Params: asked.Params, For: asked.For, Why: asked.Why, Fault: why})
}

// A form waits this long for what becomes of a start, and looks so often.
const (
	formWaits = 3 * time.Second
	formLooks = 50 * time.Millisecond
)

// refusal returns why a run was refused; empty if it was not, or nobody has decided that yet.
func (c *call) refusal(run string) (why string, err error) {
	for end := time.Now().Add(formWaits); time.Now().Before(end); {
		start, err := c.started(run)
		if err != nil || start.State != landscape.StartAccepted {
			if err == nil && start.State == landscape.StartRefused {
				why = start.Reason
			}
			return why, err
		}
		select {
		case <-c.Context().Done():
			return "", c.Context().Err()
		case <-time.After(formLooks):
		}
	}
	return "", nil
}

// pipelinePath is the address of the page of the pipeline that a form is about.
func pipelinePath(c *call) string {
	return ui.PipelinePath(c.PostFormValue("environment"), c.PathValue("name"))
}

func schedulesPage(c *call) (any, error) {
	answer, err := schedules(c)
	if err != nil {
		return nil, err
	}
	environment := c.query.Get("environment")
	list := answer.(remote.Page[client.Schedule]) //nolint:forcetypeassert // as schedules says
	body := ui.Schedules{Schedules: list.Items, Next: c.next(list.Next), Environment: environment}
	return ui.Page{
		Title: "Schedules", Crumbs: []ui.Link{{Text: "Schedules"}}, Command: "waymark schedule list" + environmentFlag(environment), Path: c.itself(), Body: body,
	}, nil
}

func schedulePage(c *call) (any, error) {
	answer, err := gridOf(c)
	if err != nil {
		return nil, err
	}
	grid := answer.(*client.Grid) //nolint:forcetypeassert // as gridOf says
	history, err := c.server.Home.ScheduleHistory(c.Context(), grid.ID)
	if err != nil {
		return nil, err
	}
	body := ui.Schedule{Grid: grid, History: history, MayOrder: c.token.Has(allowed[order]...)}
	return ui.Page{
		Title: grid.ID, Crumbs: []ui.Link{{Text: "Schedules", To: "/schedules"}, {Text: grid.ID}}, Command: "waymark schedule grid " + grid.ID, Path: c.itself(), Body: body,
	}, nil
}

// schedulePath is the address of the page of the schedule that a form is about.
func schedulePath(c *call) string {
	return ui.SchedulePath(c.PathValue("environment") + "/" + c.PathValue("pipeline") + "/" + c.PathValue("schedule"))
}

func startsPage(c *call) (any, error) {
	answer, err := starts(c)
	if err != nil {
		return nil, err
	}
	waiting, err := queue(c)
	if err != nil {
		return nil, err
	}
	page := answer.(remote.Page[client.Start]) //nolint:forcetypeassert // as starts says
	body := ui.Starts{Starts: page.Items, Next: c.next(page.Next), State: c.query.Get("state"), States: ofStarts[0].values}
	body.Waiting = waiting.(remote.Page[client.Waiting]).Items //nolint:forcetypeassert // as queue says
	return ui.Page{
		Title: "Starts", Crumbs: []ui.Link{{Text: "Starts"}}, Command: "waymark starts", Path: c.itself(), SQL: "select run_id, pipeline, state, reason from starts", Body: body,
	}, nil
}

func accessPage(c *call) (any, error) {
	tokens, err := c.tokens()
	if err != nil {
		return nil, err
	}
	answer, err := disclosures(c)
	if err != nil {
		return nil, err
	}
	page := answer.(remote.Page[client.Disclosure]) //nolint:forcetypeassert // as disclosures says
	return ui.Page{
		Title: "Access", Crumbs: []ui.Link{{Text: "Access"}}, Command: "waymark access disclosures", Path: "/v1/disclosures", Body: ui.Access{Tokens: tokens, Disclosures: page.Items, Next: c.next(page.Next)},
	}, nil
}
