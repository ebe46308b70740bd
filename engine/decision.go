package engine

import (
	"encoding/binary"

	"waymark/engine/barrier"
	"waymark/pipeline/row"
)

// joins numbers the decisions of one coalesce in the order in which they were first taken: many rows share one.
type joins struct {
	codes   []uint16
	decided []Decided
	known   map[string]uint16
	text    []byte
}

func newJoins(rows int) *joins { return &joins{codes: noTokens(rows), known: map[string]uint16{}} }

func (j *joins) add(i int, decision barrier.Decision) {
	j.text = appendDecision(j.text[:0], &decision)
	code, found := j.known[string(j.text)]
	if !found {
		code = uint16(len(j.decided))
		j.known[string(j.text)] = code
		j.decided = append(j.decided, Decided{Decision: decision.Clone()})
		j.decided[code].Row = row.Row{}
	}
	j.decided[code].Rows++
	j.codes[i] = code
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
	if d.Refused != nil {
		text = append(append(text, 0), d.Refused.Code...)
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
