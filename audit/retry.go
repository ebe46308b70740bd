package audit

import (
	"context"
	"errors"
	"fmt"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// RetryOf is the record of an earlier run that a record is: it was rejected there, and retried.
type RetryOf struct {
	Run     string     `json:"run"`
	Token   string     `json:"token"`
	Node    string     `json:"node,omitempty"` // that rejected it
	Refused *Rejection `json:"refused,omitempty"`
}

// RetriedBy is the record of a later run that retries a rejected record.
type RetriedBy struct {
	Run    string `json:"run"`
	Status string `json:"status"`
	Token  string `json:"token"`
	Ends   []End  `json:"ends"` // of all tokens that the record has there; empty if it did not go through the steps yet
}

// End is how a token ended.
type End struct {
	Token   string `json:"token"`
	Way     string `json:"way"`
	Outcome string `json:"outcome"`
	Path    string `json:"path"`
	Sink    string `json:"sink,omitempty"` // that got it
}

// retries tells which record of an earlier run the record is, and by which run it is retried, if that is so.
func (i *explaining) retries(ctx context.Context) error {
	if i.chunk.Fold != nil {
		return nil // rows that came out of a barrier are not retried
	}
	if err := i.former(ctx); err != nil {
		return err
	}
	return i.later(ctx)
}

// former fills in which record of an earlier run the record is.
func (i *explaining) former(ctx context.Context) error {
	if i.run.Link != landscape.RetryLink {
		return nil
	}
	list, found, err := i.retryList(ctx, i.run.ID, i.asked.Source)
	if err != nil || !found {
		return err
	}
	_, row, found := list.Was(i.asked.Row)
	if !found {
		return fmt.Errorf("%w: row %d of %s is not on the list of those that are retried", landscape.ErrIncomplete, i.asked.Row, i.asked.Source)
	}
	was := &RetryOf{Run: list.Parent, Token: fmt.Sprintf("%s:%d", list.Source, row)}
	i.explanation.Was = was
	lanes, err := i.log.Lanes(ctx, list.Parent)
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		if lane.Source != list.Source || was.Refused != nil {
			continue
		}
		refusals, err := i.log.ErrorsOf(ctx, list.Parent, landscape.Token{Source: list.Source, Lane: lane.Lane, Row: row})
		if err != nil {
			return err
		}
		for _, r := range refusals {
			was.Node, was.Refused = r.Node, &Rejection{Code: r.Code, Field: r.Field, Message: r.Message, SentTo: r.SentTo}
		}
	}
	return nil
}

// later fills in by which run the record is retried.
func (i *explaining) later(ctx context.Context) error {
	id, err := i.log.RetriedBy(ctx, i.run.ID, i.asked.Source, i.asked.Row)
	if err != nil || id == "" {
		return err
	}
	run, err := i.log.Run(ctx, id)
	if err != nil {
		return err
	}
	again := &RetriedBy{Run: id, Status: string(run.Status), Ends: []End{}}
	i.explanation.Again = again
	list, found, err := i.retryList(ctx, id, i.asked.Source)
	if err != nil || !found {
		return err
	}
	row := list.Is(i.asked.Row)
	again.Token = fmt.Sprintf("%s:%d", i.asked.Source, row)
	return i.ends(ctx, again, row)
}

// ends fills in what became of the record's tokens in the later run.
func (i *explaining) ends(ctx context.Context, again *RetriedBy, row int64) error {
	chunk, err := i.log.ChunkOf(ctx, again.Run, i.asked.Source, row)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil // not read yet
	}
	if err != nil {
		return err
	}
	routes, err := i.log.AllRoutes(ctx, again.Run, landscape.ChunkKey{Source: i.asked.Source, Chunk: chunk.Chunk})
	if errors.Is(err, landscape.ErrNotFound) {
		return nil // in flight
	}
	if err != nil {
		return err
	}
	for _, lane := range routes {
		way, err := lane.WayAt(int(row - chunk.FirstRow))
		if err != nil {
			return err
		}
		if way == nil {
			continue
		}
		end, err := i.endOf(ctx, again.Run, landscape.Token{Source: i.asked.Source, Lane: lane.Lane, Row: row}, *way)
		if err != nil {
			return err
		}
		again.Ends = append(again.Ends, end)
	}
	return nil
}

// endOf tells how a token of a run ended.
func (i *explaining) endOf(ctx context.Context, run string, token landscape.Token, way landscape.Way) (End, error) {
	id, err := i.log.TokenID(ctx, run, token)
	if err != nil {
		return End{}, err
	}
	end := End{Token: id, Way: way.Signature(), Outcome: string(way.Path.Outcome()), Path: string(way.Path)}
	late, err := i.log.LateRowError(ctx, run, token, way)
	switch {
	case late != nil:
		end.Outcome, end.Path = string(pipeline.Failure), string(pipeline.OnErrorRouted)
		end.Way += fmt.Sprintf("; %s refused it with %s", late.Node, late.Code)
	case way.ToSink():
		end.Sink = way.Sink
	}
	return end, err
}

// retryList returns the list of the records that a source of a run retries. A list whose payload is not to be had is none, and a
// note says so.
func (i *explaining) retryList(ctx context.Context, run, source string) (list recompute.RetryList, found bool, err error) {
	sources, err := i.log.Sources(ctx, run)
	if err != nil {
		return list, false, err
	}
	for _, origin := range sources {
		if origin.Source != source {
			continue
		}
		list, found, err = recompute.ReadRetryList(ctx, i.payloads, source, origin.Info)
		if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) {
			asked := i.token(i.asked.Lane)
			asked.Note = join(asked.Note, err.Error())
			return list, false, nil
		}
	}
	return list, found, err
}
