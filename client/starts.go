package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/plugin"
	"waymark/plugin/webhook"
)

// Start is one time that somebody asked for a run, and what became of that.
type Start struct {
	ID          string               `json:"start"`                 // RUN/N; the others that asked for the run have another N
	Run         string               `json:"run"`                   // that was asked for; it is recorded only if State is begun
	Pipeline    string               `json:"pipeline"`              // its name, or that of the document's file
	Environment string               `json:"environment,omitempty"` // in which the pipeline is deployed; empty for a file
	State       landscape.StartState `json:"state"`
	Refusal     string               `json:"refusal,omitempty"` // type of the error for which it was refused
	Reason      string               `json:"reason,omitempty"`
	Accepted    Time                 `json:"accepted"`
	Decided     Time                 `json:"decided"` // when the state became what it is; null while it is accepted
	Actor       string               `json:"actor"`
	Trigger     string               `json:"trigger"`
	Why         string               `json:"why,omitempty"`
	Schedule    string               `json:"schedule,omitempty"`
	Slot        string               `json:"slot,omitempty"` // of time, that the run is about
	Workflow    string               `json:"workflow"`       // id of the workflow that somebody started for it; empty until Temporal, which was away, answers
	Params      json.RawMessage      `json:"params"`         // as they were given
	Rows        map[string]int64     `json:"rows,omitempty"` // how many rows came with it, by their sources

	rows []plugin.RequestRows
}

// SameRows reports whether these rows came with the start.
func (s *Start) SameRows(rows map[string][]json.RawMessage) bool {
	same := len(rows) == len(s.rows)
	for _, of := range s.rows {
		given, is := rows[of.Source]
		same = same && is && of.SHA256 == sumOf(webhook.JoinRows(given))
	}
	return same
}

// Joined returns the run whose result the start has, because the document says so; empty if it joined none.
func (s *Start) Joined() string { return admit.JoinedBy(s.Reason) }

func startOf(s landscape.Start) Start {
	if accepted(s) {
		s.Reason = awaitsTemporal
	}
	rows, _ := s.RequestRows() // the rest is good to know whatever they are
	var counts map[string]int64
	for _, of := range rows {
		if counts == nil {
			counts = map[string]int64{}
		}
		counts[of.Source] = of.Rows
	}
	return Start{
		ID: fmt.Sprintf("%s/%d", s.Run, s.Seq), Run: s.Run, Pipeline: s.Pipeline, Environment: s.Environment, State: s.State, Refusal: s.Refusal, Reason: s.Reason,
		Accepted: Time(s.Accepted), Decided: Time(s.Decided), Actor: s.Actor, Trigger: s.Trigger, Why: s.Why, Schedule: s.Schedule, Slot: s.Slot,
		Workflow: s.Workflow, Params: json.RawMessage(s.Params), Rows: counts, rows: rows,
	}
}

// Starts returns who asked for runs, the last first, also those of which no run came; it is empty, not nil, if nobody did. state is what became
// of them, empty for all. They begin after the start whose ID is after, or with the last if that is empty, and are at most as many as limit
// says, or all if that is 0 or less. The error is an *Error of kind Invalid if there is no such state, or after is no start on record.
func (c *Client) Starts(ctx context.Context, state landscape.StartState, after string, limit int) (list []Start, err error) {
	defer c.edge(ctx, &err)
	if err := landscape.CheckStartState(state); state != "" && err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	place, err := c.startPlace(ctx, after)
	if err != nil {
		return nil, err
	}
	starts, err := c.log.Starts(ctx, state, place, max(limit, 0))
	list = make([]Start, len(starts))
	for i, start := range starts {
		list[i] = startOf(start)
	}
	return list, err
}

// startPlace returns the place of the start with this id; nil for an empty one.
func (c *Client) startPlace(ctx context.Context, id string) (*landscape.StartPlace, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // nothing named is no error
	}
	run, n, _ := strings.Cut(id, "/")
	seq, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("%q is no start: write RUN/N, as the list has it", id), Err: err}
	}
	start, err := c.log.Start(ctx, run, seq)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("no start %q is recorded in %s", id, c.place), Err: err}
	}
	place := start.Place()
	return &place, err
}
