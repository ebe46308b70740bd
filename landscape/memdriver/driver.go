// Package memdriver keeps a landscape in memory, for tests. Every commit has a fate that a test may decide.
package memdriver

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"waymark/landscape"
	"waymark/landscape/sweep"
)

// Driver is a landscape.Driver in memory. It keeps the contract of drivers, but knows no constraints besides keys: what
// the SQL drivers refuse by CHECK, foreign key or trigger, it takes.
type Driver struct {
	// OnCommit, if not nil, decides whether a transaction is kept and the error that the caller sees: a lost request is
	// (false, err), a lost reply (true, err). It must be set before the first use.
	OnCommit func(landscape.Tx) (keep bool, err error)

	mu     sync.Mutex
	tables tables
}

var _ landscape.Driver = (*Driver)(nil)

// tables hold each table's records as values, by key.
type tables map[string]map[string][]any

// New returns an empty landscape.
func New() *Driver { return &Driver{tables: tables{}} }

// Commit does what landscape.Driver says, unless OnCommit decides otherwise.
func (d *Driver) Commit(_ context.Context, b landscape.Tx) error {
	keep, fate := true, error(nil)
	if d.OnCommit != nil {
		keep, fate = d.OnCommit(b)
	}
	if !keep {
		return fate
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.tables.pass(b.Guard)
	next := maps.Clone(d.tables)
	if err == nil {
		err = next.apply(b)
	}
	if err == nil {
		d.tables = next
	}
	return cmp.Or(fate, err) // also a refusal may be lost
}

// pass compares a guard with the epoch that its run is in, and with its status.
func (t tables) pass(g *landscape.Guard) error {
	if g == nil {
		return nil
	}
	var epoch int64
	ended := false
	if stored := t["runs"][keyOf(runs, []any{g.Run})]; stored != nil {
		epoch = stored[slices.Index(columnNames(runs), "epoch")].(int64)
		ended = stored[slices.Index(columnNames(runs), "status")] != "running"
	}
	switch {
	case epoch != g.Epoch:
		return fmt.Errorf("run %s is in epoch %d, not %d: %w", g.Run, epoch, g.Epoch, landscape.ErrSuperseded)
	case g.Running && ended:
		return fmt.Errorf("run %s: %w", g.Run, landscape.ErrEnded)
	default:
		return nil
	}
}

var runs = landscape.TableOf(landscape.Run{})

// apply changes t, but none of the maps in it.
func (t tables) apply(b landscape.Tx) error {
	fresh := map[string]bool{}
	writable := func(name string) map[string][]any {
		if !fresh[name] {
			fresh[name] = true
			if t[name] = maps.Clone(t[name]); t[name] == nil {
				t[name] = map[string][]any{}
			}
		}
		return t[name]
	}
	for _, r := range b.Insert {
		if err := insert(writable(r.Table()), r); err != nil {
			return err
		}
	}
	for _, m := range b.Move {
		if _, ok := m.To.(landscape.OutboxHead); ok && len(t[m.To.Table()]) == 0 { // as after the migrations of the others
			if err := insert(writable(m.To.Table()), landscape.OutboxHead{}); err != nil {
				return err
			}
		}
		if err := move(writable(m.To.Table()), m); err != nil {
			return err
		}
	}
	for _, m := range b.Move {
		if head, ok := m.To.(landscape.OutboxHead); ok {
			for _, of := range []landscape.Record{landscape.Event{}, landscape.Delivery{}, landscape.DeliveryAttempt{}} {
				dropEvents(writable(of.Table()), of, head.Dropped)
			}
		}
	}
	if b.Remove != "" {
		if err := t.remove(b.Remove, writable); err != nil {
			return err
		}
	}
	if b.Seal != nil {
		if err := t.counted(*b.Seal); err != nil {
			return err
		}
		if err := insert(writable(b.Seal.Table()), b.Seal.RunSeal); err != nil {
			return err
		}
	}
	if b.Check != "" {
		if found := count(t, b.Check); len(found) > 0 {
			return &landscape.ImbalanceError{Run: b.Check, Findings: found}
		}
	}
	for _, entry := range b.Append {
		if err := appendTo(writable("log"), writable("log_head"), entry); err != nil {
			return err
		}
	}
	return nil
}

// remove removes what the tables of landscape.Archivable have of an archived run. It alone of the guards of the SQL drivers refuses here, too.
func (t tables) remove(run string, writable func(name string) map[string][]any) error {
	if len(t.of(landscape.Archive{}.Table(), run)) == 0 {
		return fmt.Errorf("remove run %s: it is not archived", run)
	}
	for _, table := range landscape.Archivable() {
		maps.DeleteFunc(writable(table.Name), func(_ string, values []any) bool { return values[0] == run })
	}
	return nil
}

// counted refuses a seal of a run that has other records than it binds.
func (t tables) counted(s landscape.NewSeal) error {
	var found []int64
	for _, c := range s.Counts {
		found = append(found, int64(len(t.of(c.Table, s.Run))))
	}
	effects := landscape.TableOf(landscape.Effect{})
	at, moved := slices.Index(columnNames(effects), "changed_us"), int64(0)
	for _, values := range t.of(effects.Name, s.Run) {
		moved += values[at].(int64) & landscape.MovedBits
	}
	return s.Fits(append(found, moved))
}

// of returns the records of a run.
func (t tables) of(table, run string) (found [][]any) {
	at := slices.Index(columnNames(landscape.TableOf(full(table))), "run_id")
	for _, values := range t[table] {
		if values[at] == run {
			found = append(found, values)
		}
	}
	return found
}

// appendTo appends an entry to the log, unless that has one about the same.
func appendTo(log, head map[string][]any, entry landscape.LogEntry) error {
	for _, stored := range log {
		if stored[1] == entry.About {
			return nil
		}
	}
	entry.Position = int64(len(log))
	size := landscape.LogHead{Size: entry.Position + 1}
	of := landscape.TableOf(size)
	head[keyOf(of, []any{size.ID})] = of.AppendValues(nil, size)
	return insert(log, entry)
}

// dropEvents removes events up to a position, or what is of those.
func dropEvents(rows map[string][]any, of landscape.Record, upTo int64) {
	at := slices.Index(columnNames(landscape.TableOf(of)), "position")
	maps.DeleteFunc(rows, func(_ string, values []any) bool {
		position := values[at].(int64)
		return position > 0 && position <= upTo
	})
}

func insert(rows map[string][]any, r landscape.Record) error {
	t := landscape.TableOf(r)
	values := t.AppendValues(nil, r)
	key := keyOf(t, values)
	if stored, ok := rows[key]; ok {
		return t.Diverged(stored, values)
	}
	rows[key] = clone(values)
	return nil
}

func move(rows map[string][]any, m landscape.Move) error {
	t := landscape.TableOf(m.To)
	from, to := t.AppendValues(nil, m.From), t.AppendValues(nil, m.To)
	key := keyOf(t, to)
	stored, names := rows[key], columnNames(landscape.TableOf(full(t.Name)))
	next := clone(stored)
	for i, c := range t.Columns {
		if !c.Move && !c.Key {
			continue
		}
		at := slices.Index(names, c.Name)
		if stored == nil || landscape.CompareValues(stored[at], from[i]) != 0 {
			return fmt.Errorf("%s %s: %w", t.Name, t.Key(to), landscape.ErrStale)
		}
		next[at] = to[i]
	}
	rows[key] = clone(next)
	return nil
}

// keyOf returns the key of the record with these values; different keys differ.
func keyOf(t *landscape.Table, values []any) string { return fmt.Sprintf("%q", values[:t.Keys]) }

// full returns the shape of all columns of a table, in which it is stored.
func full(name string) landscape.Record {
	for _, t := range landscape.Tables() {
		if t.Name == name {
			return t.Zero()
		}
	}
	panic("no table " + name)
}

func columnNames(t *landscape.Table) []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// clone copies values and the bytes in them.
func clone(values []any) []any {
	values = slices.Clone(values)
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			values[i] = bytes.Clone(b)
		}
	}
	return values
}

