package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
)

func whoami(c *call) (any, error) { return client.AccessOf(c.token.AccessToken), nil }

func startsOfRun(c *call) (any, error) {
	list, err := c.server.Home.StartsOf(c.Context(), c.PathValue("run"))
	list = slices.DeleteFunc(list, func(s client.Start) bool { return !c.sees(s.Pipeline, s.Actor, s.Trigger) })
	if err == nil && len(list) == 0 {
		err = noRun(c.PathValue("run"))
	}
	return whole(list, err)
}

// whole is a list that has one page.
func whole[T any](items []T, err error) (remote.Page[T], error) {
	if items == nil {
		items = []T{}
	}
	return remote.Page[T]{Items: items}, err
}

func edgesOf(ctx context.Context, c *call, run landscape.Run) (remote.Page[client.Edge], error) {
	return whole(c.server.Home.Edges(ctx, run.ID))
}

// pageOf reads one page of a list that continues after the id of an item.
func pageOf[T any](c *call, place func(T) string, from func(after string, limit int) ([]T, error)) (remote.Page[T], error) {
	limit, after, err := c.asked()
	if err != nil {
		return remote.Page[T]{}, err
	}
	items, err := from(after, limit+1)
	return paged(c, items, limit, place), err
}

func rowsOf(ctx context.Context, c *call, run landscape.Run) (remote.Page[client.Row], error) {
	filter := client.RowFilter{Node: c.query.Get("node"), Edge: c.query.Get("edge"), Sink: c.query.Get("sink"), At: c.asOf(run)}
	return pageOf(c, func(row client.Row) string { return row.Token }, func(after string, limit int) ([]client.Row, error) {
		return c.server.Home.Rows(ctx, run.ID, filter, after, limit)
	})
}

// errorsOf leaves out what messages quote.
func errorsOf(ctx context.Context, c *call, run landscape.Run) (remote.Page[client.ErrorGroup], error) {
	groups, err := c.server.Home.Errors(ctx, run.ID)
	for i := range groups {
		groups[i].Message, groups[i].Values = landscape.WithoutValues(groups[i].Message), nil
		for k := range groups[i].Samples {
			groups[i].Samples[k].Message = landscape.WithoutValues(groups[i].Samples[k].Message)
		}
	}
	return whole(groups, err)
}

func rowErrorsOf(ctx context.Context, c *call, run landscape.Run) (remote.Page[client.RowError], error) {
	if err := c.disclose(run.ID, "errors", ""); err != nil {
		return remote.Page[client.RowError]{}, err
	}
	return pageOf(c, func(e client.RowError) string { return e.ID }, func(after string, limit int) ([]client.RowError, error) {
		return c.server.Home.RowErrors(ctx, run.ID, after, limit)
	})
}

func effectsOf(ctx context.Context, c *call, run landscape.Run) (remote.Page[client.Effect], error) {
	return pageOf(c, func(e client.Effect) string { return e.ID }, func(after string, limit int) ([]client.Effect, error) {
		effects, err := c.server.Home.Effects(ctx, run.ID, after, limit, false)
		for _, e := range effects {
			if e.Last != nil && e.Last.Event != landscape.EffectFinalized { // why it failed, which may quote a row
				e.Last.Detail = landscape.WithoutValues(e.Last.Detail)
			}
		}
		return effects, err
	})
}

// whatIf leaves out what a message quotes.
func whatIf(ctx context.Context, c *call, run landscape.Run) (*audit.Trial, error) {
	version, _ := strconv.ParseInt(c.query.Get("version"), 10, 64)
	if version == 0 {
		return nil, problem(http.StatusBadRequest, badQuery, "version is missing: which one is to be tried?")
	}
	return c.whatIf(ctx, run, client.WhatIfRequest{Version: version})
}

// whatIfDocument leaves out what a message quotes.
func whatIfDocument(ctx context.Context, c *call, run landscape.Run) (*audit.Trial, error) {
	var asked remote.WhatIfRequest
	if err := c.decode(&asked); err != nil {
		return nil, err
	}
	if asked.Document == "" {
		return nil, faulty("/document", "write the text of the document")
	}
	return c.whatIf(ctx, run, client.WhatIfRequest{Document: asked.Document, Params: asked.Params})
}

// whatIf tries something on a run. Its counts say of how many rows a condition is true that the caller chose, and so
// what values they have: it is a disclosure.
func (c *call) whatIf(ctx context.Context, run landscape.Run, asked client.WhatIfRequest) (*audit.Trial, error) {
	subject := "document"
	if asked.Version > 0 {
		subject = fmt.Sprintf("version %d", asked.Version)
	} else if document, _ := pipeline.Load(
		"document", []byte(asked.Document), pipeline.Environment{},
	); document != nil {
		if err := c.mayDeploy(document.Pipeline.Name); err != nil { // it is compiled with the secrets of that pipeline
			return nil, err
		}
	}
	if err := c.disclose(run.ID, "what_if", subject); err != nil {
		return nil, err
	}
	asked.Run = run.ID
	trial, err := c.server.Home.WhatIf(ctx, asked)
	if err == nil {
		trial.Stops = landscape.WithoutValues(trial.Stops)
	}
	return trial, err
}

