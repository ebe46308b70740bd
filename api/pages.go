package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/ui"
)

// pages returns the routes of pages for people. They answer with HTML, and know who asks by a session.
func pages() []route {
	return []route{
		{method: http.MethodGet, path: "/{$}", scope: own, handle: homePage},
		{method: http.MethodGet, path: "/runs", scope: own, handle: runsPage, query: ofRuns},
		{method: http.MethodGet, path: "/runs/{run}", scope: own, handle: runPage},
		{method: http.MethodGet, path: "/runs/{run}/rows", scope: own, handle: withRun(rowsPage), query: ofRows},
		{method: http.MethodGet, path: "/runs/{run}/explain", scope: read, handle: withRun(journeyPage), query: question},
		{method: http.MethodGet, path: "/runs/{run}/why-not", scope: read, handle: withRun(whyNotPage), query: ofWhyNot},
		{method: http.MethodGet, path: "/runs/{run}/errors", scope: own, handle: withRun(errorsPage), query: []param{{name: "values", values: []string{"true"}}, {name: "version", number: true}}},
		{method: http.MethodGet, path: "/runs/{run}/timeline", scope: own, handle: withRun(timelinePage)},
		{method: http.MethodGet, path: "/runs/{run}/compare", scope: look, handle: withRun(comparePage), query: ofComparison},
		{method: http.MethodGet, path: "/runs/{run}/effects", scope: own, handle: withRun(effectsPage), query: list},
		{method: http.MethodGet, path: "/runs/{run}/evidence", scope: look, handle: withRun(evidencePage)},
		{method: http.MethodPost, path: "/runs/{run}/verification", scope: read, handle: then(withRun(verifyRun), evidencePath)},
		{method: http.MethodGet, path: "/runs/{run}/bundle", scope: read, handle: withRun(sendBundle), query: ofBundle},
		{method: http.MethodGet, path: "/runs/{run}/proof", scope: look, handle: withRun(sendProof), query: ofProof},
		{method: http.MethodPost, path: "/runs/{run}/pause", scope: order, handle: then(withRun(pause), runPath)},
		{method: http.MethodPost, path: "/runs/{run}/resume", scope: order, handle: then(withRun(resume), runPath)},
		{method: http.MethodPost, path: "/runs/{run}/cancel", scope: order, handle: then(confirmed(cancel), runPath)},
		{method: http.MethodPost, path: "/runs/{run}/resolve", scope: order, handle: then(withRun(resolve), runPath)},
		{method: http.MethodGet, path: "/pipelines", scope: own, handle: pipelinesPage, query: inEnvironment},
		{method: http.MethodPost, path: "/pipelines", scope: deploy, handle: deployPage},
		{method: http.MethodGet, path: "/pipelines/{name}", scope: look, handle: pipelinePage, query: ofVersion},
		{method: http.MethodGet, path: "/pipelines/{name}/diff", scope: look, handle: diffPage, query: ofVersions},
		{method: http.MethodPost, path: "/pipelines/{name}/run", scope: start, handle: startPage},
		{method: http.MethodPost, path: "/pipelines/{name}/rollback", scope: deploy, handle: then(redeploy((*local.Home).Rollback), pipelinePath)},
		{method: http.MethodPost, path: "/pipelines/{name}/retire", scope: deploy, handle: then(redeploy((*local.Home).Retire), pipelinePath)},
		{method: http.MethodPost, path: "/pipelines/{name}/restore", scope: deploy, handle: then(redeploy((*local.Home).Unretire), pipelinePath)},
		{method: http.MethodGet, path: "/schedules", scope: look, handle: schedulesPage, query: inEnvironment},
		{method: http.MethodGet, path: "/schedules/{environment}/{pipeline}/{schedule}", scope: look, handle: schedulePage, query: ofSlots},
		{method: http.MethodPost, path: "/schedules/{environment}/{pipeline}/{schedule}/pause", scope: order, handle: then(pauseSchedule, schedulePath)},
		{method: http.MethodPost, path: "/schedules/{environment}/{pipeline}/{schedule}/resume", scope: order, handle: then(resumeSchedule, schedulePath)},
		{method: http.MethodPost, path: "/schedules/{environment}/{pipeline}/{schedule}/run", scope: order, handle: then(runSlot, schedulePath)},
		{method: http.MethodGet, path: "/find", scope: look, handle: findPage, query: ofLookup},
		{method: http.MethodGet, path: "/starts", scope: look, handle: startsPage, query: ofStarts},
		{method: http.MethodGet, path: "/access", scope: admin, handle: accessPage, query: list},
		{method: http.MethodPost, path: "/access/{token}/revoke", scope: admin, handle: then(revoke, accessPath)},
		{method: http.MethodPost, path: "/runs/{run}/retry", scope: order, handle: withRun(retryPage)},
		{method: http.MethodGet, path: "/login", scope: open, handle: loginPage, query: []param{{name: "to"}, {name: "code"}}},
		{method: http.MethodPost, path: "/login", scope: open, handle: login},
		{method: http.MethodPost, path: "/logout", scope: anybody, handle: logout},
		{method: http.MethodGet, path: "/assets/{digest}/{name}", scope: open, handle: sendAsset},
	}
}

