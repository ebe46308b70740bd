package sweep

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"waymark/landscape"
)

// codeEnd is how the tokens with one code end, as far as the code tells.
type codeEnd struct {
	way       *wayEnd // nil if none of the lane is recorded
	barrier   bool    // a barrier took them in: their batches tell
	finalized bool    // their sink confirmed them
	late      bool    // their sink refused some rows of the chunk
	fine      bool    // nothing is wrong with a token that no batch and no error is of
}

// ends returns what the codes of a lane mean, by code.
func (s *chunkSweep) ends(lane landscape.Lane) []*codeEnd {
	var ends []*codeEnd
	for _, u := range s.used {
		if u.Lane != lane.Lane || u.Code < 0 || u.Code > 0xFFFF {
			continue
		}
		for int64(len(ends)) <= u.Code {
			ends = append(ends, nil)
		}
		end := new(codeEnd)
		if way := s.ways[u.Way]; way != nil && way.Lane == lane.Lane {
			end.way = way
			end.barrier = end.way.Path == "buffered"
			for _, w := range s.effects[s.key()] {
				if w.Sink == end.way.Sink {
					end.finalized, end.late = w.State == landscape.Finalized, w.Refused > 0
				}
			}
		}
		end.fine = s.outcomeOf(lane, token{end: end}).wrong() == ""
		ends[u.Code] = end
	}
	return ends
}

// token is one token, as far as its record tells.
type token struct {
	end     *codeEnd // nil if its code means nothing
	number  int64    // of its batch; -1 if there is none on record
	settled batch    // its batch, if it fired
	late    bool     // its sink refused it
	failed  bool     // there is an error of it at the node that it ended at
}

// tokens looks at the tokens of a lane, from the first row to the last.
type tokens struct {
	*chunkSweep
	lane    landscape.Lane
	refused []refused           // of the lane, from the present row on
	members map[string][][]byte // by barrier and slice
}

// memberSlice is to which batches of a barrier tokens of a slice went.
type memberSlice struct {
	Run     string `db:"run_id,key"`
	Node    string `db:"node,key"`
	Source  string `db:"source,key"`
	Chunk   int64  `db:"chunk,key"`
	Lane    int64  `db:"lane,key"`
	Slice   int64  `db:"slice,key"`
	Batches []byte `db:"batches"`
}

// Table returns members.
func (memberSlice) Table() string { return "members" }

// loadMembers reads to which batches tokens of the lane went.
func (t *tokens) loadMembers(ctx context.Context, ends []*codeEnd) error {
	t.members = map[string][][]byte{}
	for _, end := range ends {
		if end == nil || !end.barrier || t.members[end.way.LastNode] != nil {
			continue
		}
		slices := make([][]byte, (t.Rows+landscape.SliceRows-1)/landscape.SliceRows)
		err := landscape.Each(ctx, t.reader, func(m memberSlice) bool {
			if m.Slice >= 0 && m.Slice < int64(len(slices)) {
				slices[m.Slice] = m.Batches
			}
			return true
		}, t.Run, end.way.LastNode, t.Source, t.Chunk, t.lane.Lane)
		if err != nil {
			return err
		}
		t.members[end.way.LastNode] = slices
	}
	return nil
}

// look looks at the token of record number i. Its end is nil if its code means nothing.
func (t *tokens) look(i int64, end *codeEnd) {
	row := t.FirstRow + i
	for len(t.refused) > 0 && t.refused[0].row < row {
		t.refused = t.refused[1:]
	}
	is := token{end: end, number: -1}
	if len(t.refused) > 0 && t.refused[0].row == row {
		is.late = end != nil && end.late && t.refusedAt(row, end.way.Sink)
		is.failed = end != nil && end.way != nil && (is.late || t.refusedAt(row, end.way.LastNode))
	}
	if end != nil && end.way != nil && !is.late {
		t.lines[end.way.Sink]++
	}
	if end != nil && end.fine && !end.barrier && !is.late && is.failed == (end.way.Outcome == "failure") {
		return
	}
	if end != nil && end.barrier {
		is.number, is.settled = t.batchOf(i, end.way.LastNode)
		if is.settled.fine && !is.failed && !is.late && end.way.Sink == "" {
			return
		}
	}
	outcome := t.outcomeOf(t.lane, is)
	if wrong := outcome.wrong(); wrong != "" && len(t.found) < MostFindings {
		t.report("token_outcome", outcome.last, "token %s %s", t.id(row), wrong)
	}
}

// refusedAt reports whether there is an error of the row at a node.
func (t *tokens) refusedAt(row int64, node string) bool {
	for _, r := range t.refused {
		if r.row != row {
			return false
		}
		if t.nodes[r.node] == node {
			return true
		}
	}
	return false
}

