package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/landscape"
)

// effectStatus is the completion record of one part of a sink's output, or of its publication.
type effectStatus struct {
	Effect   string                `json:"effect"` // its id, as waymark resolve takes it
	Sink     string                `json:"sink"`
	Source   string                `json:"source,omitempty"` // or barrier, whose chunk it is; empty for a publication
	Chunk    *int64                `json:"chunk,omitempty"`
	State    landscape.EffectState `json:"state"`
	Attempts int64                 `json:"attempts"`
	Rows     int64                 `json:"rows"`
	Bytes    int64                 `json:"bytes"`
	Changed  *string               `json:"changed"`
	Last     *effectEvent          `json:"last_event,omitempty"`
	Events   []effectEvent         `json:"events,omitempty"`
}

// effectEvent is one thing that happened to an effect.
type effectEvent struct {
	Event   landscape.EffectWord `json:"event"`
	Attempt int64                `json:"attempt"`
	Worker  string               `json:"worker"`
	At      *string              `json:"at"`
	Detail  string               `json:"detail,omitempty"`

	at landscape.Micros
}

func (a *app) effectsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "effects RUN",
		Short: "Show the completion record of every part of every output",
		Long: `Shows what is on record of every write to a sink and of every publication: SINK/SOURCE:CHUNK is the part of a sink's
output that one chunk brought, SINK the publication of the whole output.

prepared   it is known what will be written
in_flight  an attempt was begun, and may have reached the target
finalized  the target confirmed it
blocked    the target cannot tell whether an attempt reached it: look there, and tell with waymark resolve
reserved   a publication that has not come yet

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], func(r *record, run landscape.Run) error {
				effects, err := r.effects(cmd.Context(), run.ID, all)
				if err != nil {
					return err
				}
				return printList(a, effects, func(w io.Writer) error { return writeEffects(w, effects) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every event of every effect, not only the last one")
	return cmd
}

// effectID is how people name an effect within its run.
func effectID(key landscape.EffectKey) string {
	if key.Chunk < 0 {
		return key.Sink
	}
	return fmt.Sprintf("%s/%s:%d", key.Sink, key.Source, key.Chunk)
}

// parseEffect returns the key that an id names.
func parseEffect(run, id string) (landscape.EffectKey, error) {
	sink, part, isPart := strings.Cut(id, "/")
	if !isPart {
		return landscape.PublishKey(run, sink), nil
	}
	colon := strings.LastIndexByte(part, ':')
	chunk, err := strconv.ParseInt(part[colon+1:], 10, 64)
	if colon < 1 || err != nil || chunk < 0 || sink == "" {
		return landscape.EffectKey{}, wrongUsef("%q is no effect: write SINK/SOURCE:CHUNK, or SINK for its publication; waymark effects lists them", id)
	}
	return landscape.EffectKey{Run: run, Sink: sink, Source: part[:colon], Chunk: chunk}, nil
}

// effects returns the effects of a run by sink: the parts in the order of their places, then the publication. Those that have
// no place yet come after those that have, by source and chunk.
func (r *record) effects(ctx context.Context, run string, all bool) ([]effectStatus, error) {
	effects, err := r.log.Effects(ctx, run)
	if err != nil {
		return nil, err
	}
	events, err := r.log.EffectEvents(ctx, run)
	if err != nil {
		return nil, err
	}
	happened := map[landscape.EffectKey][]effectEvent{}
	for _, e := range events {
		happened[e.EffectKey] = append(happened[e.EffectKey], effectEvent{e.Event, e.Fence, e.Worker, stamp(e.At), e.Detail, e.At})
	}
	slices.SortStableFunc(effects, byPlace)
	list := make([]effectStatus, len(effects))
	for i, e := range effects {
		list[i] = statusOf(e, happened[e.EffectKey], all)
	}
	return list, nil
}

func byPlace(a, b landscape.Effect) int {
	last := int64(1) << 62
	place := func(e landscape.Effect) int64 {
		switch {
		case e.Kind == landscape.PublishEffect:
			return last + 1
		case e.Ordinal == nil:
			return last
		}
		return *e.Ordinal
	}
	return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(place(a), place(b)))
}

func statusOf(e landscape.Effect, events []effectEvent, all bool) effectStatus {
	s := effectStatus{
		Effect: effectID(e.EffectKey), Sink: e.Sink, Source: e.Source, State: e.State, Attempts: e.Fence, Rows: e.Rows, Bytes: e.Bytes,
		Changed: stamp(e.Changed),
	}
	if e.Kind == landscape.WriteEffect {
		s.Chunk = &e.Chunk
	}
	slices.SortStableFunc(events, func(a, b effectEvent) int { return cmp.Compare(a.at, b.at) })
	if len(events) > 0 {
		s.Last = &events[len(events)-1]
	}
	if all {
		s.Events = events
	}
	return s
}

func writeEffects(w io.Writer, effects []effectStatus) error {
	lines := [][]string{{"effect", "state", "attempts", "rows", "bytes", "last event"}}
	for _, e := range effects {
		lines = append(lines, []string{e.Effect, string(e.State), grouped(e.Attempts), grouped(e.Rows), grouped(e.Bytes), e.Last.text()})
		for i := range e.Events {
			lines = append(lines, []string{"", "", fmt.Sprintf("  %d", e.Events[i].Attempt), "", "", e.Events[i].text()})
		}
	}
	return table(w, lines...)
}

// mostDetail bounds the detail of an event in a table, in characters.
const mostDetail = 120

// text says for people what happened, when, and who did it.
func (e *effectEvent) text() string {
	if e == nil {
		return "-"
	}
	text := fmt.Sprintf("%s %s by %s", moment(e.at), e.Event, e.Worker)
	if detail := []rune(e.Detail); e.Event != landscape.EffectFinalized && len(detail) > 0 { // a receipt is for machines
		if len(detail) > mostDetail {
			detail = append(detail[:mostDetail], '…')
		}
		text += ": " + string(detail)
	}
	return text
}
