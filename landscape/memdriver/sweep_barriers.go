package memdriver

import (
	"waymark/landscape"
	"waymark/pipeline"
)

// tokens counts the tokens of a lane of a chunk, those on ways with a path that ended at a node, or all.
func (s *sweeping) tokens(at lanePlace, path pipeline.Path) (rows int64) {
	for _, u := range s.used {
		if u.Source != at.source || u.Chunk != at.chunk || u.Lane != at.lane {
			continue
		}
		if way := s.ways[u.Way]; path == "" || way.Path == string(path) && way.LastNode == at.node {
			rows += u.Rows
		}
	}
	return rows
}

// checkForks compares the tokens that a fork ended with those in each of its branches.
func (s *sweeping) checkForks() {
	branches := map[lanePlace]bool{}
	for _, lane := range s.lanes {
		if lane.IsRoot() || lane.IsMerged() {
			continue
		}
		for _, c := range all[landscape.Chunk](s.tables, s.run, lane.Source) {
			at := place{c.Source, c.Chunk, lane.Fork}
			parents := lanePlace{at, *lane.Parent}
			branches[parents] = true
			forked, present := s.tokens(parents, pipeline.ForkParent), s.tokens(lanePlace{at, lane.Lane}, "")
			if forked != present {
				s.report("fork_children", at, "forked %d rows, in branch %s %d", forked, lane.Name, present)
			}
		}
	}
	for _, u := range s.used {
		way := s.ways[u.Way]
		at := lanePlace{place{u.Source, u.Chunk, way.LastNode}, u.Lane}
		if way.Path == string(pipeline.ForkParent) && !branches[at] {
			s.report("fork_children", at.place, "forked %d rows into no branch", u.Rows)
		}
	}
}

// checkMerges compares the tokens that were forked with the merges about them, and those with the tokens that were made.
func (s *sweeping) checkMerges() {
	kinds := map[string]landscape.MergeKindRecord{}
	for _, k := range all[landscape.MergeKindRecord](s.tables, s.run) {
		kinds[k.Kind] = k
	}
	decided, made := map[lanePlace]int64{}, map[lanePlace]int64{}
	for _, j := range all[landscape.ChunkJoinRecord](s.tables, s.run) {
		at := lanePlace{place{j.Source, j.Chunk, ""}, j.Lane}
		decided[at] += j.Rows
		if kinds[j.Kind].Result != landscape.MergeNothing {
			made[at] += j.Rows
		}
	}
	for _, lane := range s.lanes {
		if !lane.IsMerged() {
			continue
		}
		for _, c := range all[landscape.Chunk](s.tables, s.run, lane.Source) {
			at := lanePlace{place{c.Source, c.Chunk, ""}, lane.Lane}
			forked := s.tokens(lanePlace{place{c.Source, c.Chunk, lane.Fork}, *lane.Parent}, pipeline.ForkParent)
			if present := s.tokens(at, ""); forked != decided[at] || made[at] != present {
				s.report("merge_once", place{c.Source, c.Chunk, lane.Node}, "forked %d rows, decided about %d, made %d rows, in lane %s %d",
					forked, decided[at], made[at], lane.Name, present)
			}
		}
	}
	s.checkHeldMerges()
}

// checkHeldMerges compares the merges of held coalesces with the batches and rows that they are about.
func (s *sweeping) checkHeldMerges() {
	merged, made, keys := map[batchPlace]bool{}, map[string]int64{}, map[lanePlace]bool{}
	for _, m := range all[landscape.MergeRecord](s.tables, s.run) {
		merged[batchPlace{m.Node, m.Batch}] = true
		if m.OutRow != nil {
			made[m.Node]++
		}
		key := lanePlace{place{m.Source, m.Row, m.Node}, m.Lane}
		if keys[key] {
			s.report("merge_once", place{"", -1, m.Node}, "row %d of %s in lane %d was merged twice", m.Row, m.Source, m.Lane)
		}
		keys[key] = true
	}
	for _, b := range all[landscape.BatchRecord](s.tables, s.run) {
		if b.Path == pipeline.Coalesced && !merged[batchPlace{b.Node, b.Batch}] {
			s.report("merge_once", place{"", -1, b.Node}, "batch %d is merged, and no merge says how", b.Batch)
		}
	}
	for node, n := range s.nodes {
		if n.Operation != "coalesce" || n.Hashes != landscape.RecordHashes {
			continue
		}
		if rows := s.chunkRows(node, nil); rows != made[node] {
			s.report("merge_once", place{node, -1, node}, "rows that came out %d, merges that made one %d", rows, made[node])
		}
	}
}

