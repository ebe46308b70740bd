package engine

import (
	"encoding/binary"

	"waymark/engine/barrier"
	"waymark/pipeline/row"
)

// merges numbers the decisions of one coalesce in the order in which they were first taken: many rows share one.
type merges struct {
	codes   []uint16
	decided []Decided
	known   map[string]uint16
	text    []byte
}

func newMerges(rows int) *merges { return &merges{codes: noTokens(rows), known: map[string]uint16{}} }

func (m *merges) add(i int, decision barrier.Decision) {
	m.text = appendDecision(m.text[:0], &decision)
	code, found := m.known[string(m.text)]
	if !found {
		code = uint16(len(m.decided))
		m.known[string(m.text)] = code
		m.decided = append(m.decided, Decided{Decision: decision.Clone()})
		m.decided[code].Row = row.Row{}
	}
	m.decided[code].Rows++
	m.codes[i] = code
}

// appendDecision appends what tells decisions apart.
func appendDecision(text []byte, d *barrier.Decision) []byte {
	text = append(append(text, d.FiredBy...), 0)
	text = appendBranches(text, d.Arrived)
	text = appendBranches(text, d.NotNeeded)
	for _, lost := range d.Lost {
		text = append(append(binary.AppendUvarint(text, uint64(lost.Branch)+1), lost.Reason...), 0)
	}
	text = append(text, 0)
	for _, field := range d.Collisions {
		text = append(append(text, field...), 0)
	}
	text = append(text, 0)
	for _, origin := range d.Origins {
		text = binary.AppendUvarint(append(append(text, origin.Field...), 0), uint64(origin.Branch))
	}
	if d.Rejected != nil {
		text = append(append(text, 0), d.Rejected.Code...)
	}
	return text
}

func appendBranches(text []byte, branches []int) []byte {
	text = binary.AppendUvarint(text, uint64(len(branches)))
	for _, b := range branches {
		text = binary.AppendUvarint(text, uint64(b))
	}
	return text
}
