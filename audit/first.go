package audit

import (
	"context"
	"errors"
	"slices"

	"waymark/engine"
	"waymark/landscape"
)

// repetition is a token of the record that a deduplicate dropped.
type repetition struct {
	engine.Claimed
	lane int64
}

// repetitions returns the tokens of the record that deduplicates dropped, as on record.
func (i *inquiry) repetitions() []repetition {
	var list []repetition
	for _, t := range i.tokens {
		if t.way == nil {
			continue
		}
		for _, step := range t.way.Steps {
			if claimed, is := i.repeated(step); is {
				list = append(list, repetition{claimed, step.Lane})
			}
		}
	}
	return list
}

// firsts notes which token came first with the key of each that a deduplicate dropped.
func (i *inquiry) firsts(ctx context.Context, runner *engine.Runner) error {
	i.first = map[landscape.Step]string{}
	for _, dropped := range i.repetitions() {
		first, err := i.firstWith(ctx, runner, dropped)
		if err != nil {
			return err
		}
		i.first[landscape.Step{Node: dropped.Node, Lane: dropped.lane}] = first
	}
	return nil
}

// firstWith returns the id of the token that, as on record, came first with the key of a dropped one; "" if that cannot be told:
// no other token did, or the chunk stops the run.
func (i *inquiry) firstWith(ctx context.Context, runner *engine.Runner, dropped repetition) (string, error) {
	values, err := runner.Values(*i.in, dropped.Claimed)
	if _, stopped := errors.AsType[*engine.FailedError](err); stopped {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	at := slices.Index(values.Spots, engine.Spot{Lane: int(dropped.lane), Index: i.index})
	if at < 0 {
		return "", nil
	}
	token := landscape.Token{Source: i.asked.Source, Lane: dropped.lane, Row: i.asked.Row}
	taken, _, err := i.log.Claimed(ctx, landscape.Claims{
		Run: i.run.ID, Node: dropped.Node, Field: dropped.Field, Hashes: values.Hashes[at : at+1], Tokens: []landscape.Token{token},
	})
	first, found := taken[token]
	if !found || first.Lane < 0 || first.Lane >= int64(len(i.lanes)) {
		return "", err
	}
	return i.id(first), nil
}
