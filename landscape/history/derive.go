package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"waymark/landscape"
	"waymark/pipeline/row"
)

// Of returns the events of a run, oldest first. Of a run that has not ended these are the events so far.
func Of(ctx context.Context, log *landscape.Reader, run string) ([]Event, error) {
	d := NewDerivation()
	log = log.Marked()
	for _, t := range landscape.Tables() {
		if !Tells(t.Name) {
			continue
		}
		var line []byte
		var bad error
		err := log.Read(ctx, t.Zero(), landscape.Query{Prefix: []any{run}}, func(r landscape.Record) bool {
			line = t.AppendLine(line[:0], r)
			bad = d.Add(t.Name, line)
			return bad == nil
		})
		if err := cmp.Or(err, bad); err != nil {
			return nil, err
		}
	}
	return d.Events()
}

// Tells reports whether events follow from the records of a table.
func Tells(table string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.table == table })
}

// A Derivation makes events of the records of one run.
type Derivation struct {
	lines   *row.CanonicalParser
	found   []happening
	refused map[string]int // where in found rows of the same kind are counted
	states  map[string]columns
}

// happening is an event that has no place among the others yet.
type happening struct {
	at, rank int64
	typ      string
	data     columns
	effect   string // which one it happened to; empty for none
	rows     int64  // that it counts; 0 if it counts none
}

// NewDerivation returns a derivation without records.
func NewDerivation() *Derivation {
	return &Derivation{lines: row.NewCanonicalParser(nil), refused: map[string]int{}, states: map[string]columns{}}
}

// Add adds a record: its line as landscape.Table.AppendLine makes it. Records of a table come in the order of their keys, tables in any. A table that
// tells nothing changes nothing. The error says that it is not the line of a record.
func (d *Derivation) Add(table string, line []byte) error {
	if !Tells(table) {
		return nil
	}
	record, err := d.columns(string(line))
	for rank, k := range kinds {
		if err == nil && k.table == table {
			err = d.add(k, int64(rank), record)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return nil
}

// columns are those of a record, by name; each null, an int or a text.
type columns map[string]row.Value

func (d *Derivation) columns(line string) (columns, error) {
	r, err := d.lines.Parse(line, nil)
	if err != nil {
		return nil, err
	}
	found := make(columns, len(r.Values))
	for i, name := range r.Shape.Fields() {
		found[name] = r.Values[i]
		if kind := r.Values[i].Kind(); kind != row.Null && kind != row.Int && kind != row.String {
			return nil, fmt.Errorf("column %s has a value that no record has", name)
		}
	}
	return found, nil
}

// words are those that end a type.
var words = regexp.MustCompile(`^[a-z_]+$`)

// end is the first moment that has no form.
var end = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

func (d *Derivation) add(k kind, rank int64, record columns) error {
	at := record[k.at]
	if at.IsNull() {
		return nil
	}
	if at.Kind() != row.Int || at.Int() < 0 || at.Int() >= end {
		return fmt.Errorf("column %s is not a moment", k.at)
	}
	h := happening{at: at.Int(), rank: rank, typ: k.event, data: record.only(k.columns)}
	if k.word != "" {
		word := record[k.word]
		if word.Kind() != row.String || !words.MatchString(word.Text()) {
			return fmt.Errorf("column %s is not a word", k.word)
		}
		h.typ += word.Text()
	}
	switch k.table {
	case refusals:
		d.count(h)
		return nil
	case effects:
		h.effect = effectOf(record)
		d.states[h.effect] = record.only(stateColumns)
	case effectEvents:
		h.effect = effectOf(record)
	}
	d.found = append(d.found, h)
	return nil
}

// only returns some of the columns.
func (c columns) only(names []string) columns {
	some := make(columns, len(names))
	for _, name := range names {
		if value, ok := c[name]; ok {
			some[name] = value
		}
	}
	return some
}

// line returns the canonical form of columns.
func (c columns) line() []byte {
	line := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(c)) {
		if i > 0 {
			line = append(line, ',')
		}
		line = row.AppendValue(line, row.StringValue(name))
		line = row.AppendValue(append(line, ':'), c[name])
	}
	return append(line, '}')
}

// count adds a refused row to the event of its kind.
func (d *Derivation) count(h happening) {
	kind := strconv.FormatInt(h.at, 10)
	for _, name := range kinds[h.rank].columns {
		kind += " " + string(row.AppendValue(nil, h.data[name]))
	}
	i, ok := d.refused[kind]
	if !ok {
		i = len(d.found)
		d.refused[kind] = i
		d.found = append(d.found, h)
	}
	d.found[i].rows++
}

func effectOf(c columns) string {
	key := row.AppendValue(nil, c["sink"])
	key = row.AppendValue(append(key, ' '), c["source"])
	return string(row.AppendValue(append(key, ' '), c["chunk"]))
}

// Events returns the events of what was added, oldest first; those of one moment in the order in which docs/bundle.md lists their types, and
// then by key. It is called once.
func (d *Derivation) Events() ([]Event, error) {
	d.tellStates()
	slices.SortStableFunc(d.found, func(a, b happening) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	events := make([]Event, len(d.found))
	var chain chain
	for i, h := range d.found {
		if h.rows > 0 {
			h.data["rows"] = row.IntValue(h.rows)
		}
		events[i] = Event{Seq: chain.next, At: time.UnixMicro(h.at).UTC().Format(Moment), Type: h.typ, Data: h.data.line(), Prev: chain.prev}
		if _, err := chain.add(events[i]); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// tellStates has the last event of each effect say how the effect stands, and drops what stands for an effect that has events.
func (d *Derivation) tellStates() {
	last := map[string]int{}
	for i, h := range d.found {
		if h.effect == "" {
			continue
		}
		if before, ok := last[h.effect]; !ok || d.after(h, d.found[before]) {
			last[h.effect] = i
		}
	}
	for effect, i := range last {
		for name, value := range d.states[effect] {
			d.found[i].data[name] = value
		}
	}
	kept := d.found[:0]
	for i, h := range d.found {
		if kinds[h.rank].table != effects || last[h.effect] == i {
			kept = append(kept, h)
		}
	}
	d.found = kept
}

// after reports whether h, of the same effect, is what happened last. What stands for an effect without events comes before all of them.
func (d *Derivation) after(h, than happening) bool {
	standsIn := func(h happening) bool { return kinds[h.rank].table == effects }
	if standsIn(h) != standsIn(than) {
		return standsIn(than)
	}
	return h.at >= than.at
}
