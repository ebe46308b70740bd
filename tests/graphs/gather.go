package graphs

import (
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// gatherer is an aggregate or a sort: it gathers the rows of each group into batches.
type gatherer struct {
	in      *interpreter
	node    *node
	groupBy []string
	make    func(g *gatherer, b *openBatch) settlement // what comes of a batch
	open    []*openBatch                               // in order of opening
}

// openBatch is the rows of one group since the group's last batch.
type openBatch struct {
	group   string
	members []event
	trigger string
}

func (g *gatherer) accept(events []event) settlement {
	var s settlement
	for _, e := range events {
		b := g.batchOf(e.row)
		b.members = append(b.members, e)
		if g.together() {
			s.add(g.fireOpen("rows"))
			continue
		}
		if b.trigger = g.triggered(b); b.trigger != "" {
			g.open = slices.DeleteFunc(g.open, func(other *openBatch) bool { return other == b })
			s.add(g.fire(b))
		}
	}
	return s
}

func (g *gatherer) end() settlement { return g.fireOpen("end") }

// together reports whether the open batches have as many rows, all in all, as the trigger says.
func (g *gatherer) together() bool {
	t := g.node.step.Trigger
	if t == nil || t.Over != "step" {
		return false
	}
	rows := 0
	for _, b := range g.open {
		rows += len(b.members)
	}
	return rows >= t.Rows
}

// fireOpen ends all open batches, in order of opening.
func (g *gatherer) fireOpen(trigger string) settlement {
	var s settlement
	for _, b := range g.open {
		b.trigger = trigger
		s.add(g.fire(b))
	}
	g.open = nil
	return s
}

func (s *settlement) add(more settlement) {
	s.outs = append(s.outs, more.outs...)
	s.lost = append(s.lost, more.lost...)
}

func (g *gatherer) batchOf(r row.Row) *openBatch {
	group := keyOf(r, g.groupBy)
	for _, b := range g.open {
		if b.group == group {
			return b
		}
	}
	b := &openBatch{group: group}
	g.open = append(g.open, b)
	return b
}

// triggered returns the trigger that ends the batch after its latest row.
func (g *gatherer) triggered(b *openBatch) string {
	t := g.node.step.Trigger
	switch {
	case t == nil:
		return ""
	case t.Rows > 0 && t.Over != "step" && len(b.members) >= t.Rows:
		return "rows"
	case t.When != "" && g.in.programs.when(g.node.step, b.members):
		return "when"
	}
	return ""
}

func (g *gatherer) fire(b *openBatch) settlement {
	batch := g.in.settled(g.node, b.trigger, pipeline.BatchConsumed, b.members)
	s := g.make(g, b)
	for i := range s.outs {
		s.outs[i].batch = batch
	}
	return s
}

// settled ends the members of a batch.
func (in *interpreter) settled(n *node, trigger string, path pipeline.Path, members []event) *Batch {
	batch := &Batch{Node: n.name, Trigger: trigger, Path: path}
	for _, m := range members {
		batch.Members = append(batch.Members, m.token.id())
		in.note(m.token, n, path)
	}
	in.result.Batches = append(in.result.Batches, batch)
	return batch
}

// transformed is one row of the group's fields and the computed ones.
func transformed(g *gatherer, b *openBatch) settlement {
	out := newFields()
	for _, name := range g.groupBy {
		value, _ := b.members[0].row.Get(name)
		out.put(name, value)
	}
	computed, refused := g.in.programs.computed(g.node.step.Aggregate, b.members)
	if refused == nil {
		for i, entry := range g.node.step.Aggregate.Compute {
			out.put(entry.Name, computed[i])
		}
	}
	return settlement{outs: []birth{{row: out.row(), refused: refused, parents: tokensOf(b.members)}}}
}

// passedThrough is the rows of the batch with the computed fields.
func passedThrough(g *gatherer, b *openBatch) settlement {
	var s settlement
	computed, refused := g.in.programs.computed(g.node.step.Aggregate, b.members)
	for _, m := range b.members {
		out := fieldsOf(m.row)
		if refused == nil {
			for i, entry := range g.node.step.Aggregate.Compute {
				out.put(entry.Name, computed[i])
			}
		}
		s.outs = append(s.outs, continuing(m, out.row(), refused))
	}
	return s
}

// sorted is the first rows of the batch in order. Those that are cut are lost.
func sorted(g *gatherer, b *openBatch) settlement {
	spec := g.node.step.Sort
	members := slices.Clone(b.members)
	slices.SortStableFunc(members, func(x, y event) int { return compareRows(spec.By, x.row, y.row) })
	var s settlement
	for i, m := range members {
		if spec.Top > 0 && i >= spec.Top {
			s.lost = append(s.lost, lostAt(m)...)
			continue
		}
		s.outs = append(s.outs, continuing(m, m.row, nil))
	}
	return s
}

// continuing is a row that continues for a token that a barrier kept.
func continuing(m event, r row.Row, refused *Refusal) birth {
	return birth{row: r, refused: refused, parents: []*token{m.token}, open: m.token.open}
}

// lostAt is the branch for which a token stood that ends in a barrier.
func lostAt(m event) []*loss {
	if len(m.token.open) == 0 {
		return nil
	}
	return []*loss{{m.token.open[len(m.token.open)-1], pipeline.BatchConsumed}}
}

// lastOfKey is a deduplicate that keeps the last row of each key, in the order of these rows.
type lastOfKey struct {
	in   *interpreter
	node *node
	rows []event // all that came
}

func (l *lastOfKey) accept(events []event) settlement {
	l.rows = append(l.rows, events...)
	return settlement{}
}

func (l *lastOfKey) end() settlement {
	var keys []string
	groups := map[string][]event{}
	for _, e := range l.rows {
		key := keyOf(e.row, l.node.step.Deduplicate.Key)
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], e)
	}
	var s settlement
	lasts := map[*token]*Batch{}
	for _, key := range keys {
		members := groups[key]
		last := members[len(members)-1]
		lasts[last.token] = l.in.settled(l.node, "end", pipeline.BatchConsumed, members)
		for _, m := range members[:len(members)-1] {
			s.lost = append(s.lost, lostAt(m)...)
		}
	}
	for _, e := range l.rows {
		if batch := lasts[e.token]; batch != nil {
			out := continuing(e, e.row, nil)
			out.batch = batch
			s.outs = append(s.outs, out)
		}
	}
	return s
}

func tokensOf(members []event) []*token {
	var tokens []*token
	for _, m := range members {
		tokens = append(tokens, m.token)
	}
	return tokens
}