// PageRoles returns the roles that may use each page, by METHOD PATH; all roles for one that asks for no session.
func PageRoles() map[string][]landscape.Role { return rolesOf(pages()) }

// elsewhere is another address that a page sends to.
type elsewhere string

// sendPage writes what a page's route returned.
func (c *call) sendPage(answer any) error {
	header := c.w.Header()
	if to, ok := answer.(elsewhere); ok {
		c.status = http.StatusSeeOther
		header.Set("Cache-Control", "no-store")
		header.Set("Location", string(to))
		c.w.WriteHeader(c.status)
		return nil
	}
	page, ok := answer.(ui.Page)
	if !ok {
		return fmt.Errorf("%T is no page", answer)
	}
	page.Who, page.Nav, page.MayFind = c.token.Name, navigation(c.token), c.token.Has(allowed[look]...)
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return writePage(c.w, c.status, page)
}

// A mainPage is one that each page leads to.
type mainPage struct {
	ui.Link
	scope // who may see it
}

var mainPages = []mainPage{
	{ui.Link{Text: "Home", To: "/"}, own}, {ui.Link{Text: "Runs", To: "/runs"}, own}, {ui.Link{Text: "Pipelines", To: "/pipelines"}, own},
	{ui.Link{Text: "Schedules", To: "/schedules"}, look}, {ui.Link{Text: "Starts", To: "/starts"}, look}, {ui.Link{Text: "Access", To: "/access"}, admin},
}

// navigation returns links to the main pages that somebody may see.
func navigation(token landscape.AccessToken) (links []ui.Link) {
	for _, page := range mainPages {
		if token.Has(allowed[page.scope]...) {
			links = append(links, page.Link)
		}
	}
	return links
}

func writePage(w http.ResponseWriter, status int, page ui.Page) error {
	content, err := ui.Render(page)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(content)
	return nil
}

// pageHeaders keep a page from doing, and from being done to, what no page of ours needs.
func pageHeaders(header http.Header) {
	header.Set("Content-Security-Policy", ui.Policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), usb=()")
}

// refusePage writes a problem as a page; that nobody is signed in, as the page on which one can.
func (s *Server) refusePage(w http.ResponseWriter, r *http.Request, p *Problem, token landscape.AccessToken) {
	page := ui.Page{Title: http.StatusText(p.Status), Who: token.Name, Nav: navigation(token), Body: ui.Problem{Status: p.Status, Code: p.Code, Detail: p.Detail}}
	if p.Status == http.StatusUnauthorized {
		page.Title = "Sign in"
		why := p.Detail
		if p.Code == noToken {
			why = ""
		}
		to := r.URL.RequestURI()
		if r.Method != http.MethodGet || r.URL.Path == "/login" {
			to = "/"
		}
		page.Who, page.Body = "", ui.Login{Why: why, To: to}
	}
	if err := writePage(w, p.Status, page); err != nil {
		s.Logger.Error("a page of a problem cannot be made", "error", err)
	}
}

