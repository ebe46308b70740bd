package audit

import (
	"context"
	"errors"

	"waymark/engine"
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
func (i *explaining) firsts(ctx context.Context, duplicates engine.Duplicates) error {
	i.first = map[landscape.Step]string{}
	i.in.Firsts = duplicates
	for _, dropped := range i.repetitions() {
		first, err := i.firstWith(ctx, dropped)
		if err != nil {
			return err
		}
		i.first[landscape.Step{Node: dropped.node, Lane: dropped.lane}] = first
	}
	return nil
}

// firstWith returns the id of the token that came first with the key of a dropped one. The id is "" if the record does not
// name another token: then it is damaged.
func (i *explaining) firstWith(ctx context.Context, dropped repetition) (string, error) {
	token := landscape.Token{Source: i.asked.Source, Lane: dropped.lane, Row: i.asked.Row}
	first, err := i.log.FirstOf(ctx, i.run.ID, dropped.node, token)
	switch {
	case errors.Is(err, landscape.ErrNotFound), errors.Is(err, landscape.ErrIncomplete), first == token:
		return "", nil
	case err != nil:
		return "", err
	}
	return i.id(first), nil
}