// chunkRows counts the rows of a barrier's chunks, those of one fold or all.
func (s *sweeping) chunkRows(node string, fold *int64) (rows int64) {
	for _, c := range all[landscape.Chunk](s.tables, s.run, node) {
		if fold == nil || c.Fold != nil && *c.Fold == *fold {
			rows += c.Rows
		}
	}
	return rows
}

// checkFolds looks whether every barrier has its folds, up to the end.
func (s *sweeping) checkFolds() {
	for _, source := range all[landscape.Source](s.tables, s.run) {
		if s.nodes[source.Source].Kind != landscape.StepNode {
			continue
		}
		folds := all[landscape.FoldRecord](s.tables, s.run, source.Source)
		at := place{"", -1, source.Source}
		if n := len(folds); n == 0 || folds[n-1].Fold != int64(n)-1 || folds[n-1].Kind != landscape.EndFold {
			s.report("fold_sequence", at, "%d folds, and the last is not number %d of kind end", n, n-1)
		}
		for _, f := range folds {
			if f.Kind == landscape.EndFold && (f.Open > 0 || f.Held > 0) {
				s.report("members_settled", at, "at its end %d batches with %d rows did not fire", f.Open, f.Held)
			}
		}
	}
}

// checkMembers compares the tokens that barriers took with their members, and those with the batches that fired.
func (s *sweeping) checkMembers() {
	taken, settled := map[lanePlace]int64{}, map[string]int64{}
	for _, u := range s.used {
		if way := s.ways[u.Way]; way.Path == string(pipeline.Buffered) {
			taken[lanePlace{place{u.Source, u.Chunk, way.LastNode}, u.Lane}] += u.Rows
		}
	}
	for _, m := range all[landscape.MembersRecord](s.tables, s.run) {
		taken[lanePlace{place{m.Source, m.Chunk, m.Node}, m.Lane}] -= m.Rows
		settled[m.Node] += m.Rows
	}
	for at, rows := range taken {
		if rows != 0 {
			s.report("members_settled", at.place, "took in %d rows of lane %d more than there are members", rows, at.lane)
		}
	}
	for _, b := range all[landscape.BatchRecord](s.tables, s.run) {
		settled[b.Node] -= b.Rows
	}
	for node, rows := range settled {
		if rows != 0 {
			s.report("members_settled", place{"", -1, node}, "%d members more than in batches that fired", rows)
		}
	}
}

// checkDerived compares the rows that came out of folds with the chunks that hold them, and those with their parents.
func (s *sweeping) checkDerived() {
	for _, f := range all[landscape.FoldRecord](s.tables, s.run) {
		if rows := s.chunkRows(f.Node, &f.Fold); rows != f.Out {
			s.report("derived_rows", place{f.Node, -1, f.Node}, "fold %d: out %d rows, in its chunks %d", f.Fold, f.Out, rows)
		}
	}
	for _, c := range all[landscape.Chunk](s.tables, s.run) {
		if c.Fold == nil {
			continue
		}
		var known int64
		for _, p := range all[landscape.ParentsRecord](s.tables, s.run, c.Source, c.Chunk) {
			known += p.Rows
		}
		if known != c.Rows {
			s.report("derived_rows", place{c.Source, c.Chunk, c.Source}, "in %d rows, with parents %d", c.Rows, known)
		}
	}
}

// batchPlace is a batch of a barrier.
type batchPlace struct {
	node  string
	batch int64
}
