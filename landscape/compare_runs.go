package landscape

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// results are the tables that say what became of rows: equal runs have equal records there, but for the columns in incidental.
var results = []Record{
	SourceEnd{}, Chunk{}, ChunkRowsRecord{}, KeyHashes{}, WayRecord{}, WayStepRecord{}, PassageRecord{},
	ChunkWayRecord{}, HashesRecord{}, RowError{},
	RepeatsRecord{}, FeedRecord{}, MergeKindRecord{}, MergeCodes{}, ChunkMerge{}, FoldRecord{}, BatchRecord{},
	MembersRecord{}, MergeRecord{},
	ParentsRecord{}, Effect{},
}

// incidental are columns of these tables that say when and how something was done: by table, besides those of which the first value stays.
var incidental = map[string][]string{
	"folds":   {"at_us"},
	"batches": {"opened_us", "fired_us"},
	"merges":  {"arrivals", "wait_ms"},
	"effects": {"state", "fence", "receipt", "changed_us"},
}

// Likeness is what two runs that should have made the same have in common.
type Likeness struct {
	Rows    int64       // of sources
	Hashes  int64       // of rows, as they left nodes
	Parts   int64       // of outputs
	First   []Unlike    // the first records that differ, in the order of chunks and rows, at most maxUnlike; nil if there is none
	Differ  int64       // how many records differ
	Compare []LikeTable // how many records were compared, by table
}

// LikeTable is how many records of a table two runs have in common, or not.
type LikeTable struct {
	Table   string `json:"table"`
	Records int64  `json:"records"`
}

// Unlike is a record that is another one in a second run.
type Unlike struct {
	Table  string `json:"table"`
	Key    string `json:"key"`              // for people, without the run
	Column string `json:"column,omitempty"` // the first that differs; empty if one of the runs has no such record
	Source string `json:"source,omitempty"` // the origin that it is about; empty if it is about none
	Chunk  int64  `json:"chunk"`            // of that; -1 if it is about none
	Was    string `json:"was"`              // the column in the first run, or none
	Is     string `json:"is"`               // the column in the second run, or none
}

// String says it for people.
func (u Unlike) String() string {
	column := ""
	if u.Column != "" {
		column = u.Column + " "
	}
	return fmt.Sprintf("%s %s: %swas %s, is %s", u.Table, u.Key, column, u.Was, u.Is)
}

// maxUnlike is how many records a Likeness names.
const maxUnlike = 20

// CompareRuns compares what two runs made of their rows, in the same landscape or in two: records of sources, ways, hashes, errors, batches, merges,
// and the bytes for sinks. Moments, attempts, and who did it are not compared.
func CompareRuns(ctx context.Context, first *Reader, was string, second *Reader, is string) (Likeness, error) {
	var l Likeness
	for _, kind := range results {
		table := TableOf(kind)
		compared := comparing{table: table, likeness: &l, skip: skipped(table), where: placeColumns(table)}
		err := compared.all(recordsOf(ctx, first, kind, was), recordsOf(ctx, second, kind, is))
		if err != nil {
			return l, fmt.Errorf("table %s: %w", table.Name, mark(err))
		}
		l.Compare = append(l.Compare, LikeTable{table.Name, compared.records})
	}
	slices.SortStableFunc(l.First, func(a, b Unlike) int { return cmp.Compare(uint64(a.Chunk), uint64(b.Chunk)) }) // what is about none comes last
	l.First = l.First[:min(len(l.First), maxUnlike)]
	return l, nil
}

// skipped says which columns are not compared.
func skipped(t *Table) []bool {
	skip := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		skip[i] = i == 0 || c.First || slices.Contains(incidental[t.Name], c.Name)
	}
	return skip
}

// placeColumns returns which columns name origin and chunk; -1 for none.
func placeColumns(t *Table) [2]int {
	index := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	}
	return [2]int{index("source"), index("chunk")}
}

// recordsOf gives the records of a table that are about a run.
func recordsOf(ctx context.Context, r *Reader, kind Record, run string) iter.Seq2[[]any, error] {
	table := TableOf(kind)
	return func(yield func([]any, error) bool) {
		open := true
		err := r.from.Read(ctx, kind, Query{Prefix: []any{run}}, func(record Record) bool {
			open = yield(table.AppendValues(nil, record), nil)
			return open
		})
		if err != nil && open {
			yield(nil, err)
		}
	}
}

// comparing compares the records of one table.
type comparing struct {
	table    *Table
	likeness *Likeness
	skip     []bool
	where    [2]int
	records  int64
}

// all goes through the records of both runs, which come by key.
func (c *comparing) all(first, second iter.Seq2[[]any, error]) error {
	next, stop := iter.Pull2(second)
	defer stop()
	is, err, more := next()
	for was, failed := range first {
		if failed != nil {
			return failed
		}
		for ; err == nil && more && c.order(is, was) < 0; is, err, more = next() {
			c.differ(is, "", absent, "there")
		}
		if err != nil {
			return err
		}
		if !more || c.order(was, is) < 0 {
			c.differ(was, "", "there", absent)
			continue
		}
		c.compare(was, is)
		is, err, more = next()
	}
	for ; err == nil && more; is, err, more = next() {
		c.differ(is, "", absent, "there")
	}
	return err
}

// order compares the keys of two records.
func (c *comparing) order(a, b []any) int {
	for i := 1; i < c.table.Keys; i++ {
		if order := orderOf(a[i], b[i]); order != 0 {
			return order
		}
	}
	return 0
}

// orderOf compares two values of a key, as databases do.
func orderOf(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		return strings.Compare(a, b.(string))
	default:
		return bytes.Compare(a.([]byte), b.([]byte))
	}
}

// compare compares two records with the same key.
func (c *comparing) compare(was, is []any) {
	c.records++
	c.count(was)
	for i, column := range c.table.Columns {
		if !c.skip[i] && !equal(was[i], is[i]) {
			c.differ(was, column.Name, apart(was[i], is[i]), apart(is[i], was[i]))
			return
		}
	}
}

// count adds what the record stands for.
func (c *comparing) count(values []any) {
	record, _ := c.table.Record(values) // they are those of one
	switch record := record.(type) {
	case Chunk:
		if record.Fold == nil {
			c.likeness.Rows += record.Rows
		}
	case HashesRecord:
		c.likeness.Hashes += record.Rows
	case Effect:
		if record.Chunk >= 0 {
			c.likeness.Parts++
		}
	}
}

// differ notes a record that differs.
func (c *comparing) differ(values []any, column, was, is string) {
	c.likeness.Differ++
	if len(c.likeness.First) >= maxUnlike*len(results) {
		return
	}
	_, key, _ := strings.Cut(c.table.Key(values), "/")
	unlike := Unlike{Table: c.table.Name, Key: key, Column: column, Chunk: -1, Was: was, Is: is}
	if c.where[0] >= 0 && c.where[1] >= 0 {
		unlike.Source, unlike.Chunk = values[c.where[0]].(string), values[c.where[1]].(int64)
	}
	c.likeness.First = append(c.likeness.First, unlike)
}

// apart is a value for people that differs from another one: of two blobs, where they begin to differ.
func apart(value, other any) string {
	blob, is := value.([]byte)
	if !is {
		return fmt.Sprintf("%.200q", fmt.Sprint(value))
	}
	at := 0
	if others, are := other.([]byte); are {
		for at < min(len(blob), len(others)) && blob[at] == others[at] {
			at++
		}
	}
	return fmt.Sprintf("%x at byte %d of %d", blob[at:min(at+8, len(blob))], at, len(blob))
}