// find finds what a word may mean, among what the caller sees.
func find(c *call) (any, error) {
	request := client.LookupRequest{Word: c.query.Get("q"), Guess: c.token.Has(allowed[read]...), Sees: func(run landscape.RunHead) bool { return c.sees(run.Pipeline, run.Actor, run.Trigger) }}
	if id := c.query.Get("run"); id != "" {
		run, err := c.recordOf(id)
		if err != nil {
			return nil, err
		}
		request.Run = run.ID
	}
	return c.server.Home.Lookup(c.Context(), request)
}

// timeline leaves out what reasons quote.
func timeline(ctx context.Context, c *call, run landscape.Run) (*client.Timeline, error) {
	found, err := c.server.Home.Timeline(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for i := range found.Marks {
		found.Marks[i].Why = landscape.WithoutValues(found.Marks[i].Why)
	}
	return found, nil
}

// compareRuns compares the run with another one that the caller sees, which came before it if nothing else is asked for.
func compareRuns(ctx context.Context, c *call, run landscape.Run) (*client.Comparison, error) {
	with, err := c.earlier()
	if err != nil {
		return nil, err
	}
	return c.server.Home.Compare(ctx, with, run.ID)
}

// earlier is the run with which another one is compared; empty if none is named. The error is that of a run which the caller does not see.
func (c *call) earlier() (string, error) {
	with := c.query.Get("with")
	if with == "" {
		return "", nil
	}
	_, err := c.recordOf(with)
	return with, err
}

// comparedRows lists rows that the run treated as an earlier one did, or otherwise.
func comparedRows(ctx context.Context, c *call, run landscape.Run) (remote.Page[compare.PairedRow], error) {
	with, err := c.earlier()
	if err != nil {
		return remote.Page[compare.PairedRow]{}, err
	}
	return pageOf(c, func(row compare.PairedRow) string { return row.Was }, func(after string, limit int) ([]compare.PairedRow, error) {
		return c.server.Home.ComparedRows(ctx, with, run.ID, c.comparedFilter(), after, limit)
	})
}

// comparedFilter is which rows of two runs the query selects.
func (c *call) comparedFilter() compare.Filter {
	return compare.Filter{From: c.query.Get("from"), To: c.query.Get("to"), Node: c.query.Get("node"), Kind: compare.Kind(c.query.Get("kind"))}
}

// explain tells what happened to one row.
func explain(_ context.Context, c *call, run landscape.Run) (*audit.Explanation, error) {
	story, err := c.story(run)
	if err != nil {
		return nil, err
	}
	return story, c.disclose(run.ID, "explain", story.Token) // not what was asked for: that may be a value
}

// story is what happened to the row that is asked for, as far as the caller sees the pipelines before and after it.
func (c *call) story(run landscape.Run) (*audit.Explanation, error) {
	asked, err := c.question(run.ID)
	if err != nil {
		return nil, err
	}
	story, err := c.server.Home.Explain(c.Context(), asked)
	if err != nil {
		return nil, err
	}
	if from := story.Upstream; from != nil && !c.token.Sees(from.Pipeline) {
		story.Upstream = nil
	}
	story.Downstream = slices.DeleteFunc(story.Downstream, func(read audit.DownstreamRow) bool {
		return !c.token.Sees(read.Pipeline)
	})
	return story, nil
}

// whyNot tells what kept one row out of a sink.
func whyNot(ctx context.Context, c *call, run landscape.Run) (*audit.Denial, error) {
	asked, err := c.question(run.ID)
	if err != nil {
		return nil, err
	}
	sink := c.query.Get("not_in")
	if sink == "" {
		return nil, problem(http.StatusBadRequest, badQuery, "not_in is missing: in which sink is the row not?")
	}
	denial, err := c.server.Home.WhyNot(ctx, asked, sink)
	if err != nil {
		return nil, err
	}
	return denial, c.disclose(run.ID, "why_not", denial.Token)
}

// question reads which row is asked for.
func (c *call) question(run string) (audit.Question, error) {
	q := audit.Question{Run: run, Source: c.query.Get("source"), Token: c.query.Get("token"), Sink: c.query.Get("sink")}
	q.Row, _ = strconv.ParseInt(c.query.Get("row"), 10, 64)
	q.Line, _ = strconv.ParseInt(c.query.Get("line"), 10, 64)
	for _, pair := range c.query["key"] {
		field, value, found := strings.Cut(pair, "=")
		if !found {
			return q, problem(http.StatusBadRequest, badQuery, fmt.Sprintf("key %.64q is not FIELD=VALUE", pair))
		}
		if q.Key == nil {
			q.Key = map[string]string{}
		}
		q.Key[field] = value
	}
	return q, nil
}

func starts(c *call) (any, error) {
	from := func(after string, limit int) ([]client.Start, error) {
		return c.server.Home.Starts(c.Context(), landscape.StartState(c.query.Get("state")), after, limit)
	}
	sees := func(s client.Start) (bool, error) { return c.token.Sees(s.Pipeline), nil }
	return seenOf(c, func(s client.Start) string { return s.ID }, from, sees)
}

// mostSought is at how many items of a list a request looks at most, for those that the caller sees.
const mostSought = 10 * mostItems

// seenOf reads one page of the items of a list that the caller sees: it reads on until the page is full, or it looked
// at mostSought items. Then the page has a next, though it may be empty.
func seenOf[T any](
	c *call, place func(T) string, from func(after string, limit int) ([]T, error), sees func(T) (bool, error),
) (page remote.Page[T], err error) {
	limit, after, err := c.asked()
	if err != nil {
		return page, err
	}
	page.Items = []T{}
	size := limit + 1
	for looked := 0; looked < mostSought; looked += size {
		if looked > 0 {
			size = mostItems
		}
		batch, err := from(after, size)
		if err != nil {
			return page, err
		}
		for _, item := range batch {
			seen, err := sees(item)
			switch {
			case err != nil:
				return page, err
			case seen && len(page.Items) == limit:
				page.Next = c.cursor(place(page.Items[limit-1]))
				return page, nil
			case seen:
				page.Items = append(page.Items, item)
			}
			after = place(item)
		}
		if len(batch) < size {
			return page, nil
		}
	}
	page.Next = c.cursor(after)
	return page, nil
}

// queue asks Temporal about the runs that may begin, for all who look.
func queue(c *call) (any, error) {
	return shared(c, "queue", func(c *call) (remote.Page[client.Waiting], error) {
		list, err := c.server.Home.Queue(c.Context())
		return whole(slices.DeleteFunc(list, func(w client.Waiting) bool { return !c.token.Sees(w.Pipeline) }), err)
	})
}

// errEnough ends a look at the outbox.
var errEnough = errors.New("that is enough")

// events returns what happened after a position.
func events(c *call) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	after, _ := strconv.ParseInt(c.query.Get("after"), 10, 64)
	page := remote.Page[client.OutboxEvent]{Items: []client.OutboxEvent{}}
	_, err = c.server.Home.Outbox(c.Context(), c.outbox(after), func(e client.OutboxEvent) error {
		if !c.token.Sees(e.About.Pipeline) {
			return nil
		}
		if len(page.Items) == limit {
			page.Next = strconv.FormatInt(page.Items[limit-1].Position, 10)
			return errEnough
		}
		page.Items = append(page.Items, e)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return page, err
}

func (c *call) outbox(after int64) client.OutboxFilter {
	filter := client.OutboxFilter{After: after}
	for _, kind := range c.query["type"] {
		filter.Kinds = append(filter.Kinds, landscape.EventKind(kind))
	}
	return filter
}

// outboxPause is how often a stream looks for new events.
const outboxPause = time.Second / 2

// streamEvents streams what happens after a position.
func streamEvents(c *call) (any, error) {
	word := c.query.Get("after")
	if last := c.Header.Get("Last-Event-ID"); last != "" {
		word = last
	}
	after, err := strconv.ParseInt(word, 10, 64)
	if word != "" && (err != nil || after < 0) {
		return nil, problem(http.StatusBadRequest, badQuery, "Last-Event-ID is no position of an event")
	}
	if _, err := c.server.Home.Outbox(c.Context(), c.outbox(1<<62), func(client.OutboxEvent) error { return nil }); err != nil {
		return nil, err // of a type that there is not, before the stream begins
	}
	stream, err := c.stream()
	if err != nil {
		return nil, err
	}
	var seen client.Happened
	for first := true; ; first = false {
		now, err := recent(c, "happened lately", outboxPause/2, happened) // one look for all streams
		if err == nil && (first || now.Waiting > 0 || now != seen) {
			_, err = c.server.Home.Outbox(c.Context(), c.outbox(after), func(e client.OutboxEvent) error {
				after = e.Position
				if !c.token.Sees(e.About.Pipeline) {
					return nil
				}
				return stream.send(strconv.FormatInt(e.Position, 10), string(e.Type), e)
			})
		}
		if err != nil {
			return nil, err
		}
		seen = now
		if more, err := stream.pause(outboxPause); !more {
			return nil, err
		}
	}
}
