package landscape

import (
	"errors"
	"fmt"
)

// tallied is which way each token of a chunk took, in canonical form.
type tallied struct {
	lanes  []*laneTally  // by lane: the root lane, and those with tokens
	merges []*mergeTally // by lane: those with merges
}

// laneTally is which way each token of one lane took.
type laneTally struct {
	lane Lane
	ways []Way
	ids  []string
	numbered
}

// mergeTally is what one coalesce made of the rows of a chunk.
type mergeTally struct {
	lane  Lane
	kinds []MergeKind
	ids   []string
	numbered
}

// tally checks that a passage accounts for every row of its chunk, and for every token that comes of a row.
func tally(chunk Chunk, all lanes, p Passage) (*tallied, error) {
	if all.root(p.Source) < 0 {
		return nil, fmt.Errorf("lanes of source %s: %w", p.Source, ErrNotFound)
	}
	for _, routes := range p.Lanes {
		if _, err := all.at(p.Source, routes.Lane); err != nil {
			return nil, err
		}
	}
	for _, merged := range p.Merges {
		if lane, err := all.at(p.Source, merged.Lane); err != nil || !lane.IsMerged() {
			return nil, fmt.Errorf("joins of lane %d, which no coalesce makes", merged.Lane)
		}
	}
	t := &tallied{}
	for _, lane := range all.of(p.Source) {
		if err := t.addLane(chunk, lane, p); err != nil {
			return nil, laneError(lane, err)
		}
	}
	return t, errors.Join(t.checkForks(all), t.checkErrors(p.Errors), t.checkWrites(p.Writes))
}

// laneError names the lane, unless it is a root lane.
func laneError(lane Lane, err error) error {
	if lane.IsRoot() {
		return err
	}
	return fmt.Errorf("lane %s: %w", lane.Name, err)
}

// addLane adds the tokens of one lane, and the merges of which they come.
func (t *tallied) addLane(chunk Chunk, lane Lane, p Passage) error {
	routes, err := only(p.Lanes, func(r LaneRoutes) bool { return r.Lane == lane.Lane })
	if err != nil {
		return err
	}
	merged, err := only(p.Merges, func(m LaneMerges) bool { return m.Lane == lane.Lane })
	if err != nil {
		return err
	}
	if routes != nil || lane.IsRoot() {
		if routes == nil {
			routes = &LaneRoutes{}
		}
		if err := t.addRoutes(chunk, lane, *routes); err != nil {
			return err
		}
	}
	if merged != nil {
		return t.addMerges(chunk, lane, *merged)
	}
	return nil
}

// only returns the one thing that fits, nil if there is none, and an error if there are two.
func only[T any](list []T, fits func(T) bool) (*T, error) {
	var found *T
	for i := range list {
		if !fits(list[i]) {
			continue
		}
		if found != nil {
			return nil, errors.New("the lane is there twice")
		}
		found = &list[i]
	}
	return found, nil
}

func (t *tallied) addRoutes(chunk Chunk, lane Lane, routes LaneRoutes) error {
	if int64(len(routes.Codes)) != chunk.Rows {
		return fmt.Errorf("the chunk has %d rows, the passage %d", chunk.Rows, len(routes.Codes))
	}
	codes, bad := numberCodes(routes.Codes, len(routes.Ways), !lane.IsRoot())
	if bad >= 0 {
		return fmt.Errorf("row %d: there is no way %d", chunk.FirstRow+int64(bad), routes.Codes[bad])
	}
	if len(codes.order) != len(routes.Ways) {
		return fmt.Errorf("%d ways, but rows on %d of them", len(routes.Ways), len(codes.order))
	}
	if len(codes.order) == 0 && !lane.IsRoot() {
		return nil // a lane without tokens is not recorded
	}
	l := &laneTally{lane: lane, numbered: codes}
	for _, at := range codes.order {
		l.ways = append(l.ways, routes.Ways[at])
	}
	t.lanes = append(t.lanes, l)
	return l.checkWays()
}

// checkWays refuses ways that cannot be, and the same way twice.
func (l *laneTally) checkWays() error {
	seen := map[string]bool{}
	for _, w := range l.ways {
		if err := w.check(l.lane); err != nil {
			return err
		}
		id := w.ID()
		if seen[id] {
			return fmt.Errorf("way %s is there twice", w.Signature())
		}
		seen[id] = true
		l.ids = append(l.ids, id)
	}
	return nil
}

func (t *tallied) addMerges(chunk Chunk, lane Lane, merged LaneMerges) error {
	if int64(len(merged.Codes)) != chunk.Rows {
		return fmt.Errorf("the chunk has %d rows, the joins %d", chunk.Rows, len(merged.Codes))
	}
	codes, bad := numberCodes(merged.Codes, len(merged.Kinds), true)
	if bad >= 0 {
		return fmt.Errorf("row %d: there is no kind of merge %d", chunk.FirstRow+int64(bad), merged.Codes[bad])
	}
	if len(codes.order) != len(merged.Kinds) {
		return fmt.Errorf("%d kinds of merges, but merges of %d of them", len(merged.Kinds), len(codes.order))
	}
	if len(codes.order) == 0 {
		return nil
	}
	m := &mergeTally{lane: lane, numbered: codes}
	for _, at := range codes.order {
		m.kinds = append(m.kinds, merged.Kinds[at])
	}
	t.merges = append(t.merges, m)
	return m.checkKinds()
}

// checkKinds refuses kinds that cannot be or are of another coalesce, and the same kind twice.
func (m *mergeTally) checkKinds() error {
	seen := map[string]bool{}
	for _, k := range m.kinds {
		if err := k.check(); err != nil {
			return err
		}
		id := k.ID()
		if k.Node != m.lane.Node || seen[id] {
			return fmt.Errorf("merge kind %s of %s is there twice, or of another coalesce", id, k.Node)
		}
		seen[id] = true
		m.ids = append(m.ids, id)
	}
	return nil
}

// at returns the tally of a lane; nil if it has no token.
func (t *tallied) at(lane int64) *laneTally {
	for _, l := range t.lanes {
		if l.lane.Lane == lane {
			return l
		}
	}
	return nil
}

// mergesOf returns the merges of a lane; nil if there is none.
func (t *tallied) mergesOf(lane int64) *mergeTally {
	for _, m := range t.merges {
		if m.lane.Lane == lane {
			return m
		}
	}
	return nil
}

// way returns the way of row i in the lane; nil if it has no token there.
func (l *laneTally) way(i int) *Way {
	if l == nil || l.codes[i] == NoToken {
		return nil
	}
	return &l.ways[l.codes[i]]
}

// kind returns the merge of row i; nil if there is none.
func (m *mergeTally) kind(i int) *MergeKind {
	if m == nil || m.codes[i] == NoToken {
		return nil
	}
	return &m.kinds[m.codes[i]]
}
