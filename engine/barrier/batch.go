package barrier

import (
	"container/list"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// batch is an open batch.
type batch struct {
	number   uint32
	rows     int64
	opened   int64 // µs
	latest   int64 // which of all tokens that ever arrived came last
	key      string
	group    []row.Value
	detached bool          // group has memory of its own
	members  []member      // rows that may come out again, in order of arrival
	passed   [][]Token     // of a deduplicate: the open forks of the rows before the last, in order of arrival
	totals   []accumulator // of an aggregate, one for each call
	bytes    int           // of what it keeps
	growing  bool          // it is in gathering.grown
	queued   *list.Element
	place    int // in gathering.large, plan.None if it is not there
}

// member is a row that may come out again.
type member struct {
	token    Token
	keys     []Token
	row      row.Row
	detached bool // it has memory of its own
}

// What things take in memory, about: a member besides its open forks, values and texts; a token; a slice.
const (
	memberBytes = 96
	tokenBytes  = 16
	sliceBytes  = 24
)

func (b *batch) settled(trigger string, at int64) Batch {
	return Batch{Number: b.number, Trigger: trigger, Path: pipeline.BatchConsumed, Rows: b.rows, Opened: moment(b.opened), Fired: moment(at)}
}

// keep adds the row to the batch as one that may come out again.
func (b *batch) keep(a *Arrival) int {
	m := newMember(a)
	b.members = append(b.members, m)
	return m.bytes()
}

func newMember(a *Arrival) member {
	own := a.Row.Shape.Len()
	return member{token: a.Token, keys: a.Keys, row: row.Row{Shape: a.Row.Shape, Values: a.Row.Values[:own:own]}}
}

func (m *member) bytes() int {
	return memberBytes + len(m.keys)*tokenBytes + valueBytes(m.row.Values)
}

// passedBytes is what is kept of a row that will not come out, about.
func passedBytes(keys []Token) int { return sliceBytes + len(keys)*tokenBytes }

// size returns what the batch keeps, in bytes.
func (b *batch) size() int {
	bytes := 0
	for i := range b.members {
		bytes += b.members[i].bytes()
	}
	for _, keys := range b.passed {
		bytes += passedBytes(keys)
	}
	for _, total := range b.totals {
		bytes += total.bytes()
	}
	return bytes
}

// out returns the row as it comes out again.
func (m *member) out(b *batch) Out {
	return Out{Batch: b.number, Parent: &m.token, Keys: m.keys, Row: m.row}
}

func (b *batch) detachGroup() {
	if !b.detached {
		b.group, b.detached = detachValues(b.group), true
	}
}

// detachMembers gives the rows of the batch memory of their own.
func (b *batch) detachMembers() {
	for i := range b.members {
		if m := &b.members[i]; !m.detached {
			m.detached = true
			m.keys = slices.Clone(m.keys)
			m.row.Values = detachValues(m.row.Values)
		}
	}
}
