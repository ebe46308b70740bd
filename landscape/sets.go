package landscape

import (
	"context"
	"slices"
)

// A SetReader is a driver that reads what many prefixes select with one statement. Another one is asked for each.
type SetReader interface {
	// ReadSets calls yield with what Read finds by q with each of the prefixes in the place of its own, one prefix after the
	// other, until yield returns false. All prefixes are of the same columns, one at least; After is nil. Nothing is read of
	// archives. The rest is as with Read.
	ReadSets(ctx context.Context, kind Record, prefixes [][]any, q Query, yield func(Record) bool) error
}

// eachOf calls yield with the records that q selects with each of the prefixes, one prefix after the other.
func eachOf[T Record](ctx context.Context, r *Reader, prefixes [][]any, q Query, yield func(T)) error {
	var kind T
	found := func(record Record) bool { yield(record.(T)); return true }
	if len(prefixes) == 0 {
		return nil
	}
	if sets, is := capable[SetReader](r.plain); is {
		return sets.ReadSets(ctx, kind, prefixes, q, found)
	}
	for _, q.Prefix = range prefixes {
		if err := r.from.Read(ctx, kind, q, found); err != nil {
			return err
		}
	}
	return nil
}

// byID returns the record that q selects with each of some texts as the beginning of its key, by that text; texts with
// which nothing is recorded are left out. Empty texts count for nothing, and several that are equal for one.
func byID[T Record](ctx context.Context, r *Reader, ids []string, q Query, id func(T) string) (map[string]T, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var prefixes [][]any
	for _, id := range slices.Compact(ids) {
		if id != "" {
			prefixes = append(prefixes, []any{id})
		}
	}
	found := map[string]T{}
	return found, eachOf(ctx, r, prefixes, q, func(record T) { found[id(record)] = record })
}