// Read does what landscape.Driver says.
func (d *Driver) Read(_ context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	return d.now().read(kind, q, yield)
}

// now returns the tables as they are. No commit changes them.
func (d *Driver) now() tables {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tables
}

func (t tables) read(kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	wanted := landscape.TableOf(kind)
	var rows [][]any
	names := columnNames(landscape.TableOf(full(wanted.Name)))
	at := make([]int, len(wanted.Columns))
	for i, c := range wanted.Columns {
		at[i] = slices.Index(names, c.Name)
	}
	for _, values := range t[wanted.Name] {
		if !selects(q, values, at) {
			continue
		}
		picked := make([]any, len(at))
		for i := range at {
			picked[i] = values[at[i]]
		}
		rows = append(rows, picked)
	}
	slices.SortFunc(rows, func(a, b []any) int { return inOrder(q, a[:wanted.Keys], b[:wanted.Keys]) })
	if q.Limit > 0 {
		rows = rows[:min(q.Limit, len(rows))]
	}
	for _, values := range rows {
		record, err := wanted.Record(clone(values))
		if err != nil {
			return err
		}
		if !yield(record) {
			return nil
		}
	}
	return nil
}

// selects reports whether q selects the record with these values, whatever its limit is. at are the places of kind's columns in values.
func selects(q landscape.Query, values []any, at []int) bool {
	for i, want := range q.Prefix {
		if landscape.CompareValues(values[at[i]], want) != 0 {
			return false
		}
	}
	for i, bound := range q.After {
		value := values[at[len(q.Prefix)+i]]
		if c := inOrder(q, []any{value}, []any{bound}); c != 0 {
			return c > 0
		}
	}
	return len(q.After) == 0
}