// next is the address of the page of a list after this one; empty if there is none.
func (c *call) next(cursor string) string {
	if cursor == "" {
		return ""
	}
	query := url.Values{}
	for name, values := range c.query {
		query[name] = values
	}
	query.Set("after", cursor)
	return c.URL.EscapedPath() + "?" + query.Encode()
}

// The home page looks at no more runs than these, and lists no more that ended.
const (
	homeLooks = 200
	homeEnded = 10
)

func homePage(c *call) (any, error) {
	home := ui.Home{}
	next, err := c.server.Home.RunsAfter(c.Context(), "", func(run *client.Run) (bool, error) {
		if !c.sees(run.Pipeline, run.Actor, run.Trigger) {
			return true, nil
		}
		run.Reason = landscape.WithoutValues(run.Reason)
		home.Looked++
		switch need := ui.NeedOf(run); {
		case need != "":
			home.Needs = append(home.Needs, ui.Need{Run: *run, Why: need})
		case run.Status == pipeline.Running:
			home.Going = append(home.Going, *run)
		case len(home.Recent) < homeEnded:
			home.Recent = append(home.Recent, *run)
		}
		return home.Looked < homeLooks, nil
	})
	home.More = next != ""
	slices.Reverse(home.Needs)
	return ui.Page{Title: "Home", Command: "waymark runs", Path: "/v1/runs", Body: home, Refresh: len(home.Going) > 0}, err
}

func runsPage(c *call) (any, error) {
	answer, err := listRuns(c)
	if err != nil {
		return nil, err
	}
	page := answer.(Page[client.Run]) //nolint:forcetypeassert // as listRuns says
	body := ui.Runs{
		Runs: page.Items, Next: c.next(page.Next), Pipeline: c.query.Get("pipeline"), Status: c.query.Get("status"),
		Statuses: []pipeline.RunStatus{
			pipeline.Running, pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty, pipeline.Failed, pipeline.Interrupted, pipeline.Blocked, pipeline.Cancelled,
		},
	}
	return ui.Page{
		Title: "Runs", Crumbs: []ui.Link{{Text: "Runs"}}, Command: "waymark runs", Path: "/v1/runs", SQL: "select run_id, pipeline, status from runs order by started_us desc", Body: body,
	}, nil
}

// crumbs say where a page of a run is.
func crumbs(run landscape.Run, below ...string) []ui.Link {
	path := []ui.Link{{Text: "Runs", To: "/runs"}, {Text: run.Pipeline, To: "/runs?pipeline=" + url.QueryEscape(run.Pipeline)}, {Text: run.ID, To: ui.RunPath(run.ID)}}
	for _, text := range below {
		path = append(path, ui.Link{Text: text})
	}
	path[len(path)-1].To = ""
	return path
}

func runPage(c *call) (any, error) {
	run, err := c.record()
	if isMissing(err) {
		return unbegunPage(c)
	}
	if err != nil {
		return nil, err
	}
	report, err := c.report(run)
	if err != nil {
		return nil, err
	}
	body := ui.Run{Report: report, MayRead: c.token.Has(allowed[read]...)}
	edges, err := c.edges(run)
	if err != nil {
		return nil, err
	}
	if report.Run.Status != pipeline.Running { // of one that runs there may be many, and the page is loaded again and again
		groups, err := errorsOf(c.Context(), c, run)
		if err != nil {
			return nil, err
		}
		body.Errors = groups.Items
	}
	body.Accounts = ui.Accounts(report.Nodes, edges)
	body.Graph = ui.GraphOf(report.Nodes, edges)
	if body.Effects, err = c.unconfirmed(run); err != nil {
		return nil, err
	}
	if c.token.Has(allowed[order]...) {
		body.Orders = ordersFor(report)
	}
	if body.MayCompare = c.token.Has(allowed[look]...) && client.Complete(report.Run.Status); body.MayCompare {
		if body.Earlier, err = c.server.Home.RunBefore(c.Context(), run); err != nil && !isMissing(err) {
			return nil, err
		}
	}
	page := statusPage(body)
	page.Crumbs, page.SQL = crumbs(run), "select * from run_summary where run_id = '"+run.ID+"'"
	page.Refresh = report.Run.Status == pipeline.Running && !report.Dead()
	return page, nil
}

