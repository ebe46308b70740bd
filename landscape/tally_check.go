package landscape

import "fmt"

// checkForks refuses tokens that no fork or coalesce made, and forks and merges of which no token came.
func (t *tallied) checkForks(all lanes) error {
	rows := len(t.lanes[0].codes)
	for _, lane := range all.of(t.lanes[0].lane.Source) {
		var err error
		switch {
		case lane.IsRoot():
		case lane.IsMerged():
			err = t.checkMerged(lane, rows)
		default:
			err = t.checkBranch(lane, rows)
		}
		if err != nil {
			return laneError(lane, err)
		}
	}
	return nil
}

// checkBranch refuses a branch in which not exactly the tokens that were forked go on.
func (t *tallied) checkBranch(lane Lane, rows int) error {
	parents, children := t.at(*lane.Parent), t.at(lane.Lane)
	if children == nil && !parents.everForked(lane.Fork) {
		return nil
	}
	fits := map[[2]*Way]bool{}
	for i := range rows {
		parent, child := parents.way(i), children.way(i)
		forked := parent != nil && parent.forked(lane.Fork)
		if forked != (child != nil) {
			return fmt.Errorf("row %d of the chunk was forked: %v, has a token in the branch: %v", i, forked, child != nil)
		}
		if child == nil {
			continue
		}
		pair := [2]*Way{parent, child}
		if _, known := fits[pair]; !known {
			fits[pair] = child.continues(*parent)
		}
		if !fits[pair] {
			return fmt.Errorf("row %d of the chunk: way %s does not go on where %s was forked", i, child.Signature(), parent.Signature())
		}
	}
	return nil
}

// checkMerged refuses merges that are not exactly one for each token that was forked, and merged tokens without one.
func (t *tallied) checkMerged(lane Lane, rows int) error {
	parents, merges, tokens := t.at(*lane.Parent), t.mergesOf(lane.Lane), t.at(lane.Lane)
	if merges == nil && tokens == nil && !parents.everForked(lane.Fork) {
		return nil
	}
	for i := range rows {
		parent, kind, token := parents.way(i), merges.kind(i), tokens.way(i)
		if forked := parent != nil && parent.forked(lane.Fork); forked != (kind != nil) {
			return fmt.Errorf("row %d of the chunk was forked: %v, was merged: %v", i, forked, kind != nil)
		}
		if made := kind != nil && kind.Result != MergeNothing; made != (token != nil) {
			return fmt.Errorf("row %d of the chunk: a merge made a token: %v, there is one: %v", i, made, token != nil)
		}
		if kind == nil || token == nil {
			continue
		}
		if refused := token.failed() && len(token.Steps) == 1; refused != (kind.Result == MergeRejected) {
			return fmt.Errorf("row %d of the chunk: the merge is %s, its way %s", i, kind.Result, token.Signature())
		}
	}
	return nil
}

// everForked reports whether a token of the lane was forked there.
func (l *laneTally) everForked(fork string) bool {
	if l == nil {
		return false
	}
	for _, w := range l.ways {
		if w.forked(fork) {
			return true
		}
	}
	return false
}

// checkErrors refuses errors that are not exactly those of the tokens on failing ways.
func (t *tallied) checkErrors(rejections []Rejection) error {
	type place struct {
		lane  int64
		index int
	}
	wanted := map[place]bool{}
	for _, l := range t.lanes {
		for i := range l.codes {
			if w := l.way(i); w != nil && w.failed() {
				wanted[place{l.lane.Lane, i}] = true
			}
		}
	}
	refused := len(wanted)
	for _, r := range rejections {
		at := place{r.Lane, r.Index}
		if !wanted[at] {
			return fmt.Errorf("row %d, lane %d of the chunk has an error although it was not refused, or has more than one", r.Index, r.Lane)
		}
		delete(wanted, at)
	}
	if len(wanted) > 0 {
		return fmt.Errorf("%d errors, but %d rows were refused", len(rejections), refused)
	}
	return nil
}

// checkWrites refuses writes that are not exactly one per sink that gets rows.
func (t *tallied) checkWrites(writes []Write) error {
	sinks := t.sinkRows()
	for i, w := range writes {
		if sinks[w.Sink] == 0 {
			return fmt.Errorf("a write to sink %s, which gets no row", w.Sink)
		}
		for _, other := range writes[:i] {
			if other.Sink == w.Sink {
				return fmt.Errorf("two writes to sink %s", w.Sink)
			}
		}
	}
	if len(writes) != len(sinks) {
		return fmt.Errorf("%d sinks get rows, %d writes", len(sinks), len(writes))
	}
	return nil
}

// sinkRows returns how many rows each sink gets that gets any.
func (t *tallied) sinkRows() map[string]int64 {
	rows := map[string]int64{}
	for _, l := range t.lanes {
		for i, w := range l.ways {
			if w.ToSink() {
				rows[w.Sink] += l.rows[i]
			}
		}
	}
	return rows
}