// inOrder compares two keys in the order of q.
func inOrder(q landscape.Query, a, b []any) int {
	if q.Descending {
		a, b = b, a
	}
	return landscape.CompareKeys(a, b)
}

// Claim does what landscape.Driver says.
func (d *Driver) Claim(_ context.Context, c landscape.Claims) (map[landscape.Token]landscape.Token, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.tables.pass(c.Guard); err != nil {
		return nil, err
	}
	next := maps.Clone(d.tables["claims"])
	if next == nil {
		next = map[string][]any{}
	}
	var taken map[landscape.Token]landscape.Token
	for i, hash := range c.Hashes {
		token := c.Tokens[i]
		record := landscape.ClaimRecord{
			Run: c.Run, Node: c.Node, Field: c.Field, KeyHash: hash[:], Source: token.Source, Lane: token.Lane, Row: token.Row,
		}
		t := landscape.TableOf(record)
		values := t.AppendValues(nil, record)
		key := keyOf(t, values)
		stored, ok := next[key]
		if !ok {
			next[key] = clone(values)
			continue
		}
		first := landscape.Token{Source: stored[4].(string), Lane: stored[5].(int64), Row: stored[6].(int64)}
		if first != token {
			if taken == nil {
				taken = map[landscape.Token]landscape.Token{}
			}
			taken[token] = first
		}
	}
	d.tables = maps.Clone(d.tables)
	d.tables["claims"] = next
	return taken, nil
}

// Sweep does what landscape.Driver says. A deep one looks at tokens as sweep.Packed does.
func (d *Driver) Sweep(ctx context.Context, run string, deep bool) ([]landscape.Finding, error) {
	found := count(d.now(), run)
	if !deep {
		return found, nil
	}
	tokens, err := sweep.Packed(ctx, d, run, nil)
	found = append(found, tokens...)
	sweep.Sort(found)
	return found, err
}

// Close does nothing: the records stay readable.
func (d *Driver) Close() error { return nil }
