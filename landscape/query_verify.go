package landscape

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"waymark/landscape/seal"
)

// ErrIncomplete says that columns on record are missing, or shorter or longer than the rows they are about: they cannot be
// read as rows.
var ErrIncomplete = errors.New("the record is incomplete")

// Difference is a record that is not stored as it should be.
type Difference struct {
	Table  string
	Key    string // for people
	Column string // the first that differs; "" if the record is missing, or is one too many
	Stored string // of the column; or "none"
	Wanted string // of the column; or "none"
}

// String says it for people.
func (d Difference) String() string {
	column := ""
	if d.Column != "" {
		column = d.Column + " "
	}
	return fmt.Sprintf("%s %s: %sshould be %s, the record has %s", d.Table, d.Key, column, d.Wanted, d.Stored)
}

// absent stands for a record that is not there.
const absent = "none"

// CompareRun holds a run's record and graph against those that BeginRun would make. What may change while a run continues is
// not compared. It stores nothing.
func (r *Reader) CompareRun(ctx context.Context, run Run, graph Graph) ([]Difference, error) {
	whole := []Record{Node{Run: run.ID}, Edge{Run: run.ID}, Source{Run: run.ID}, Lane{Run: run.ID}, LookupTable{Run: run.ID}, PolicyRecord{Run: run.ID}}
	graph.Key = make([]byte, seal.KeyBytes) // every run has another one
	found, err := r.rehearse(ctx, whole, func(l *Log) error { return l.BeginRun(ctx, run, graph) })
	told := func(d Difference) bool { return d.Table == Event{}.Table() && d.Stored == absent }
	if err != nil || !slices.ContainsFunc(found, told) {
		return found, err
	}
	dropped, err := r.mayBeDropped(ctx, run.ID)
	if dropped {
		found = slices.DeleteFunc(found, told)
	}
	return found, err
}

// dropSlack is how far the order of events can be from that of their times: how much later than the clock of its
// process a transaction commits, and how much clocks differ.
const dropSlack = Micros(60_000_000)

// mayBeDropped reports whether the event that a run began is perhaps not there because the outbox dropped it: that
// drops from the oldest on, so then no event is left that happened before.
func (r *Reader) mayBeDropped(ctx context.Context, run string) (bool, error) {
	head, err := r.OutboxHead(ctx)
	if err != nil || head.Dropped == 0 {
		return false, err
	}
	begun, err := get[RunHead](ctx, r.from, run)
	if err != nil {
		return false, err
	}
	left, err := Page[AgedEvent](ctx, r.from, Query{After: []any{head.Dropped, maxText}, Limit: 1})
	return err == nil && (left == nil || begun.Started <= left[0].At+dropSlack), err
}

// CompareEnd holds the record of a source's end against the one that EndSource would make. It stores nothing.
func (r *Reader) CompareEnd(ctx context.Context, end SourceEnd) ([]Difference, error) {
	return r.rehearse(ctx, nil, func(l *Log) error { return l.EndSource(ctx, end) })
}

// ComparePassage holds everything on record about a chunk's passage against what RecordPassage would make of p: ways and
// their steps, way codes, hashes, keys, errors, repeats, roots over fields, merges and planned writes of all lanes. It stores nothing. refused, if not nil, are the
// errors on record of the chunk's tokens: those that are as p says are not read again.
func (r *Reader) ComparePassage(ctx context.Context, p Passage, refused *RowErrors) ([]Difference, error) {
	return r.comparePassage(ctx, p, refused, nil)
}

// IsPassage is ComparePassage for a passage without hashes: sums stand for them. It reports whether all is recorded as it should be, and
// leaves it to ComparePassage to say what is not.
func (r *Reader) IsPassage(ctx context.Context, p Passage, refused *RowErrors, sums *HashSums) (bool, error) {
	differences, err := r.comparePassage(ctx, p, refused, sums)
	if err != nil || len(differences) > 0 {
		return false, err
	}
	return sums.areStored(ctx, r.from, p)
}