// edges returns the edges of a run; nil if the record of its rows' ways is not whole, which its accounts show.
func (c *call) edges(run landscape.Run) ([]client.Edge, error) {
	edges, err := c.server.Home.Edges(c.Context(), run.ID)
	if damaged, ok := errors.AsType[*client.Error](err); ok && damaged.Kind == client.Damaged {
		return nil, nil
	}
	return edges, err
}

// unbegunPage is the page of a run that is not recorded: it was asked for, and has not begun.
func unbegunPage(c *call) (any, error) {
	report, err := c.unbegun()
	if err != nil {
		return nil, err
	}
	page := statusPage(ui.Run{Report: report})
	page.Refresh = report.Start.State == landscape.StartAccepted || report.Start.State == landscape.StartWaiting
	return page, nil
}

func statusPage(body ui.Run) ui.Page {
	return ui.Page{Title: body.Pipeline + " " + string(body.Run.Status), Command: "waymark status " + body.ID, Path: "/v1/runs/" + body.ID, Body: body}
}

// mostUnconfirmed is how many effects that are not finalized the page of a run lists.
const mostUnconfirmed = 20

// unconfirmed returns the first effects of a run that stopped that are not finalized; while it runs they come and go.
func (c *call) unconfirmed(run landscape.Run) ([]client.Effect, error) {
	if run.Status != pipeline.Blocked && run.Status != pipeline.Failed && run.Status != pipeline.Interrupted {
		return nil, nil
	}
	effects, err := c.server.Home.Effects(c.Context(), run.ID, "", 0, false)
	effects = slices.DeleteFunc(effects, func(e client.Effect) bool { return e.State == landscape.Finalized })
	return effects[:min(mostUnconfirmed, len(effects))], err
}

// ordersFor returns the orders that may be given to a run as it is.
func ordersFor(report *local.Report) []ui.Order {
	path := ui.RunPath(report.ID)
	pausing := ui.Order{Path: path + "/pause", Name: "Pause", About: "Work in flight is finished first; nothing is lost."}
	resuming := ui.Order{Path: path + "/resume", Name: "Resume", About: "It continues where it left off; nothing that is confirmed is done again."}
	cancelling := ui.Order{Path: path + "/cancel", Name: "Cancel", About: "It stops, and can be resumed."}
	ending := ui.Order{Path: path + "/cancel", Name: "Cancel for ever", About: "It cannot be resumed, and what it staged is removed. What targets confirmed stays there.", Final: true}
	switch status := report.Run.Status; {
	case status == pipeline.Running && report.Paused != nil, status == pipeline.Running && report.Dead():
		return []ui.Order{resuming, cancelling}
	case status == pipeline.Running:
		return []ui.Order{pausing, cancelling}
	case report.Final || status == pipeline.Completed || status == pipeline.CompletedWithFailures || status == pipeline.Empty:
		return nil
	}
	return []ui.Order{resuming, ending}
}

func rowsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	page, err := rowsOf(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	edges, err := edgesOf(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	body := ui.Rows{Run: run, Rows: page.Items, Next: c.next(page.Next), Of: "all of the run", Count: -1, MayRead: c.token.Has(allowed[read]...)}
	flags := ""
	node, edge := c.query.Get("node"), c.query.Get("edge")
	switch {
	case node != "":
		body.Of, flags, body.Count = "at "+node, " --node "+node, ui.Came(edges.Items, node)
	case edge != "":
		body.Of, flags, body.Count = "on "+edge, " --edge "+edge, 0
		for _, e := range edges.Items {
			if e.ID == edge {
				body.Count = e.Rows
			}
		}
	}
	return ui.Page{
		Title: "Rows " + body.Of, Crumbs: crumbs(run, "rows "+body.Of), Command: "waymark rows " + run.ID + flags, Path: "/v1" + c.URL.RequestURI(), Body: body,
	}, nil
}

func journeyPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	story, err := explain(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	body := ui.Journey{Explanation: story}
	edges, err := c.edges(run)
	if err != nil {
		return ui.Page{}, err
	}
	body.Others = slices.DeleteFunc(ui.Sinks(edges), func(sink string) bool { return sink == story.Sink })
	if len(story.MadeOf) == 0 && story.Source.Row > 0 {
		if story.Source.Row > 1 {
			body.Before = fmt.Sprintf("%s:%d", story.Source.Name, story.Source.Row-1)
		}
		if story.Source.Row < ui.Came(edges, story.Source.Name) {
			body.Next = fmt.Sprintf("%s:%d", story.Source.Name, story.Source.Row+1)
		}
	}
	return ui.Page{
		Title: story.Token, Crumbs: crumbs(run, story.Token), Command: "waymark explain " + run.ID + " --token " + story.Token, Path: "/v1" + ui.RowPath(run.ID, story.Token), Body: body,
	}, nil
}

func findPage(c *call) (any, error) {
	body := ui.Find{Word: c.query.Get("q"), MayRead: c.token.Has(allowed[read]...)}
	if body.Word != "" {
		answer, err := find(c)
		if err != nil {
			return nil, err
		}
		body.Found = answer.(Page[client.Found]).Items //nolint:forcetypeassert // as find says
	}
	return ui.Page{Title: "Find", Crumbs: []ui.Link{{Text: "Find"}}, Command: "waymark find WORD", Path: "/v1/find?" + c.URL.RawQuery, Body: body}, nil
}

func timelinePage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	found, err := timeline(ctx, c, run)
	return ui.Page{
		Title: "Timeline", Crumbs: crumbs(run, "timeline"), Command: "waymark timeline " + run.ID, Path: "/v1" + c.URL.EscapedPath(), Body: ui.Timeline{Timeline: found, MayRead: c.token.Has(allowed[read]...)},
		SQL: "select source, chunk, started_us, finished_us, worker from passages where run_id = '" + run.ID + "'", Refresh: run.Status == pipeline.Running,
	}, err
}

func comparePage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	found, err := compareRuns(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	path := ui.ComparePath(run.ID, found.Was.ID)
	return ui.Page{
		Title: "Compared with an earlier run", Crumbs: crumbs(run, "compared"), Command: "waymark compare " + found.Was.ID + " " + run.ID, Path: "/v1" + path,
		Body: ui.Compare{Comparison: found, MayRead: c.token.Has(allowed[read]...)},
	}, nil
}

func whyNotPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	denial, err := whyNot(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	path := crumbs(run, denial.Token, "why not in "+denial.Sink)
	path[len(path)-2].To = ui.RowPath(run.ID, denial.Token)
	return ui.Page{
		Title: "Why not in " + denial.Sink, Crumbs: path, Command: "waymark explain " + run.ID + " --token " + denial.Token + " --why-not " + denial.Sink, Path: "/v1" + c.URL.RequestURI(),
		Body: ui.WhyNot{Denial: denial},
	}, nil
}

func errorsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	body := ui.Errors{Run: run, Values: c.query.Get("values") == "true", Offer: c.token.Has(allowed[read]...)}
	var err error
	if body.Values {
		if !body.Offer {
			return ui.Page{}, needs(read)
		}
		if err = c.disclose(run.ID, "errors", ""); err == nil {
			body.Groups, err = c.server.Home.Errors(ctx, run.ID)
		}
	} else {
		var page Page[client.ErrorGroup]
		page, err = errorsOf(ctx, c, run)
		body.Groups = page.Items
	}
	for _, group := range body.Groups {
		body.Total += group.Count
	}
	if err == nil {
		err = c.cures(run, &body)
	}
	return ui.Page{Title: "Refused rows", Crumbs: crumbs(run, "refused rows"), Command: "waymark errors " + run.ID, Path: "/v1" + c.URL.EscapedPath(), Body: body}, err
}

