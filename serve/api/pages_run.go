package api

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"waymark/audit/compare"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/serve/ui"
)

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
	found, err := pageOfRun(c)
	if isMissing(err) {
		return unbegunPage(c)
	}
	if err != nil {
		return nil, err
	}
	run, body := found.Run, found.body
	body.MayRead = c.token.Has(allowed[read]...)
	if c.token.Has(allowed[order]...) {
		body.Orders = ordersFor(body.RunReport)
	}
	if body.MayCompare = c.token.Has(allowed[look]...) && client.Complete(body.Run.Status); !body.MayCompare {
		body.Earlier = ""
	}
	page := statusPage(body)
	page.Crumbs, page.SQL = crumbs(run), "select * from run_summary where run_id = '"+run.ID+"'"
	page.Refresh = body.Run.Status == pipeline.Running && !body.Dead()
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
	page := statusPage(ui.Run{RunReport: report})
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
func ordersFor(report *client.RunReport) []ui.Order {
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
	if !report.Advice.Resumes() {
		return []ui.Order{ending}
	}
	return []ui.Order{resuming, ending}
}

func rowsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	page, err := rowsOf(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	body := ui.Rows{Run: run, Rows: page.Items, Next: c.next(page.Next), Of: "all of the run", Count: -1, MayRead: c.token.Has(allowed[read]...), At: c.asOf(run)}
	command := "waymark rows " + run.ID
	node, edge, sink := c.query.Get("node"), c.query.Get("edge"), c.query.Get("sink")
	switch {
	case node != "":
		body.Of, command = "at "+node, command+" --node "+asWord(node)
	case edge != "":
		body.Of, command = along(edge), command+" --edge "+asWord(edge)
	case sink != "":
		body.Of, command = "in "+sink, command+" --sink "+asWord(sink)
	}
	if body.Count, err = c.rowsBehind(run, node, edge, sink); err != nil {
		return ui.Page{}, err
	}
	if body.At.Known() {
		command += " --at " + sinceBegun(run, body.At)
	}
	return ui.Page{
		Title: "Rows " + body.Of, Crumbs: crumbs(run, "rows "+body.Of), Command: command, Path: "/v1" + c.URL.RequestURI(), Body: body,
	}, nil
}

// rowsBehind is how many rows came to a node, took an edge, or are in a sink, as of the moment that the query names; -1 if none of these is named.
func (c *call) rowsBehind(run landscape.Run, node, edge, sink string) (int64, error) {
	if node+edge+sink == "" {
		return -1, nil
	}
	edges, sinks, err := c.behind(run, sink != "")
	switch {
	case err != nil:
		return 0, err
	case node != "":
		return ui.Came(edges, node), nil
	case edge != "":
		return client.RowsOn(edges, edge), nil
	}
	at := slices.IndexFunc(sinks, func(s client.Sink) bool { return s.Sink == sink })
	if at < 0 {
		return 0, nil
	}
	return sinks[at].Finalized, nil
}

// behind returns the edges of a run, or its sinks, as of the moment that the query names.
func (c *call) behind(run landscape.Run, sinks bool) ([]client.Edge, []client.Sink, error) {
	if c.asOf(run).Known() {
		past, err := c.server.Home.Past(c.Context(), run.ID, c.asOf(run))
		if err != nil {
			return nil, nil, err
		}
		return past.Edges, past.Sinks, nil
	}
	if !sinks {
		edges, err := c.server.Home.Edges(c.Context(), run.ID)
		return edges, nil, err
	}
	status, err := c.server.Home.Counts(c.Context(), run.ID)
	if err != nil {
		return nil, nil, err
	}
	return nil, status.Sinks, nil
}

// along says in words which edges an id selects.
func along(edge string) string {
	if path, ok := strings.CutPrefix(edge, "::"); ok {
		return "ended as " + ui.Words(path)
	}
	return "on " + edge
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

func timelinePage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	found, err := timeline(ctx, c, run)
	return ui.Page{
		Title: "Timeline", Crumbs: crumbs(run, "timeline"), Command: "waymark timeline " + run.ID, Path: "/v1" + c.URL.EscapedPath(), Body: ui.Timeline{Timeline: found, MayRead: c.token.Has(allowed[read]...)},
		SQL: "select source, chunk, started_us, finished_us, worker from passages where run_id = '" + run.ID + "'", Refresh: run.Status == pipeline.Running,
	}, err
}

