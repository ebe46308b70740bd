package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Select returns the records of T's table whose first key columns equal prefix, in key order; nil if there is none.
func Select[T Record](ctx context.Context, d RecordReader, prefix ...any) ([]T, error) {
	return Page[T](ctx, d, Query{Prefix: prefix})
}

// Page returns the records of T's table that q selects, in its order; nil if there is none.
func Page[T Record](ctx context.Context, d RecordReader, q Query) ([]T, error) {
	var kind T
	var found []T
	err := d.Read(ctx, kind, q, func(r Record) bool {
		found = append(found, r.(T))
		return true
	})
	return found, err
}

// each calls yield with the records that Select returns, one after the other, until it returns false.
func each[T Record](ctx context.Context, d RecordReader, prefix []any, yield func(T) bool) error {
	var kind T
	return d.Read(ctx, kind, Query{Prefix: prefix}, func(r Record) bool { return yield(r.(T)) })
}

// The pages of inPages: as many records as those who want the first few read, and as are read at once at most.
const (
	firstPage   = 8
	largestPage = 2048
)

// inPages calls yield with the records of T's table that q selects, in its order, until yield returns false, for a
// caller that may soon have enough: it reads a few records, and then more each time. A database sends all that it was
// asked for, also to one that wants no more. The pages are of several moments, and q.Limit is the first one's length.
func inPages[T Record](ctx context.Context, d RecordReader, q Query, yield func(T) bool) error {
	var kind T
	t := TableOf(kind)
	for q.Limit = cmp.Or(q.Limit, firstPage); ; q.Limit = min(4*q.Limit, largestPage) {
		page, err := Page[T](ctx, d, q)
		if err != nil {
			return err
		}
		for _, record := range page {
			if !yield(record) {
				return nil
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		q.After = t.AppendValues(nil, page[len(page)-1])[len(q.Prefix):t.Keys]
	}
}

// get returns the one record with this key. The error wraps ErrNotFound if there is none.
func get[T Record](ctx context.Context, d RecordReader, key ...any) (T, error) {
	found, err := Select[T](ctx, d, key...)
	var none T
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, fmt.Errorf("%s %s: %w", none.Table(), TableOf(none).Key(key), ErrNotFound)
	}
	return found[0], nil
}

// lastOf returns the last record of T's table whose first key columns equal prefix; nil if there is none.
func lastOf[T Record](ctx context.Context, d RecordReader, prefix ...any) (*T, error) {
	last, err := Page[T](ctx, d, Query{Prefix: prefix, Descending: true, Limit: 1})
	if err != nil || last == nil {
		return nil, err
	}
	return &last[0], nil
}

// lastOfEach returns the last record of each group of T's table whose first key columns equal prefix, in key order; nil if there is none. The records
// of a group, which group names, follow each other.
func lastOfEach[T Record, G comparable](ctx context.Context, d RecordReader, group func(T) G, prefix ...any) (last []T, err error) {
	err = each(ctx, d, prefix, func(record T) bool {
		if n := len(last); n > 0 && group(last[n-1]) == group(record) {
			last[n-1] = record
		} else {
			last = append(last, record)
		}
		return true
	})
	return last, err
}

// retries is how often a read, a decision and a compare-and-set are repeated because somebody else came first. Each
// round somebody makes progress.
const retries = 100

// settle repeats try while its error wraps ErrStale or is a *DivergedError of the table raced, if any.
func settle(raced string, try func() error) error {
	var err error
	for range retries {
		err = try()
		diverged, ok := errors.AsType[*DivergedError](err)
		if !errors.Is(err, ErrStale) && (!ok || diverged.Table != raced) {
			return err
		}
	}
	return err
}
