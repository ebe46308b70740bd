package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/amount"
)

// WaySum is a total of the tokens of one lane of a chunk that took a way, as they left one of its steps and those after it.
type WaySum struct {
	Way        int // index into LaneRoutes.Ways
	Total      string
	Seq        int64  // of the step
	Amount     string // decimal, as amount.Sum writes it
	Unreadable int64  // tokens whose amount cannot be read, and is not in Amount
}

// WayTotalRecord is a total of the tokens of a chunk that took a way, as they left one of its steps: the first that is their own, the fork that
// copied them, or one that may change the amount. It holds until the next such step.
type WayTotalRecord struct {
	Run        string `db:"run_id,key"`
	Source     string `db:"source,key"`
	Chunk      int64  `db:"chunk,key"`
	Lane       int64  `db:"lane,key"`
	Code       int64  `db:"code,key"` // of the way in chunk_ways
	Total      string `db:"total,key"`
	Seq        int64  `db:"seq,key"` // of the step in way_steps
	Amount     string `db:"amount"`
	Unreadable int64  `db:"unreadable"`
}

// Table returns way_totals.
func (WayTotalRecord) Table() string { return "way_totals" }

// appendSums appends the totals of the ways of each lane.
func (t *tallied) appendSums(insert []Record, p Passage) ([]Record, error) {
	for _, l := range t.lanes {
		routes, err := only(p.Lanes, func(r LaneRoutes) bool { return r.Lane == l.lane.Lane })
		if err != nil {
			return nil, err
		}
		if routes == nil { // of an empty chunk
			continue
		}
		for i, sum := range routes.Sums {
			code := slices.Index(l.order, sum.Way)
			err := l.checkSum(code, sum)
			if slices.ContainsFunc(routes.Sums[:i], func(s WaySum) bool { return s.Way == sum.Way && s.Seq == sum.Seq && s.Total == sum.Total }) {
				err = errors.New("it is there twice")
			}
			if err != nil {
				return nil, fmt.Errorf("total %s of way %d: %w", sum.Total, sum.Way, err)
			}
			insert = append(insert, WayTotalRecord{
				Run: p.Run, Source: p.Source, Chunk: p.Chunk, Lane: l.lane.Lane, Code: int64(code), Total: sum.Total, Seq: sum.Seq,
				Amount: sum.Amount, Unreadable: sum.Unreadable,
			})
		}
	}
	return insert, nil
}

// checkSum refuses a total that its way cannot have.
func (l *laneTally) checkSum(code int, sum WaySum) error {
	switch {
	case code < 0:
		return errors.New("there is no such way")
	case sum.Total == "":
		return errors.New("it has no name")
	case sum.Seq < int64(max(l.ways[code].First-1, 0)) || sum.Seq >= int64(len(l.ways[code].Steps)):
		return fmt.Errorf("step %d is none of the token's own", sum.Seq)
	case sum.Unreadable < 0 || sum.Unreadable > l.rows[code]:
		return fmt.Errorf("%d of %d amounts are unreadable", sum.Unreadable, l.rows[code])
	}
	_, err := amount.Parse(sum.Amount)
	return err
}

// NodeTotal is the account of a total at one node: In + Created + Revalued = Out + Dropped + Diverted + Consumed. Amounts are decimals.
type NodeTotal struct {
	Total      string   `json:"total"`
	Node       string   `json:"node"`
	Kind       NodeKind `json:"kind"`
	In         string   `json:"in"`
	Created    string   `json:"created"`  // of copies of a fork, and of rows that a coalesce or a barrier made
	Revalued   string   `json:"revalued"` // by how much the step changed the amounts of rows, of which some may have had none, or have none now
	Out        string   `json:"out"`      // of a sink: what the target confirmed
	Dropped    string   `json:"dropped"`
	Diverted   string   `json:"diverted"`   // of rows that the node refused
	Consumed   string   `json:"consumed"`   // of rows that ended here so that others continue; a barrier may still hold them
	Unreadable int64    `json:"unreadable"` // rows here whose amount cannot be read, and is in none of the amounts

	UnreadableBefore int64 `json:"unreadable_before"` // of the rows in Revalued: those whose amount could not be read before the step
	UnreadableAfter  int64 `json:"unreadable_after"`  // and those whose amount cannot be read after it
}

// Totals are the totals of a run.
type Totals struct {
	Nodes       []NodeTotal       `json:"nodes"`       // by total, then in document order; only of nodes to which rows came
	Quarantined map[string]string `json:"quarantined"` // by total: of rows that are kept in the landscape only
	Discarded   map[string]string `json:"discarded"`   // by total: of rows that filters and the like dropped, or that were discarded
	Unreadable  int64             `json:"unreadable"`  // amounts that cannot be read; 0: all are known
}