// asOf is the moment of a run that a query names; unknown if it names none.
func (c *call) asOf(run landscape.Run) client.Time {
	if !c.query.Has("at") {
		return 0
	}
	since, _ := strconv.ParseInt(c.query.Get("at"), 10, 64) // readQuery refused other words
	return client.Time(run.Started) + client.Time(min(since, mostSince))
}

// sinceBegun writes a moment of a run as commands take it.
func sinceBegun(run landscape.Run, at client.Time) string {
	return at.Time().Sub(run.Started.Time()).String()
}

// mostSince is how many microseconds after its beginning a run is looked at at most: a hundred years.
const mostSince = 100 * 366 * 24 * 3600 * 1_000_000

// pastOf returns the run as it stood at the moment that the query names.
func pastOf(ctx context.Context, c *call, run landscape.Run) (*client.Past, error) {
	past, err := c.server.Home.Past(ctx, run.ID, c.asOf(run))
	if err != nil {
		return nil, err
	}
	past.Reason = landscape.WithoutValues(past.Reason)
	for i := range past.Marks {
		past.Marks[i].Why = landscape.WithoutValues(past.Marks[i].Why)
	}
	return past, nil
}

func pastPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	past, err := pastOf(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	times, err := timeline(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	at := strconv.FormatInt(int64(past.At), 10)
	return ui.Page{
		Title: run.Pipeline + " as it stood", Crumbs: crumbs(run, "as it stood"), Command: "waymark status " + run.ID + " --at " + sinceBegun(run, past.At), Path: "/v1" + ui.PastPath(run.ID, past.Begun, past.At),
		SQL:  "select sum(rows) from chunks where run_id = '" + run.ID + "' and read_us <= " + at,
		Body: ui.Past{Past: past, Figures: ui.FiguresOf(past.Status, past.Edges, past.At), Rates: ui.Timeline{Timeline: times}.Rates()},
	}, nil
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

func comparedRowsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	page, err := comparedRows(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	found, err := compareRuns(ctx, c, run)
	if err != nil {
		return ui.Page{}, err
	}
	command := "waymark compare " + found.Was.ID + " " + run.ID + " --rows"
	for _, name := range []string{"from", "to", "node", "kind"} {
		if value := c.query.Get(name); value != "" {
			command += " --" + name + " " + asWord(value)
		}
	}
	filter := c.comparedFilter()
	return ui.Page{
		Title: "Rows of two runs", Crumbs: crumbs(run, "compared rows"), Command: command, Path: "/v1" + c.URL.RequestURI(),
		Body: ui.Compared{
			Was: found.Was.ID, Is: run.ID, Of: becameOf(filter), Count: found.Count(filter), Rows: page.Items, Next: c.next(page.Next), MayRead: c.token.Has(allowed[read]...),
		},
	}, nil
}

// becameOf says in words what became of the rows that a filter selects, after the word rows.
func becameOf(f compare.Filter) string {
	var words []string
	if said := map[compare.Kind]string{
		compare.Flipped: "that ended elsewhere", compare.Refused: "that are refused now and passed before", compare.Changed: "that ended alike and had other values on the way",
	}[f.Kind]; said != "" {
		words = append(words, said)
	}
	if f.Node != "" {
		words = append(words, "that went apart at "+f.Node)
	}
	if f.From != "" {
		words = append(words, "that ended earlier in "+ui.Words(f.From))
	}
	if f.To != "" {
		words = append(words, "that end now in "+ui.Words(f.To))
	}
	if words == nil {
		return "that differ in anything"
	}
	return strings.Join(words, ", ")
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

func effectsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	page, err := effectsOf(ctx, c, run)
	body := ui.Effects{Run: run, Effects: page.Items, Next: c.next(page.Next), MayResolve: c.token.Has(allowed[order]...)}
	return ui.Page{Title: "Completion records", Crumbs: crumbs(run, "completion records"), Command: "waymark effects " + run.ID, Path: "/v1" + c.URL.EscapedPath(), Body: body}, err
}
