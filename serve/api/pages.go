package api

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/serve/oidc"
	"waymark/serve/ui"
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
		{method: http.MethodPost, path: "/runs/{run}/errors", scope: deploy, and: read, handle: withRun(editedPage), most: mostBody},
		{method: http.MethodGet, path: "/runs/{run}/timeline", scope: own, handle: withRun(timelinePage)},
		{method: http.MethodGet, path: "/runs/{run}/past", scope: own, handle: withRun(pastPage), query: ofPast},
		{method: http.MethodGet, path: "/runs/{run}/compare", scope: look, handle: withRun(comparePage), query: ofComparison},
		{method: http.MethodGet, path: "/runs/{run}/compare/rows", scope: look, handle: withRun(comparedRowsPage), query: ofComparedRows},
		{method: http.MethodGet, path: "/runs/{run}/effects", scope: own, handle: withRun(effectsPage), query: list},
		{method: http.MethodGet, path: "/runs/{run}/evidence", scope: look, handle: withRun(evidencePage)},
		{method: http.MethodPost, path: "/runs/{run}/verification", scope: read, handle: then(withRun(verifyRun), evidencePath)},
		{method: http.MethodGet, path: "/runs/{run}/bundle", scope: read, handle: withRun(sendBundle), query: ofBundle},
		{method: http.MethodGet, path: "/runs/{run}/proof", scope: read, handle: withRun(sendProof), query: ofProof},
		{method: http.MethodGet, path: "/runs/{run}/payloads/{digest}", scope: read, handle: withRun(payloadPage), query: ofPayload},
		{method: http.MethodGet, path: "/runs/{run}/payloads/{digest}/bytes", scope: read, handle: withRun(sendPayload)},
		{method: http.MethodGet, path: "/runs/{run}/report", scope: read, handle: withRun(sendReport)},
		{method: http.MethodGet, path: "/runs/{run}/dossier", scope: read, handle: withRun(sendDossier), query: question},
		{method: http.MethodPost, path: "/runs/{run}/pause", scope: order, handle: then(withRun(pause), runPath)},
		{method: http.MethodPost, path: "/runs/{run}/resume", scope: order, handle: then(withRun(resume), runPath)},
		{method: http.MethodPost, path: "/runs/{run}/cancel", scope: order, handle: then(confirmed(cancel), runPath)},
		{method: http.MethodPost, path: "/runs/{run}/resolve", scope: order, handle: then(withRun(resolve), runPath)},
		{method: http.MethodGet, path: "/pipelines", scope: own, handle: pipelinesPage, query: ofDeployed},
		{method: http.MethodPost, path: "/pipelines", scope: deploy, handle: deployPage, most: mostBody},
		{method: http.MethodGet, path: "/pipelines/{name}", scope: look, handle: pipelinePage, query: ofVersion},
		{method: http.MethodGet, path: "/pipelines/{name}/diff", scope: look, handle: diffPage, query: ofVersions},
		{method: http.MethodPost, path: "/pipelines/{name}/run", scope: start, handle: startPage, most: mostBody},
		{method: http.MethodPost, path: "/pipelines/{name}/rollback", scope: deploy, handle: then(redeploy((*local.Home).Rollback), pipelinePath)},
		{method: http.MethodPost, path: "/pipelines/{name}/retire", scope: deploy, handle: then(redeploy((*local.Home).Retire), pipelinePath)},
		{method: http.MethodPost, path: "/pipelines/{name}/restore", scope: deploy, handle: then(redeploy((*local.Home).Unretire), pipelinePath)},
		{method: http.MethodGet, path: "/schedules", scope: look, handle: schedulesPage, query: ofDeployed},
		{method: http.MethodGet, path: "/schedules/{environment}/{pipeline}/{schedule}", scope: look, handle: schedulePage, query: ofSlots},
		{method: http.MethodPost, path: "/schedules/{environment}/{pipeline}/{schedule}/pause", scope: order, handle: then(pauseSchedule, schedulePath)},
		{method: http.MethodPost, path: "/schedules/{environment}/{pipeline}/{schedule}/resume", scope: order, handle: then(resumeSchedule, schedulePath)},
		{method: http.MethodPost, path: "/schedules/{environment}/{pipeline}/{schedule}/run", scope: order, handle: then(runSlot, schedulePath)},
		{method: http.MethodGet, path: "/triggers", scope: look, handle: triggersPage, query: []param{{name: "environment"}}},
		{method: http.MethodGet, path: "/triggers/{environment}/{pipeline}/{trigger}", scope: look, handle: triggerPage, query: ofArrivals},
		{method: http.MethodPost, path: "/triggers/{environment}/{pipeline}/{trigger}/pause", scope: order, handle: then(orderTrigger((*local.Home).PauseTrigger), triggerPath)},
		{method: http.MethodPost, path: "/triggers/{environment}/{pipeline}/{trigger}/resume", scope: order, handle: then(orderTrigger((*local.Home).ResumeTrigger), triggerPath)},
		{method: http.MethodPost, path: "/triggers/{environment}/{pipeline}/{trigger}/ignore", scope: order, handle: then(ignoreArrivals, triggerPath)},
		{method: http.MethodPost, path: "/triggers/{environment}/{pipeline}/{trigger}/again", scope: order, handle: then(arriveAgain, triggerPath)},
		{method: http.MethodGet, path: "/find", scope: look, handle: findPage, query: ofLookup},
		{method: http.MethodGet, path: "/starts", scope: look, handle: startsPage, query: ofStarts},
		{method: http.MethodGet, path: "/doctor", scope: look, handle: healthPage},
		{method: http.MethodGet, path: "/access", scope: admin, handle: accessPage, query: list},
		{method: http.MethodPost, path: "/access/{token}/revoke", scope: admin, handle: then(revoke, accessPath)},
		{method: http.MethodPost, path: "/runs/{run}/retry", scope: order, handle: withRun(retryPage)},
		{method: http.MethodGet, path: "/login", scope: open, handle: loginPage, query: []param{{name: "to"}, {name: "code"}}},
		{method: http.MethodPost, path: "/login", scope: open, handle: login},
		{method: http.MethodGet, path: signInPath, scope: open, handle: beginSignIn, query: []param{{name: "to"}}},
		{method: http.MethodGet, path: oidc.CallbackPath, scope: open, handle: endSignIn, others: true},
		{method: http.MethodPost, path: "/logout", scope: anybody, handle: logout},
		{method: http.MethodGet, path: "/assets/{digest}/{name}", scope: open, handle: sendAsset},
	}
}

