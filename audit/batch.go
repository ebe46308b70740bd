package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
)

// Batch is what a barrier settled together, or holds.
type Batch struct {
	Barrier string `json:"barrier"`
	Number  int64  `json:"batch"`
	Trigger string `json:"trigger,omitempty"` // what fired it; "" as long as it is open
	Rows    int64  `json:"rows,omitempty"`    // tokens in it, once it fired
	Opened  string `json:"opened,omitempty"`
	Fired   string `json:"fired,omitempty"`
	Of      int64  `json:"of,omitempty"` // the batch for which its token came too late
}

// Holding is what became of a token that came to a barrier.
type Holding struct {
	Batch
	Became []string  `json:"became,omitempty"` // ids of the rows that came out for it
	More   int       `json:"more,omitempty"`   // how many rows Became leaves out
	Merge  *Decision `json:"merge,omitempty"`  // of a coalesce that holds branches; of a token that came too late, what it had decided
}

// BarrierOrigin is how a row came out of a barrier.
type BarrierOrigin struct {
	Token string `json:"token"`
	Batch
	Members []string  `json:"members,omitempty"`      // ids of the batch's tokens, in the order in which they came
	More    int       `json:"more_members,omitempty"` // how many tokens Members leaves out
	Terms   []Term    `json:"terms,omitempty"`        // of an aggregate, for the row that is asked about: its computed fields and its trigger, with what they were for the batch
	Note    string    `json:"note,omitempty"`         // why Terms have no values
	Parent  string    `json:"parent,omitempty"`       // the one token that the row continues for, or of which it is an element
	Merge   *Decision `json:"merge,omitempty"`
}

// mostListed is how many tokens are listed unless all are asked for.
const mostListed = 20

// list returns the ids of the tokens, at most mostListed unless all are wanted, and how many are left out.
func (i *explaining) list(tokens []landscape.Token) (ids []string, more int) {
	for k, token := range tokens {
		if k == mostListed && !i.all {
			return ids, len(tokens) - k
		}
		ids = append(ids, i.id(token))
	}
	return ids, 0
}

// batch returns what is told of a batch; fired is nil if it did not.
func batchOf(barrier string, number int64, fired *landscape.BatchRecord) Batch {
	batch := Batch{Barrier: barrier, Number: number}
	if fired == nil {
		return batch
	}
	batch.Trigger, batch.Rows, batch.Opened, batch.Fired = fired.Trigger, fired.Rows, stamp(fired.Opened), stamp(fired.Fired)
	if fired.Of != nil {
		batch.Of = *fired.Of
	}
	return batch
}

func stamp(at landscape.Micros) string { return at.Time().Format(time.RFC3339Nano) }

// held fills in what became of a token that came to a barrier.
func (i *explaining) held(ctx context.Context, t *tokenTrace) error {
	in, err := i.log.BatchOf(ctx, i.run.ID, t.at)
	if errors.Is(err, landscape.ErrNotFound) { // the barrier did not take it yet
		t.Complete, t.Held = false, &Holding{Batch: Batch{Barrier: t.way.Last()}}
		return nil
	}
	if err != nil {
		return err
	}
	t.Held, t.Complete = &Holding{Batch: batchOf(in.Node, in.Batch, in.Fired)}, in.Fired != nil
	if in.Fired == nil {
		return nil
	}
	t.Path, t.Outcome = string(in.Fired.Path), string(in.Fired.Path.Outcome())
	children, err := i.log.ChildrenOf(ctx, i.run.ID, t.at)
	if err != nil {
		return err
	}
	t.Held.Became, t.Held.More = i.list(children)
	switch {
	case in.Fired.Path == pipeline.Coalesced:
		t.Held.Merge, err = i.heldMerge(ctx, in.Node, in.Batch)
	case in.Fired.Of != nil:
		t.Held.Merge, err = i.heldMerge(ctx, in.Node, *in.Fired.Of)
	}
	return err
}

// making fills in, for a row that came out of a barrier, how it did, and the same for the token that it continues for, up to a
// row of a source or one that was made of many.
func (i *explaining) making(ctx context.Context) error {
	at := &i.asked
	for range i.lanes { // every barrier on the way has a lane, and none comes twice
		barrier, err := i.isBarrier(ctx, at.Source)
		if err != nil || !barrier {
			return err
		}
		if at, err = i.madeOf(ctx, *at); err != nil || at == nil {
			return err
		}
	}
	return fmt.Errorf("the record says that %s is its own ancestor: run `waymark verify %s`", i.id(i.asked), i.run.ID)
}

func (i *explaining) isBarrier(ctx context.Context, origin string) (bool, error) {
	nodes, err := i.log.Nodes(ctx, i.run.ID)
	for _, node := range nodes {
		if node.Node == origin {
			return node.Kind != landscape.SourceNode, err
		}
	}
	return false, err
}

// madeOf tells how a barrier's row came out of it, and returns the one token that it continues for, if there is one.
func (i *explaining) madeOf(ctx context.Context, token landscape.Token) (*landscape.Token, error) {
	barrier, run := token.Source, i.run.ID
	from, err := i.log.ParentsOf(ctx, run, barrier, token.Row)
	if err != nil {
		return nil, err
	}
	fired, err := i.log.Batch(ctx, run, barrier, from.Batch)
	if err != nil {
		return nil, err
	}
	most := math.MaxInt
	if !i.all {
		most = max(mostListed, mostComputed)
	}
	members, err := i.log.FirstMembers(ctx, run, barrier, from.Batch, most)
	if err != nil {
		return nil, err
	}
	root := landscape.Token{Source: barrier, Lane: i.root(barrier), Row: token.Row}
	made := BarrierOrigin{Token: i.id(root), Batch: batchOf(barrier, from.Batch, &fired)}
	made.Members, made.More = i.list(members)
	made.More += int(fired.Rows) - len(members)
	if len(i.explanation.MadeOf) == 0 {
		if made.Terms, made.Note, err = i.batchTerms(ctx, fired, members); err != nil {
			return nil, err
		}
	}
	next := from.Token
	if next != nil {
		made.Parent = i.id(*next)
	}
	if fired.Path == pipeline.Coalesced {
		merged, err := i.log.MergeOf(ctx, run, barrier, from.Batch)
		if err != nil {
			return nil, err
		}
		if made.Merge, err = i.decision(ctx, merged); err != nil {
			return nil, err
		}
		next = &merged.Key
	}
	i.explanation.MadeOf = append(i.explanation.MadeOf, made)
	return next, nil
}

// root returns the number of an origin's root lane.
func (i *explaining) root(origin string) int64 {
	for _, lane := range i.lanes {
		if lane.Source == origin && lane.IsRoot() {
			return lane.Lane
		}
	}
	return 0
}

// mergedFrom reports whether the lane is that of what the coalesce made that took a token of the other lane, which went this way.
func (i *explaining) mergedFrom(lane landscape.Lane, other int64, way landscape.Way) bool {
	return lane.IsMerged() && lane.Node == way.Last() && i.within(other, lane)
}

// within reports whether tokens of a lane come down the fork whose branches the merged lane merges.
func (i *explaining) within(lane int64, merged landscape.Lane) bool {
	for l := i.lanes[lane]; !l.IsRoot(); l = i.lanes[*l.Parent] {
		if *l.Parent == *merged.Parent && l.Fork == merged.Fork {
			return true
		}
	}
	return false
}