// Totals returns the totals of a run; nil if none is recorded. It reads a few records per chunk. The amounts of rows that a target refused late are
// those of refused rows, and not of what it confirmed.
func (r *Reader) Totals(ctx context.Context, run string) (*Totals, error) {
	s := &totaling{sums: map[wayTotal]map[int64]*segment{}, accounts: map[nodeTotal]*account{}, ends: [2]map[string]*amount.Sum{{}, {}}}
	for _, step := range []func(*totaling, context.Context, RecordReader, string) error{
		(*totaling).addSums, (*totaling).addGraph, (*totaling).addWays, (*totaling).addLate,
	} {
		if err := step(s, ctx, r.from, run); err != nil || len(s.sums) == 0 {
			return nil, err
		}
	}
	return s.result(), nil
}

type wayTotal struct{ way, total string }

type nodeTotal struct{ node, total string }

// segment is a total of the tokens of a way from a step on.
type segment struct {
	all        amount.Sum
	written    amount.Sum // of these, of tokens whose part the target of their sink confirmed
	unreadable int64
}

// account is a NodeTotal in the making.
type account struct {
	in, created, revalued, out, dropped, diverted, consumed amount.Sum
	unreadable, before, after                               int64
}

// totaling is Totals in the making.
type totaling struct {
	sums       map[wayTotal]map[int64]*segment
	nodes      []Node
	kinds      map[string]NodeKind
	accounts   map[nodeTotal]*account
	ends       [2]map[string]*amount.Sum // quarantined, discarded
	unreadable int64
}

// addSums adds up what the chunks have.
func (s *totaling) addSums(ctx context.Context, d RecordReader, run string) error {
	records, err := Select[WayTotalRecord](ctx, d, run)
	if err != nil || len(records) == 0 {
		return err
	}
	type place struct {
		key        ChunkKey
		lane, code int64
	}
	ways, written := map[place]string{}, map[EffectKey]bool{}
	err = each(ctx, d, []any{run}, func(w ChunkWayRecord) bool {
		ways[place{ChunkKey{w.Source, w.Chunk}, w.Lane, w.Code}] = w.Way
		return true
	})
	if err != nil {
		return err
	}
	err = each(ctx, d, []any{run}, func(e Effect) bool {
		if e.Kind == WriteEffect && e.State == Finalized {
			written[e.EffectKey] = true
		}
		return true
	})
	if err != nil {
		return err
	}
	sinks := map[string]string{}
	if err := each(ctx, d, []any{run}, func(w WayRecord) bool { sinks[w.Way] = w.Sink; return true }); err != nil {
		return err
	}
	for _, record := range records {
		way, ok := ways[place{ChunkKey{record.Source, record.Chunk}, record.Lane, record.Code}]
		added, err := amount.Parse(record.Amount)
		if err != nil || !ok {
			return incomplete("total %s of %s chunk %d, way %d: %q", record.Total, record.Source, record.Chunk, record.Code, record.Amount)
		}
		key := EffectKey{Run: run, Sink: sinks[way], Source: record.Source, Chunk: record.Chunk}
		s.segment(wayTotal{way, record.Total}, record.Seq).add(added, record.Unreadable, written[key])
		s.unreadable += record.Unreadable
	}
	return nil
}

func (s *totaling) segment(of wayTotal, seq int64) *segment {
	if s.sums[of] == nil {
		s.sums[of] = map[int64]*segment{}
	}
	if s.sums[of][seq] == nil {
		s.sums[of][seq] = &segment{}
	}
	return s.sums[of][seq]
}

func (g *segment) add(a amount.Amount, unreadable int64, written bool) {
	g.all.Add(a)
	g.unreadable += unreadable
	if written {
		g.written.Add(a)
	}
}

func (s *totaling) addGraph(ctx context.Context, d RecordReader, run string) (err error) {
	s.nodes, err = Select[Node](ctx, d, run)
	slices.SortFunc(s.nodes, func(a, b Node) int { return cmp.Compare(a.Seq, b.Seq) })
	s.kinds = map[string]NodeKind{}
	for _, n := range s.nodes {
		s.kinds[n.Node] = n.Kind
	}
	return err
}

// addWays puts what is known of ways into the accounts of their nodes.
func (s *totaling) addWays(ctx context.Context, d RecordReader, run string) error {
	steps := map[string][]WayStepRecord{}
	err := each(ctx, d, []any{run}, func(step WayStepRecord) bool {
		steps[step.Way] = append(steps[step.Way], step)
		return true
	})
	if err != nil {
		return err
	}
	return each(ctx, d, []any{run}, func(w WayRecord) bool {
		for of, segments := range s.sums {
			if of.way == w.Way {
				s.addWay(w, steps[w.Way], of.total, segments)
			}
		}
		return true
	})
}

