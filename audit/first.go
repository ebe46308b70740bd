package audit

import (
	"context"
	"errors"
	"slices"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/landscape"
)

// repetition is a token of the record that a deduplicate dropped.
type repetition struct {
	claim int // place of the deduplicate among what must be unique
	node  string
	lane  int64
}

// repetitions returns the tokens of the record that deduplicates dropped, as on record.
func (i *explaining) repetitions() []repetition {
	var list []repetition
	for _, t := range i.tokens {
		if t.way == nil {
			continue
		}
		for _, step := range t.way.Steps {
			if claim, ok := i.repeated(step); ok {
				list = append(list, repetition{claim, step.Node, step.Lane})
			}
		}
	}
	return list
}

// firsts gives the engine the duplicates, and notes which token came first with the key of each that a deduplicate dropped.
func (i *explaining) firsts(ctx context.Context, runner *engine.Runner, duplicates engine.Duplicates) error {
	i.first = map[landscape.Step]string{}
	i.in.Firsts = duplicates
	for _, dropped := range i.repetitions() {
		first, err := i.firstWith(ctx, runner, dropped, duplicates)
		if err != nil {
			return err
		}
		i.first[landscape.Step{Node: dropped.node, Lane: dropped.lane}] = first
	}
	return nil
}

// firstWith returns the id of the token that, as on record, came first with the key of a dropped one; "" if that is unknown:
// no other token did, or the chunk stops the run.
func (i *explaining) firstWith(ctx context.Context, runner *engine.Runner, dropped repetition, duplicates engine.Duplicates) (string, error) {
	token := landscape.Token{Source: i.asked.Source, Lane: dropped.lane, Row: i.asked.Row}
	first, err := i.log.FirstOf(ctx, i.run.ID, dropped.node, token)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return i.claimer(ctx, runner, dropped, token, duplicates)
	case errors.Is(err, landscape.ErrIncomplete), first == token:
		return "", nil
	case err != nil:
		return "", err
	}
	return i.id(first), nil
}

// claimer is firstWith for what an earlier release recorded: it entered the first token with each key into the claims.
func (i *explaining) claimer(ctx context.Context, runner *engine.Runner, dropped repetition, token landscape.Token, duplicates engine.Duplicates) (string, error) {
	values, err := runner.Values(*i.in, dropped.claim, duplicates)
	if _, stopped := errors.AsType[*engine.FailedError](err); stopped {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	at := slices.Index(values.Tokens, barrier.Token{Lane: int(token.Lane), Row: token.Row})
	if at < 0 {
		return "", nil
	}
	taken, _, err := i.log.Claimed(ctx, landscape.Claims{
		Run: i.run.ID, Node: values.Node, Field: values.Field, Hashes: values.Hashes[at : at+1], Tokens: []landscape.Token{token},
	})
	first, found := taken[token]
	if !found || first.Lane < 0 || first.Lane >= int64(len(i.lanes)) {
		return "", err
	}
	return i.id(first), nil
}