// batchOf returns the number of the batch of a barrier to which the token of record number i went, and the batch if it fired.
func (t *tokens) batchOf(i int64, node string) (int64, batch) {
	slice, at := t.members[node][i/landscape.SliceRows], 4*(i%landscape.SliceRows)
	if int64(len(slice)) < at+4 {
		return -1, batch{}
	}
	number := int64(binary.BigEndian.Uint32(slice[at:]))
	if found := t.batches[node][number]; found.there {
		return number, found
	}
	return number, batch{}
}

func (t *tokens) id(row int64) string {
	id := fmt.Sprintf("%s:%d", t.Source, row)
	if t.lane.Name != "" {
		id += "/" + t.lane.Name
	}
	return id
}

// outcome is how a token ended. Of the groups of tokens, those that it does not have are empty.
type outcome struct {
	completed, failed         bool
	outcome, path, last, sink string
	confirmed                 bool // by the sink, if it is one that confirms
	fork, join, expand, batch string
}

// unconfirmed are the ends at which no sink's target confirms anything.
var unconfirmed = []string{"", "__quarantine__", "__discard__"}

// outcomeOf returns how a token ended, as the view token_outcomes says it.
func (s *chunkSweep) outcomeOf(lane landscape.Lane, t token) outcome {
	if t.end == nil || t.end.way == nil {
		return outcome{}
	}
	way := t.end.way
	o := outcome{failed: t.failed, sink: way.Sink, last: way.LastNode}
	o.confirmed = t.end.finalized || slices.Contains(unconfirmed, way.Sink)
	if o.completed = o.confirmed; t.end.barrier {
		o.completed = t.settled.there
	}
	switch {
	case t.late:
		o.outcome, o.path, o.sink, o.last, o.confirmed = "failure", "on_error_routed", "__quarantine__", way.Sink, true
	case !o.completed:
	case !t.end.barrier:
		o.outcome, o.path = way.Outcome, way.Path
	default:
		o.outcome, o.path = "transient", s.paths[t.settled.path]
		if o.path == "coalesced" {
			o.outcome = "success"
		}
	}
	s.group(&o, lane, t)
	return o
}

// group tells of which groups the token is.
func (s *chunkSweep) group(o *outcome, lane landscape.Lane, t token) {
	way, batch := t.end.way, fmt.Sprintf("%s:%d", t.end.way.LastNode, t.number)
	switch way.Path {
	case "fork_parent":
		o.fork = "its own"
	case "coalesced":
		o.join = s.joined[laneNode{lane.Lane, way.LastNode}]
	}
	if !t.settled.there {
		return
	}
	switch s.paths[t.settled.path] {
	case "coalesced":
		if o.join = ""; t.settled.made {
			o.join = batch
		}
	case "expand_parent":
		o.expand = "its own"
	case "batch_consumed":
		o.batch = batch
	}
}

// legal are the outcomes that a token which ended may have, by path.
var legal = map[string]string{
	"default_flow": "success", "gate_routed": "success", "gate_discarded": "success", "filter_dropped": "success", "coalesced": "success",
	"on_error_routed": "failure", "unrouted": "failure", "quarantined_at_source": "failure", "sink_discarded": "failure",
	"fork_parent": "transient", "expand_parent": "transient", "batch_consumed": "transient", "branch_not_needed": "transient",
}

// sinkless are the paths that end at no sink.
var sinkless = []string{"gate_discarded", "filter_dropped", "coalesced", "fork_parent", "expand_parent", "batch_consumed", "branch_not_needed"}

// wrong says what of a token's end cannot be; "" if all can.
func (o outcome) wrong() string {
	has := map[bool]string{true: " with", false: " without"}
	switch {
	case !o.completed && o.path != "":
		return "is open and has an outcome"
	case !o.completed:
		return "has no completed outcome"
	case legal[o.path] != o.outcome || o.outcome == "":
		return "ends as " + o.outcome + " " + o.path
	case (o.outcome == "failure") != o.failed:
		return "ends as " + o.outcome + has[o.failed] + " an error"
	case slices.Contains(sinkless, o.path) != (o.sink == ""):
		return o.path + " at sink " + orNone(o.sink)
	case (o.path == "fork_parent") != (o.fork != "") || (o.path == "coalesced") != (o.join != "") ||
		(o.path == "expand_parent") != (o.expand != "") || (o.path == "batch_consumed") != (o.batch != ""):
		return o.path + " of fork " + orNone(o.fork) + ", join " + orNone(o.join) + ", expansion " + orNone(o.expand) + ", batch " + orNone(o.batch)
	case !o.confirmed:
		return "is complete, and its sink never confirmed it"
	}
	return ""
}

func orNone(text string) string { return cmp.Or(text, "none") }
