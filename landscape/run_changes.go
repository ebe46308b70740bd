package landscape

import (
	"context"
	"slices"
)

// changes are what a transaction does to the leaves of a run.
type changes struct {
	run      string
	next     map[string][]change // by table, in the order of their keys
	refusing map[string]refusals // by sink; not those whose targets took all rows
}

type change struct {
	to    Record
	moved bool
}

// refusals say since when a sink's target has refused rows when they were written. The roots of chunks do not bind what is recorded of that, so
// the errors at these sinks are leaves.
type refusals int

const (
	refusedBefore refusals = iota + 1 // the transaction
	refusesNow
)

// late reports whether a refusal of a row is a leaf of the run, after the changes.
func (c *changes) late(e RowError) bool { return c.refusing[e.Node] != 0 }

func (r *Reader) changesOf(ctx context.Context, run string, tx Tx) (*changes, error) {
	c := &changes{run: run, next: map[string][]change{}, refusing: map[string]refusals{}}
	for _, m := range tx.Move {
		if e, ok := m.To.(Effect); ok && e.Run == run && e.Refused > 0 {
			c.refusing[e.Sink] = refusesNow
		}
		c.add(change{m.To, true})
	}
	err := each(ctx, r.from, []any{run}, func(e Effect) bool {
		if e.Refused > 0 {
			c.refusing[e.Sink] = refusedBefore
		}
		return true
	})
	for _, record := range tx.Insert {
		c.add(change{record, false})
	}
	for _, of := range c.next {
		slices.SortFunc(of, func(a, b change) int { return CompareKeys(keyOf(a.to), keyOf(b.to)) })
	}
	return c, err
}

// add adds a change, if it is about a leaf of the run.
func (c *changes) add(of change) {
	switch record := of.to.(type) {
	case PassageRecord:
		of.to = passageLeafOf(record)
	case RowError:
		if !c.late(record) {
			return
		}
	}
	t := TableOf(of.to)
	at := slices.IndexFunc(t.Columns, func(column Column) bool { return column.Name == "run_id" })
	if at >= 0 && t.AppendValues(nil, of.to)[at] == c.run {
		c.next[t.Name] = append(c.next[t.Name], of)
	}
}

// runRecords calls yield with every record that is a leaf of the run, in their order: as it is a leaf now, nil if the transaction makes it one; and
// as the transaction leaves it, nil if that is the same. It ends when yield returns false.
func (r *Reader) runRecords(ctx context.Context, run string, tx Tx, yield func(now, next Record) bool) error {
	c, err := r.changesOf(ctx, run, tx)
	if err != nil {
		return err
	}
	tables := leafTables()
	filled, err := r.filled(ctx, run, tables)
	if err != nil {
		return err
	}
	for _, t := range tables {
		m := &merging{changes: c, pending: c.next[t.Name], yield: yield, more: true}
		if slices.Contains(filled, t.Name) {
			if err := r.leavesOf(ctx, t, c, m.stored); err != nil {
				return err
			}
		}
		if m.until(nil); !m.more {
			return nil
		}
	}
	return nil
}

// merging merges the stored records of a table with what a transaction does to them.
type merging struct {
	*changes
	pending []change
	yield   func(now, next Record) bool
	more    bool // yield wants more
}

// stored yields a stored record, and the pending ones before it.
func (m *merging) stored(now Record) bool {
	var next Record
	if len(m.pending) > 0 {
		next = m.pass(now)
	}
	if e, ok := now.(RowError); ok && m.refusing[e.Node] == refusesNow {
		now, next = nil, e
	}
	m.more = m.more && m.yield(now, next)
	return m.more
}

// pass yields what is pending before a stored record, and returns what a move makes of that; nil if none does.
func (m *merging) pass(now Record) Record {
	key := keyOf(now)
	m.until(key)
	if len(m.pending) == 0 || CompareKeys(keyOf(m.pending[0].to), key) != 0 {
		return nil
	}
	same := m.pending[0]
	m.pending = m.pending[1:]
	if !same.moved {
		return nil
	}
	return moved(now, same.to)
}

// until yields the pending records before a key; all of them if it is nil.
func (m *merging) until(key []any) {
	for m.more && len(m.pending) > 0 && (key == nil || CompareKeys(keyOf(m.pending[0].to), key) < 0) {
		m.more = m.yield(nil, m.pending[0].to)
		m.pending = m.pending[1:]
	}
}

// moved returns a record as a Move leaves it. A run moves by its head.
func moved(now, to Record) Record {
	if run, ok := now.(Run); ok {
		run.RunHead = to.(RunHead)
		return run
	}
	return to
}

func keyOf(r Record) []any {
	t := TableOf(r)
	return t.AppendValues(nil, r)[:t.Keys]
}
