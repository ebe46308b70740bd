package remote

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"waymark/activities"
	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/landscape"
)

// Whoami returns for whom the access token is, and what it may.
func (c *Client) Whoami(ctx context.Context) (client.Access, error) {
	return ask[client.Access](ctx, c, get("/v1/whoami", nil))
}

// RunFilter says which runs somebody wants to see. Empty lists are all.
type RunFilter struct {
	Pipelines []string
	Statuses  []string
	Limit     int // at most so many; 0 for all
}

// Runs returns the runs that the caller sees, the newest first, without values in their reasons.
func (c *Client) Runs(ctx context.Context, f RunFilter) iter.Seq2[client.Run, error] {
	return list[client.Run](ctx, c, "/v1/runs", url.Values{"pipeline": f.Pipelines, "status": f.Statuses}, f.Limit)
}

// Find returns the run that word names, as client.Client.Find does, among those that the caller sees.
func (c *Client) Find(ctx context.Context, word string) (client.Run, error) {
	found, err := whole[client.Run](ctx, c, "/v1/runs", words("named", word))
	if err == nil && len(found) == 0 {
		err = &client.Error{Kind: client.NotFound, Code: client.RunNotFound, Message: "no run is recorded at " + c.String()}
	}
	if err != nil {
		return client.Run{}, err
	}
	return found[0], nil
}

// Run returns how the run with this id is. Of one that has not begun, Start says what became of the request, and the status is a word for that.
func (c *Client) Run(ctx context.Context, id string) (*client.RunReport, error) {
	return ask[*client.RunReport](ctx, c, get(path("runs", id), nil))
}

// StartsOf returns all times that somebody asked for the run, the first first.
func (c *Client) StartsOf(ctx context.Context, run string) ([]client.Start, error) {
	return whole[client.Start](ctx, c, path("runs", run, "starts"), nil)
}

// NewKey returns an Idempotency-Key that nobody has.
func NewKey() string { return uuid.NewString() }

// Start starts a run of a deployed pipeline, and returns what is known of it then: the Start of the report says what became of the request. key is the
// Idempotency-Key: up to 255 visible characters of ASCII, and for ever one run of the pipeline, whose id RunOf tells. However often the request is sent, by this Client or another, it is one
// run; again says that an earlier request had started it. The key is left empty if the request names the id of the Run itself; such a request is sent once.
//
// The error is a *client.Error of code AnswerLost, with the Run, if nobody knows whether it starts.
func (c *Client) Start(ctx context.Context, key string, r StartRequest) (_ *client.RunReport, again bool, err error) {
	if (key == "") == (r.Run == "") {
		return nil, false, &client.Error{Kind: client.Invalid, Code: client.InvalidRequest, Message: "a start has either a key or the id of its run"}
	}
	id := r.Run
	if key != "" {
		id = RunOf(r.Pipeline, key)
	}
	request := post("/v1/runs", id, r, key != "")
	if key != "" {
		request.header = http.Header{"Idempotency-Key": {key}}
	}
	c.fresh.Store(id, true)
	request.took = func(answer http.Header) { again = answer.Get("Idempotent-Replayed") == "true" }
	report, err := ask[*client.RunReport](ctx, c, request)
	if err != nil {
		c.fresh.Delete(id)
	}
	return report, again, err
}

// RunOf returns the id of the run of a pipeline, NAME or NAME@VERSION, that is started under an Idempotency-Key.
func RunOf(pipeline, key string) string {
	name, _, _ := strings.Cut(pipeline, "@")
	return activities.RunOfKey(name, key)
}

// Pause lets a run finish its work in flight, and then wait. changed is false if it is paused already, or a lost answer had said that it is now. why is not empty, as for all orders.
func (c *Client) Pause(ctx context.Context, run, why string) (changed bool, err error) {
	done, err := ask[Ordered](ctx, c, post(path("runs", run, "pause"), run, OrderRequest{why}, true))
	return done.Changed, err
}