func (s *totaling) addWay(w WayRecord, steps []WayStepRecord, total string, segments map[int64]*segment) {
	slices.SortFunc(steps, func(a, b WayStepRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	now := &segment{}
	for _, step := range steps {
		before, changed := now, segments[step.Seq]
		if changed != nil {
			now = changed
		}
		if step.Seq >= w.FirstSeq-1 {
			s.addStep(w, step, s.account(step.Node, total), before, now)
		}
	}
	switch path := pipeline.Path(w.Path); {
	case w.Sink == pipeline.QuarantineSink:
		s.addEnd(0, total, now)
	case path == pipeline.FilterDropped || path == pipeline.GateDiscarded || path == pipeline.SinkDiscarded:
		s.addEnd(1, total, now)
	}
}

func (s *totaling) account(node, total string) *account {
	key := nodeTotal{node, total}
	if s.accounts[key] == nil {
		s.accounts[key] = &account{}
	}
	return s.accounts[key]
}

func (s *totaling) addEnd(end int, total string, of *segment) {
	if s.ends[end][total] == nil {
		s.ends[end][total] = &amount.Sum{}
	}
	s.ends[end][total].AddSum(of.all)
}

// addStep adds the tokens of a way to the account of a node: those that came there as they were before, and left it as they are now.
func (s *totaling) addStep(w WayRecord, step WayStepRecord, a *account, before, now *segment) {
	a.unreadable += now.unreadable
	switch {
	case step.Seq < w.FirstSeq: // the fork that made a copy
		a.created.AddSum(now.all)
		a.out.AddSum(now.all)
		return
	case step.Seq == 0 && s.kinds[step.Node] != SourceNode:
		a.created.AddSum(now.all)
	case step.Seq == 0:
		a.in.AddSum(now.all)
	default:
		a.in.AddSum(before.all)
		if now != before {
			a.revalued.AddSum(now.all)
			a.revalued.Subtract(before.all)
			a.before += before.unreadable
			a.after += now.unreadable
		}
	}
	a.leave(w, step.Node, s.kinds[step.Node], now)
}

// leave adds where tokens went that are at the node.
func (a *account) leave(w WayRecord, node string, kind NodeKind, now *segment) {
	path := pipeline.Path(w.Path)
	switch {
	case kind == SinkNode && node != w.LastNode:
		a.out.AddSum(now.written)
	case node != w.LastNode || path.Outcome() == pipeline.Success && w.Sink != "":
		a.out.AddSum(now.all)
	case path.Outcome() == pipeline.Failure:
		a.diverted.AddSum(now.all)
	case path == pipeline.FilterDropped || path == pipeline.GateDiscarded:
		a.dropped.AddSum(now.all)
	default:
		a.consumed.AddSum(now.all)
	}
}

// addLate takes the amounts of rows that targets refused from what they confirmed.
func (s *totaling) addLate(ctx context.Context, d RecordReader, run string) error {
	var wrong error
	err := each(ctx, d, []any{run}, func(l RejectedTotal) bool {
		var refused amount.Amount
		if refused, wrong = amount.Parse(l.Amount); wrong != nil {
			wrong = incomplete("total %s of what %s refused of %s chunk %d: %q", l.Total, l.Sink, l.Source, l.Chunk, l.Amount)
			return false
		}
		if a := s.accounts[nodeTotal{l.Sink, l.Total}]; a != nil {
			late := &segment{}
			late.add(refused, 0, true)
			a.out.Subtract(late.all)
			a.diverted.AddSum(late.all)
			s.addEnd(0, l.Total, late)
		}
		return true
	})
	return cmp.Or(err, wrong)
}

// result puts the accounts in order.
func (s *totaling) result() *Totals {
	t := &Totals{Quarantined: map[string]string{}, Discarded: map[string]string{}, Unreadable: s.unreadable}
	names := map[string]bool{}
	for key := range s.accounts {
		names[key.total] = true
	}
	for _, total := range slices.Sorted(maps.Keys(names)) {
		for _, node := range s.nodes {
			if a := s.accounts[nodeTotal{node.Node, total}]; a != nil {
				t.Nodes = append(t.Nodes, a.total(total, node))
			}
		}
		for end, of := range []map[string]string{t.Quarantined, t.Discarded} {
			of[total] = "0"
			if sum := s.ends[end][total]; sum != nil {
				of[total] = sum.String()
			}
		}
	}
	return t
}

// Figures returns the sums by the names by which policies ask for them (docs/totals.md): of a source what was read, of a step what went on, of a
// sink what its target confirmed.
func (t *Totals) Figures() map[string]string {
	figures := map[string]string{}
	for _, n := range t.Nodes {
		sum := n.Out
		if n.Kind == SourceNode {
			sum = n.In
		}
		figures["sums."+n.Node+"."+n.Total] = sum
	}
	for total, sum := range t.Quarantined {
		figures["sums."+pipeline.Quarantine+"."+total] = sum
	}
	for total, sum := range t.Discarded {
		figures["sums."+pipeline.Discard+"."+total] = sum
	}
	return figures
}

func (a *account) total(total string, node Node) NodeTotal {
	return NodeTotal{
		Total: total, Node: node.Node, Kind: node.Kind, In: a.in.String(), Created: a.created.String(), Revalued: a.revalued.String(),
		Out: a.out.String(), Dropped: a.dropped.String(), Diverted: a.diverted.String(), Consumed: a.consumed.String(), Unreadable: a.unreadable,
		UnreadableBefore: a.before, UnreadableAfter: a.after,
	}
}