// PageNeeds returns what each page asks of people, as Needs does of routes.
func PageNeeds() map[string][][]landscape.Role { return needsOf(pages()) }

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
	page.Who, page.Nav, page.MayFind = c.token.Name, navigation(c.token.AccessToken), c.token.Has(allowed[look]...)
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return writePage(c.w, c.Request, c.status, page)
}

// A mainPage is one that each page leads to.
type mainPage struct {
	ui.Link
	scope // who may see it
}

var mainPages = []mainPage{
	{ui.Link{Text: "Home", To: "/"}, own}, {ui.Link{Text: "Runs", To: "/runs"}, own}, {ui.Link{Text: "Pipelines", To: "/pipelines"}, own},
	{ui.Link{Text: "Schedules", To: "/schedules"}, look}, {ui.Link{Text: "Triggers", To: "/triggers"}, look}, {ui.Link{Text: "Starts", To: "/starts"}, look}, {ui.Link{Text: "Health", To: "/doctor"}, look}, {ui.Link{Text: "Access", To: "/access"}, admin},
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

func writePage(w http.ResponseWriter, r *http.Request, status int, page ui.Page) error {
	content, err := ui.Render(page)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	if _, signsIn := page.Body.(ui.Login); !signsIn && compressesPage(r) {
		sendCompressed(w, r, status, content)
		return nil
	}
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
func (s *Server) refusePage(w http.ResponseWriter, r *http.Request, p *remote.Problem, token landscape.AccessToken) {
	page := ui.Page{Title: http.StatusText(p.Status), Who: token.Name, Nav: navigation(token), Body: ui.Problem{Status: p.Status, Code: p.Code, Detail: p.Detail}}
	if p.Status == http.StatusUnauthorized {
		page.Title = "Sign in"
		why := p.Detail
		if p.Code == noToken {
			why = ""
		}
		to := r.URL.RequestURI()
		if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/login") {
			to = "/"
		}
		page.Who, page.Body = "", s.loginBody(to, why)
	}
	if err := writePage(w, r, p.Status, page); err != nil {
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

	homeSlots   = 50             // failed slots
	homeRefused = 10             // refused starts
	refusedFor  = 24 * time.Hour // how long they are shown
)

func homePage(c *call) (any, error) {
	home, err := shared(c, "home", homeOf)
	if err != nil {
		return nil, err
	}
	return ui.Page{
		Title: "Home", Command: "waymark runs", Path: "/v1/runs", Body: *home, Refresh: len(home.Going) > 0,
	}, nil
}

// homeOf is what the caller sees of the newest runs.
func homeOf(c *call) (*ui.Home, error) {
	home := &ui.Home{}
	looked := map[string]bool{}
	next, err := c.server.Home.RunsAfter(c.Context(), "", func(run *client.Run) (bool, error) {
		if !c.sees(run.Pipeline, run.Actor, run.Trigger) {
			return true, nil
		}
		run.Reason = landscape.WithoutValues(run.Reason)
		home.Looked++
		looked[run.ID] = true
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
	if err == nil {
		err = c.addFailedSlots(home, looked)
	}
	if err == nil {
		err = c.addRefused(home, looked)
	}
	return home, err
}

// addFailedSlots adds the failed slots of schedules that are there still; those of runs that were looked at are left out: they are shown as runs.
func (c *call) addFailedSlots(home *ui.Home, looked map[string]bool) error {
	failed, err := c.server.Home.FailedSlots(c.Context(), homeSlots)
	for _, slot := range failed {
		if parts := strings.Split(slot.Schedule, "/"); len(parts) > 1 && c.token.Sees(parts[1]) && !looked[slot.Run] {
			slot.Reason = landscape.WithoutValues(slot.Reason)
			home.Slots = append(home.Slots, slot)
		}
	}
	return err
}

// addRefused adds the newest refused starts.
func (c *call) addRefused(home *ui.Home, looked map[string]bool) error {
	refused, err := c.server.Home.Starts(c.Context(), landscape.StartRefused, "", homeRefused)
	since := time.Now().Add(-refusedFor)
	for _, start := range refused {
		if start.Accepted.Time().After(since) && c.sees(start.Pipeline, start.Actor, start.Trigger) && !looked[start.Run] {
			start.Reason = landscape.WithoutValues(start.Reason)
			home.Refused = append(home.Refused, start)
		}
	}
	return err
}

func runsPage(c *call) (any, error) {
	page, err := shared(c, "page of runs", (*call).pageOfRuns)
	if err != nil {
		return nil, err
	}
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

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// asWord writes a text as a word of a command for a shell.
func asWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func findPage(c *call) (any, error) {
	body := ui.Find{Word: c.query.Get("q"), Run: c.query.Get("run"), MayRead: c.token.Has(allowed[read]...)}
	command := ""
	if body.Word != "" {
		command = "waymark find " + asWord(body.Word)
		if body.Run != "" {
			command += " --run " + asWord(body.Run)
		}
		answer, err := find(c)
		if err != nil {
			return nil, err
		}
		result := answer.(client.LookupResult) //nolint:forcetypeassert // as find says
		body.Found, body.Unsearched = result.Items, result.Unsearched
	}
	return ui.Page{Title: "Find", Crumbs: []ui.Link{{Text: "Find"}}, Command: command, Path: "/v1/find?" + c.URL.RawQuery, Body: body}, nil
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
	sendCompressed(c.w, c.Request, http.StatusOK, all[at].Content)
	return nil, nil
}