func (r *Reader) comparePassage(ctx context.Context, p Passage, refused *RowErrors, sums *HashSums) ([]Difference, error) {
	whole := []Record{
		PassageRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		ChunkWayRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		WayTotalRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		KeyHashes{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		MergeCodes{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		ChunkMerge{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		FieldRootsRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		RepeatsRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
		FeedRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk},
	}
	if sums == nil {
		whole = append(whole, HashesRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk})
	}
	chunk, err := r.Chunk(ctx, p.Run, ChunkKey{p.Source, p.Chunk})
	if err != nil {
		return nil, err
	}
	var hasher recordHasher
	rehearsed := &rehearsal{source: r.from, beyond: p.late(chunk.FirstRow), alike: func(record Record) bool { return refused.holds(&hasher, record) }}
	return rehearsed.compare(ctx, whole, func(l *Log) error { return l.RecordPassage(ctx, p) })
}

// late returns what reports whether a stored record says that the target of a sink refused a token whose way leads there. No step
// makes such a record. first is the first row of the chunk.
func (p Passage) late(first int64) func(Record) bool {
	return func(r Record) bool {
		e, is := r.(RowError)
		if !is {
			return false
		}
		lane := slices.IndexFunc(p.Lanes, func(l LaneRoutes) bool { return l.Lane == e.Lane })
		if index := e.Row - first; lane < 0 || index < 0 || index >= int64(len(p.Lanes[lane].Codes)) {
			return false
		}
		way, err := p.Lanes[lane].WayAt(int(e.Row - first))
		return err == nil && way != nil && way.ToSink() && way.Sink == e.Node
	}
}

// rehearsal is a writer that keeps what is to be inserted for itself.
type rehearsal struct {
	source
	alike    func(Record) bool // if not nil: reports whether a record is stored as it is, and need not be kept
	beyond   func(Record) bool // if not nil: reports whether a stored record may be there besides those that are wanted
	inserted []Record
}

// Commit keeps the records.
func (r *rehearsal) Commit(_ context.Context, tx Tx) error {
	for _, record := range tx.Insert {
		if r.alike == nil || !r.alike(record) {
			r.inserted = append(r.inserted, record)
		}
	}
	return nil
}

// scopeKeys says how many key columns a table's records share of which, if there is one, all must be there and no other.
// Of the other tables each record is looked for by itself.
var scopeKeys = map[string]int{
	"nodes": 1, "edges": 1, "sources": 1, "lanes": 1, "lookup_tables": 1, "passages": 3, "way_steps": 2,
	"chunk_ways": 3, "way_totals": 3, "rejected_totals": 4, "hashes": 3,
	"key_hashes": 3, "errors": 3, "feeds": 3, "repeats": 3, "merge_codes": 3, "chunk_merges": 3, "members": 4,
	"chunk_rows": 3, "parents": 3, "field_roots": 3,
}

// scope is some records of one table, by key.
type scope struct {
	table  *Table
	prefix []any
	wanted map[string][]any
}

// rehearse lets act record, and compares what it would insert with what is stored. The scopes of the records in whole are
// looked at even if nothing is to be inserted there.
func (r *Reader) rehearse(ctx context.Context, whole []Record, act func(*Log) error) ([]Difference, error) {
	return (&rehearsal{source: r.from}).compare(ctx, whole, act)
}

// compare does what Reader.rehearse says.
func (r *rehearsal) compare(ctx context.Context, whole []Record, act func(*Log) error) ([]Difference, error) {
	if err := act(&Log{Reader: newReader(r), driver: r, clock: time.Now}); err != nil {
		return nil, err
	}
	var found []Difference
	for _, s := range scopes(whole, r.inserted) {
		different, err := s.compare(ctx, r.source, r.beyond)
		if err != nil {
			return nil, err
		}
		found = append(found, different...)
	}
	return found, nil
}

// scopes groups the records, in their order.
func scopes(whole, inserted []Record) []*scope {
	var all []*scope
	byName := map[string]*scope{}
	for i, r := range append(whole, inserted...) {
		t := TableOf(r)
		values := t.AppendValues(nil, r)
		name, prefix := t.Scope(values)
		if byName[name] == nil {
			byName[name] = &scope{table: t, prefix: prefix, wanted: map[string][]any{}}
			all = append(all, byName[name])
		}
		if i >= len(whole) {
			byName[name].wanted[t.Key(values)] = values
		}
	}
	return all
}

// Scope names the records of the table that are compared together with that of these values, and returns the part of
// the key that they share. Records with another part have another name.
func (t *Table) Scope(values []any) (name string, shared []any) {
	shared = values[:t.Keys]
	if n, ok := scopeKeys[t.Name]; ok {
		shared = values[:n]
	}
	return fmt.Sprintf("%s %#v", t.Name, shared), shared
}

// compare returns how what is stored in the scope differs from what is wanted. beyond, if not nil, reports whether a record may be
// there as well.
func (s *scope) compare(ctx context.Context, d RecordReader, beyond func(Record) bool) ([]Difference, error) {
	var found []Difference
	missing := map[string]bool{}
	for key := range s.wanted {
		missing[key] = true
	}
	err := d.Read(ctx, s.table.Zero(), Query{Prefix: s.prefix}, func(r Record) bool {
		stored := s.table.AppendValues(nil, r)
		key := s.table.Key(stored)
		delete(missing, key)
		if s.wanted[key] == nil && beyond != nil && beyond(r) {
			return true
		}
		found = s.table.appendDifference(found, key, stored, s.wanted[key])
		return true
	})
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		found = append(found, Difference{Table: s.table.Name, Key: key, Stored: absent, Wanted: "one"})
	}
	return found, err
}

// appendDifference compares a stored record with the wanted one, if there is any.
func (t *Table) appendDifference(found []Difference, key string, stored, wanted []any) []Difference {
	if wanted == nil {
		return append(found, Difference{Table: t.Name, Key: key, Stored: "one", Wanted: absent})
	}
	for i, c := range t.Columns {
		if !c.Key && !c.Move && !c.First && !equal(stored[i], wanted[i]) {
			return append(found, Difference{Table: t.Name, Key: key, Column: c.Name, Stored: shown(stored[i]), Wanted: shown(wanted[i])})
		}
	}
	return found
}

// maxShownBytes is how much of a column a difference shows.
const maxShownBytes = 64

func shown(value any) string {
	switch value := value.(type) {
	case []byte:
		text := hex.EncodeToString(value[:min(len(value), maxShownBytes/2)])
		return fmt.Sprintf("%d bytes %s", len(value), text)
	case string:
		return fmt.Sprintf("%.*q", maxShownBytes, value)
	case nil:
		return "nothing"
	default:
		return fmt.Sprint(value)
	}
}

// RejectedRow is a token that has an error on record, and the node that refused it.
type RowErrorKey struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Row    int64  `db:"row,key"`
	Lane   int64  `db:"lane,key"`
	Node   string `db:"node,key"`
}

// Table returns errors.
func (RowErrorKey) Table() string { return "errors" }

// RowErrorKeys returns the errors of a source by row, lane and node, without what they say; nil if there is none.
func (r *Reader) RowErrorKeys(ctx context.Context, run, source string) ([]RowErrorKey, error) {
	return Select[RowErrorKey](ctx, r.from, run, source)
}
