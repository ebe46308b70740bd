package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/landscape"
)

// Most transactions need no answer before they are committed: they insert what is new, and move what is as they expect.
// Then one message with all statements is the transaction, in one round trip, and fails as a whole. Where a record is
// there already, or a move is stale, nothing is stored, and the statements go again one after the other.

// mayGoAtOnce reports whether a transaction is worth the attempt. Of a run that repeated its records the last time, such
// as ways that another process recorded, it is not.
func (s *Store) mayGoAtOnce(b landscape.Tx) bool {
	return atOnce(b) && (b.Guard == nil || !s.repeating.Contains(b.Guard.Run))
}

// commitAtOnce does a transaction in one round trip. done is false if it has to be done step by step: then nothing is
// stored, unless there is an error.
func (s *Store) commitAtOnce(
	ctx context.Context, b landscape.Tx, inserts []*insert, moves []moving,
) (done bool, err error) {
	err = s.patiently(ctx, func() error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer conn.Release()
		var queue pgx.Batch
		var does []string // what each statement does; empty: it holds a run
		for _, h := range holds(b) {
			h.queue(&queue, b.Guard)
			does = append(does, "")
		}
		for _, i := range inserts {
			queue.Queue(i.onlyNew, i.arrays...)
			does = append(does, "insert into "+i.table.Name)
		}
		for _, m := range moves {
			queue.Queue("select 1 / "+m.calls, m.arrays...) // one that is stale divides by zero
			does = append(does, "move "+m.table.Name)
		}
		for _, entry := range b.Append {
			queue.Queue(appendSQL, appended(entry)...)
			does = append(does, "append to the log")
		}
		err = committed(conn.SendBatch(ctx, &queue), does)
		switch codeOf(err) {
		case uniqueViolation:
			if b.Guard != nil {
				s.repeating.Add(b.Guard.Run, struct{}{})
			}
			return nil
		case divisionByZero:
			return nil
		}
		done = err == nil
		return err
	})
	if done && b.Repeats != nil {
		*b.Repeats = false
	}
	return done, err
}

// committed reads the answers to a transaction that was sent at once. An error that no statement has is that of the
// connection: whether all of it is stored or nothing, nobody knows.
func committed(results pgx.BatchResults, does []string) error {
	var failed error
	for _, what := range does {
		_, err := results.Exec()
		if err == nil {
			continue
		}
		if failed = refusedBy(err); what != "" {
			failed = fmt.Errorf("%s: %w", what, err)
		}
		break
	}
	if err := results.Close(); failed == nil && err != nil {
		failed = fmt.Errorf("commit: %w", err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](failed); failed == nil || ok && e.Severity == "ERROR" ||
		errors.Is(failed, landscape.ErrSuperseded) || errors.Is(failed, landscape.ErrEnded) {
		return failed
	}
	return &unknown{failed}
}

// moving moves records of one table with one statement: each column is an array.
type moving struct {
	table  *landscape.Table
	keys   []string // of the records, for people
	calls  string   // of the function that moves a record, one for each: how many were moved
	arrays []any
}

// prepareMoves makes statements of moves: each of moves of one table that follow each other. The writer's role may
// change nothing in another way than by the functions that they call.
func (s *Store) prepareMoves(moves []landscape.Move) (list []moving, err error) {
	for len(moves) > 0 {
		t := landscape.TableOf(moves[0].To)
		var from, to [][]any
		for _, m := range moves {
			if landscape.TableOf(m.To) != t {
				break
			}
			from, to = append(from, t.AppendValues(nil, m.From)), append(to, t.AppendValues(nil, m.To))
		}
		moves = moves[len(to):]
		kinds := s.columns[t.Name]
		before, after := &insert{table: t, kinds: kinds, records: from}, &insert{table: t, kinds: kinds, records: to}
		was, becomes := before.columns(len(t.Columns)), after.columns(len(t.Columns))
		if was == nil || becomes == nil {
			return nil, fmt.Errorf("landscape: the table %s has a column whose kind is not known", t.Name)
		}
		m := moving{table: t}
		for _, values := range to {
			m.keys = append(m.keys, t.Key(values))
		}
		var names, types, places []string
		add := func(name string, kind kind, values any) {
			m.arrays = append(m.arrays, values)
			column := fmt.Sprintf("c%d", len(m.arrays))
			names = append(names, fmt.Sprintf(`"%s" => %s`, name, column))
			types = append(types, fmt.Sprintf("$%d::%s", len(m.arrays), arrayTypes[kind]))
			places = append(places, column)
		}
		for i, c := range t.Columns {
			switch {
			case c.Key:
				add(c.Name, kinds[c.Name], becomes[i])
			case c.Move:
				add("from_"+c.Name, kinds[c.Name], was[i])
				add("to_"+c.Name, kinds[c.Name], becomes[i])
			}
		}
		m.calls = fmt.Sprintf("move_%s(%s) from unnest(%s) as m(%s)",
			t.Name, strings.Join(names, ", "), strings.Join(types, ", "), strings.Join(places, ", "))
		list = append(list, m)
	}
	return list, nil
}