// cures adds what may be done about rows in quarantine, and what the version that is asked for would make of the run.
func (c *call) cures(run landscape.Run, body *ui.Errors) error {
	body.MayOrder = c.token.Has(allowed[order]...) && client.Complete(run.Status)
	if body.MayOrder {
		body.Again = client.NewRunID()
	}
	if !c.token.Has(allowed[look]...) || !client.Complete(run.Status) {
		return nil
	}
	history, err := c.server.Home.PipelineHistory(c.Context(), run.Environment, run.Pipeline)
	if isMissing(err) {
		return nil
	}
	for _, h := range history {
		if !slices.Contains(body.Versions, h.Version) {
			body.Versions = append(body.Versions, h.Version)
		}
	}
	if err != nil {
		return err
	}
	children, err := c.server.Home.Children(c.Context(), run.ID)
	if err != nil {
		return err
	}
	body.Retries = slices.DeleteFunc(children, func(child client.Link) bool { return child.Link != landscape.RetryLink })
	if c.query.Get("version") == "" {
		return nil
	}
	body.Trial, err = whatIf(c.Context(), c, run)
	body.Version, _ = strconv.ParseInt(c.query.Get("version"), 10, 64)
	if known, ok := errors.AsType[*client.Error](err); ok && (known.Kind == client.Invalid || known.Kind == client.Conflict) {
		body.Fault, err = landscape.WithoutValues(known.Message), nil
	}
	return err
}

// retryPage retries rows, and leads to the page of the run that does it. The form has that run's id: sent twice, it starts one.
func retryPage(ctx context.Context, c *call, run landscape.Run) (elsewhere, error) {
	again, err := retry(ctx, c, run)
	known, ok := errors.AsType[*client.Error](err)
	if id := c.PostForm.Get("run"); ok && (known.Code == client.RunExists || known.Code == client.RunBusy) && id != "" {
		return sentBefore(c, id)
	}
	if err != nil {
		return "", err
	}
	if again.Run == "" {
		return "", problem(http.StatusConflict, client.NotRetryable, "no row in quarantine can be retried: "+whyLeft(again.Left))
	}
	return elsewhere(ui.RunPath(again.Run)), nil
}

// sentBefore leads to the run that an earlier sending of the same form began, if that asked for the same version.
func sentBefore(c *call, id string) (elsewhere, error) {
	first, err := c.recordOf(id)
	if isMissing(err) { // it has not begun
		return elsewhere(ui.RunPath(id)), nil
	}
	if err != nil {
		return "", err
	}
	if version := c.PostForm.Get("version"); version != strconv.FormatInt(first.Version, 10) {
		return "", problem(http.StatusConflict, keyReused, fmt.Sprintf("this form was sent before with another version, and run %s began with that: load the page of refused rows again", id))
	}
	return elsewhere(ui.RunPath(id)), nil
}

// whyLeft says why records are not retried.
func whyLeft(left []activities.LeftOut) string {
	var words []string
	for _, l := range left {
		words = append(words, l.Reason)
	}
	return cmp.Or(strings.Join(words, "; "), "there is none")
}

func effectsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	page, err := effectsOf(ctx, c, run)
	body := ui.Effects{Run: run, Effects: page.Items, Next: c.next(page.Next), MayResolve: c.token.Has(allowed[order]...)}
	return ui.Page{Title: "Completion records", Crumbs: crumbs(run, "completion records"), Command: "waymark effects " + run.ID, Path: "/v1" + c.URL.EscapedPath(), Body: body}, err
}

func sendAsset(c *call) (any, error) {
	all := ui.Assets()
	at := slices.IndexFunc(all, func(a ui.Asset) bool { return a.Path == c.URL.Path })
	if at < 0 {
		return nil, problem(http.StatusNotFound, noRoute, "there is nothing at this path")
	}
	c.sent = true
	header := c.w.Header()
	header.Set("Content-Type", all[at].Type)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, err := io.Copy(c.w, bytes.NewReader(all[at].Content))
	return nil, err
}
