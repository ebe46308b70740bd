package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/landscape"
)

// Effect is the completion record of one part of a sink's output, or of its publication.
type Effect struct {
	ID       string                `json:"effect"` // SINK/SOURCE:CHUNK, or SINK for a publication
	Sink     string                `json:"sink"`
	Source   string                `json:"source,omitempty"` // or barrier, whose chunk it is; empty for a publication
	Chunk    *int64                `json:"chunk,omitempty"`
	State    landscape.EffectState `json:"state"`
	Attempts int64                 `json:"attempts"`
	Rows     int64                 `json:"rows"`
	Bytes    int64                 `json:"bytes"`
	Changed  Time                  `json:"changed"`
	Last     *EffectEvent          `json:"last_event,omitempty"`
	Events   []EffectEvent         `json:"events,omitempty"` // in order
}

// EffectEvent is one thing that happened to an effect.
type EffectEvent struct {
	Event   landscape.EffectWord `json:"event"`
	Attempt int64                `json:"attempt"`
	Worker  string               `json:"worker"`
	At      Time                 `json:"at"`
	Detail  string               `json:"detail,omitempty"`
}

// Effects returns effects of the run with this id by sink: first the publication, then the parts by source and chunk. They begin
// after the effect whose ID is after, or with the first if that is empty, and are at most as many as limit says, or all if that is 0 or
// less. Without events only the last event of each is returned. The error is an *Error of kind Invalid if after is no effect's name, and
// of kind NotFound if the run has no such effect.
func (c *Client) Effects(ctx context.Context, run, after string, limit int, events bool) (list []Effect, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return nil, err
	}
	var from *landscape.EffectKey
	if after != "" {
		key, err := parseEffect(run, after)
		if err != nil {
			return nil, err
		}
		if _, err := c.log.Effect(ctx, key); err != nil {
			return nil, noEffect(run, after, err)
		}
		from = &key
	}
	effects, all, err := c.log.EffectsAfter(ctx, run, from, limit)
	if err != nil {
		return nil, err
	}
	happened := map[landscape.EffectKey][]EffectEvent{}
	for _, e := range all {
		happened[e.EffectKey] = append(happened[e.EffectKey], EffectEvent{e.Event, e.Fence, e.Worker, Time(e.At), e.Detail})
	}
	list = make([]Effect, len(effects))
	for i, e := range effects {
		list[i] = effectOf(e, happened[e.EffectKey])
		if !events {
			list[i].Events = nil
		}
	}
	return list, nil
}

func effectOf(e landscape.Effect, events []EffectEvent) Effect {
	slices.SortStableFunc(events, func(a, b EffectEvent) int { return cmp.Compare(a.At, b.At) })
	effect := Effect{
		ID: effectID(e.EffectKey), Sink: e.Sink, Source: e.Source, State: e.State, Attempts: e.Fence, Rows: e.Rows, Bytes: e.Bytes,
		Changed: Time(e.Changed), Events: events,
	}
	if e.Kind == landscape.WriteEffect {
		effect.Chunk = &e.Chunk
	}
	if len(events) > 0 {
		effect.Last = &events[len(events)-1]
	}
	return effect
}

func effectID(key landscape.EffectKey) string {
	if key.Chunk < 0 {
		return key.Sink
	}
	return fmt.Sprintf("%s/%s:%d", key.Sink, key.Source, key.Chunk)
}

// Resolved is what became of a decision about an effect.
type Resolved struct {
	Advice       // what can be done with the run then
	Changed bool // else the same had been said already
}

// Resolve records what a person found out about a blocked effect of a run, and returns what can be done with the run then: id names the
// effect, applied says whether its target has what was to be written. Saying the same again changes nothing. The error is an *Error:
// of kind Invalid if id is no effect's name or by.Why is empty, of kind NotFound if the run has no such effect, of kind Conflict if the effect is not blocked,
// or was resolved otherwise.
func (c *Client) Resolve(ctx context.Context, run landscape.Run, id string, applied bool, by By) (done Resolved, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return done, err
	}
	if run, err = c.recorded(ctx, run.ID); err != nil {
		return done, err
	}
	key, err := parseEffect(run.ID, id)
	if err != nil {
		return done, err
	}
	effect, err := c.log.Effect(ctx, key)
	if err == nil {
		err = c.log.Resolve(ctx, key, applied, by.or(c.Actor).Actor, by.Why)
	}
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return done, noEffect(run.ID, id, err)
	case errors.As(err, new(*landscape.NeedsOrderError)):
		return done, err
	case err != nil:
		return done, &Error{Kind: Conflict, Code: EffectNotBlocked, Message: err.Error(), Err: err}
	}
	done.Changed = effect.State == landscape.Blocked
	done.Advice, err = c.advice(ctx, run)
	return done, err
}

// Effect returns the effect of a run that id names, as Resolve takes it. The error is an *Error: of kind Invalid if id can name none, of kind NotFound if the run has none.
func (c *Client) Effect(ctx context.Context, run, id string) (effect landscape.Effect, err error) {
	defer c.edge(ctx, &err)
	key, err := parseEffect(run, id)
	if err == nil {
		effect, err = c.log.Effect(ctx, key)
	}
	return effect, noEffect(run, id, err)
}

// noEffect returns err, or that the run has no such effect if err says so.
func noEffect(run, id string, err error) error {
	if !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	return &Error{Kind: NotFound, Code: EffectNotFound, Message: fmt.Sprintf("run %s has no effect %q", run, id), Cure: ListEffects, Run: run, Err: err}
}

// parseEffect returns the key of the effect of a run that id names. The error is an *Error of kind Invalid.
func parseEffect(run, id string) (landscape.EffectKey, error) {
	sink, part, isPart := strings.Cut(id, "/")
	if !isPart {
		return landscape.PublishKey(run, sink), nil
	}
	colon := strings.LastIndexByte(part, ':')
	chunk, err := strconv.ParseInt(part[colon+1:], 10, 64)
	if colon < 1 || err != nil || chunk < 0 || sink == "" {
		return landscape.EffectKey{}, &Error{
			Kind: Invalid, Code: InvalidEffect, Cure: ListEffects, Run: run,
			Message: fmt.Sprintf("%q is no effect: write SINK/SOURCE:CHUNK, or SINK for its publication", id),
		}
	}
	return landscape.EffectKey{Run: run, Sink: sink, Source: part[:colon], Chunk: chunk}, nil
}