// Cancel cancels a run, also one that has not begun. With final it can never be resumed, and what it staged is removed. changed is false if that is so already, or a lost answer had said that it is now.
func (c *Client) Cancel(ctx context.Context, run, why string, final bool) (Ordered, error) {
	return ask[Ordered](ctx, c, post(path("runs", run, "cancel"), run, CancelRequest{Why: why, Final: final}, true))
}

// Resume resumes a run where it left off, or lets a paused one continue, as Order of the answer says: then somebody executes it soon. It is sent once: the error
// is of code AnswerLost if nobody knows whether the server obeyed.
func (c *Client) Resume(ctx context.Context, run string, r ResumeRequest) (Ordered, error) {
	return ask[Ordered](ctx, c, post(path("runs", run, "resume"), run, r, false))
}

// Resolve says whether a blocked effect of a run was applied.
func (c *Client) Resolve(ctx context.Context, run string, r ResolveRequest) (Ordered, error) {
	return ask[Ordered](ctx, c, post(path("runs", run, "resolve"), run, r, true))
}

// Retry retries the rows of a run that are in quarantine, in a new, linked run. With an id of that Run in the request it can be looked for if the answer is lost: it is sent once.
func (c *Client) Retry(ctx context.Context, run string, r RetryRequest) (*client.Retry, error) {
	if r.Run != "" {
		c.fresh.Store(r.Run, true)
	}
	about := r.Run
	if about == "" {
		about = run
	}
	return ask[*client.Retry](ctx, c, post(path("runs", run, "retry"), about, r, false))
}

// Edges returns the edges of the run's graph, and how many rows took each.
func (c *Client) Edges(ctx context.Context, run string) ([]client.Edge, error) {
	return whole[client.Edge](ctx, c, path("runs", run, "edges"), nil)
}

// Rows returns the rows that a filter selects, without values, at most limit of them; 0 for all.
func (c *Client) Rows(ctx context.Context, run string, f client.RowFilter, limit int) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		at, err := c.asOf(ctx, run, f.At)
		if err != nil {
			yield(client.Row{}, err)
			return
		}
		list[client.Row](ctx, c, path("runs", run, "rows"), words("node", f.Node, "edge", f.Edge, "sink", f.Sink, "at", at), limit)(yield)
	}
}

// asOf is a moment of a run as the API takes it; empty if it is unknown, which is now.
func (c *Client) asOf(ctx context.Context, run string, at client.Time) (string, error) {
	if !at.Known() {
		return "", nil
	}
	report, err := c.Run(ctx, run)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(int64(max(at-report.Started, 0)), 10), nil
}

// Errors returns why rows of the run were refused, in groups. Texts and numbers that messages quote are left out.
func (c *Client) Errors(ctx context.Context, run string) ([]client.ErrorGroup, error) {
	return whole[client.ErrorGroup](ctx, c, path("runs", run, "errors"), nil)
}

// RowErrors returns why rows were refused, one by one, with the values that messages quote, at most limit of them; 0 for all. It is for the role auditor, and recorded.
func (c *Client) RowErrors(ctx context.Context, run string, limit int) iter.Seq2[client.RowError, error] {
	return list[client.RowError](ctx, c, path("runs", run, "errors", "rows"), nil, limit)
}

// Effects returns the completion record of each part of each output, with the last event of each, at most limit of them; 0 for all.
func (c *Client) Effects(ctx context.Context, run string, limit int) iter.Seq2[client.Effect, error] {
	return list[client.Effect](ctx, c, path("runs", run, "effects"), nil, limit)
}

// Timeline returns where the time of a run went.
func (c *Client) Timeline(ctx context.Context, run string) (*client.Timeline, error) {
	return ask[*client.Timeline](ctx, c, get(path("runs", run, "timeline"), nil))
}

// Past returns the run as it stood at a moment: as it stands now if that is unknown, or after its end.
func (c *Client) Past(ctx context.Context, run string, at client.Time) (*client.Past, error) {
	since, err := c.asOf(ctx, run, at)
	if err != nil {
		return nil, err
	}
	return ask[*client.Past](ctx, c, get(path("runs", run, "past"), words("at", since)))
}

// Compare compares a run with an earlier one; with the one before it of the same pipeline if was is empty.
func (c *Client) Compare(ctx context.Context, was, is string) (*client.Comparison, error) {
	return ask[*client.Comparison](ctx, c, get(path("runs", is, "compare"), words("with", was)))
}

// ComparedRows iterates over the rows of a run and an earlier one that a filter selects, by source and by their numbers in the earlier run; at most limit
// of them, or all if that is 0. was is as for Compare.
func (c *Client) ComparedRows(ctx context.Context, was, is string, f compare.Filter, limit int) iter.Seq2[compare.PairedRow, error] {
	return list[compare.PairedRow](ctx, c, path("runs", is, "compare", "rows"), words("with", was, "from", f.From, "to", f.To, "node", f.Node, "kind", string(f.Kind)), limit)
}

// WhatIf returns what another version of its pipeline would have done with the rows of a run. It is for the role
// auditor, and recorded.
func (c *Client) WhatIf(ctx context.Context, run string, version int64) (*audit.Trial, error) {
	return ask[*audit.Trial](ctx, c, get(path("runs", run, "what-if"), words("version", number(version))))
}

// WhatIfDocument returns what another document would have done with the rows of a run, with its lookup tables and the
// values of its environment. It is for who has the roles deployer and auditor, and recorded.
func (c *Client) WhatIfDocument(ctx context.Context, run string, r WhatIfRequest) (*audit.Trial, error) {
	return ask[*audit.Trial](ctx, c, post(path("runs", run, "what-if"), run, r, true))
}

// Explain returns what happened to the row that a question means, with its values. It is for the role auditor, and recorded. All and Limit of the question do not travel: the error is of kind
// Invalid if one is set.
func (c *Client) Explain(ctx context.Context, q audit.Question) (*audit.Explanation, error) {
	query, err := questionOf(q)
	if err != nil {
		return nil, err
	}
	return ask[*audit.Explanation](ctx, c, get(path("runs", q.Run, "explain"), query))
}

// WhyNot returns what kept the row that a question means, and all that came of it, out of a sink. It is for the role auditor, and recorded.
func (c *Client) WhyNot(ctx context.Context, q audit.Question, sink string) (*audit.Denial, error) {
	query, err := questionOf(q)
	if err != nil {
		return nil, err
	}
	query.Set("not_in", sink)
	return ask[*audit.Denial](ctx, c, get(path("runs", q.Run, "why-not"), query))
}

// questionOf is a question as the API takes it.
func questionOf(q audit.Question) (url.Values, error) {
	if q.All || q.Limit != 0 {
		return nil, invalid("the API explains a row with the first tokens of its batches and at most 1,000 of its descendants: All and Limit cannot be set")
	}
	query := words("source", q.Source, "row", number(q.Row), "token", q.Token, "sink", q.Sink, "line", number(q.Line))
	for field, value := range q.Key {
		query.Add("key", fmt.Sprintf("%s=%s", field, value))
	}
	slices.Sort(query["key"])
	return query, nil
}

// Starts returns who asked for runs, and what became of that, the last first, at most limit of them; 0 for all. An empty state is all of them.
func (c *Client) Starts(ctx context.Context, state landscape.StartState, limit int) iter.Seq2[client.Start, error] {
	return list[client.Start](ctx, c, "/v1/starts", words("state", string(state)), limit)
}

// Queue returns the runs that wait for places, in order.
func (c *Client) Queue(ctx context.Context) ([]client.Waiting, error) {
	return whole[client.Waiting](ctx, c, "/v1/queue", nil)
}

// Lookup returns what a word may mean, in one run or, if that is empty, in all that the caller sees, and where it was
// not looked for.
func (c *Client) Lookup(ctx context.Context, word, run string) (client.LookupResult, error) {
	return ask[client.LookupResult](ctx, c, get("/v1/find", words("q", word, "run", run)))
}
