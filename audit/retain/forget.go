package retain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/activities/recompute"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/payload"
)

// Forgetter carries out orders to forget rows. It is safe to run beside everything else that uses the landscape and the payload store. After any error,
// or a crash, Finish continues where it stopped.
type Forgetter struct {
	*Purger
	Follow  Follower
	Targets Eraser

	Leave           []string // sinks or outputs whose targets are given up: rows that orders delete there are left
	LeftBy, LeftWhy string   // who gives them up, and why
}

// Forgotten is what an order to forget came to.
type Forgotten struct {
	Order       int64      `json:"order"`
	Rows        int64      `json:"rows"`
	Payloads    int        `json:"payloads"`         // that were replaced or deleted
	Erased      []ErasedIn `json:"erased,omitempty"` // by run and sink
	Certificate string     `json:"certificate"`      // signed, if this process has a sealer's key
}

// Forget records an order to forget what a plan says, and carries it out: rows in targets are deleted first. If a target would not do so now, nothing is recorded.
func (f *Forgetter) Forget(ctx context.Context, plan *ForgetPlan, order landscape.Purge) (*Forgotten, error) {
	var result Result
	if err := f.finish(ctx, &result); err != nil {
		return nil, err
	}
	if _, err := plan.probe(ctx, f.Targets, false); err != nil {
		return nil, err
	}
	order, err := f.Log.BeginForgetting(ctx, order, plan.Runs, plan.Rows, plan.records()...)
	if err == nil {
		err = failpoint.Hit("forget.ordered")
	}
	if err != nil {
		return nil, fmt.Errorf("forget: %w", err)
	}
	return f.carryOut(ctx, order)
}

// Try fails as Forget would now, as far as that is known before earlier orders are carried out, and returns what would become of rows in targets. It changes nothing.
func (f *Forgetter) Try(ctx context.Context, plan *ForgetPlan, order landscape.Purge) ([]ErasedIn, error) {
	fates, err := plan.probe(ctx, f.Targets, true)
	if err != nil {
		return nil, err
	}
	return fates, f.Log.MayForget(ctx, order, plan.Runs, plan.Rows)
}

// Finish carries out the orders that were given and not carried out. One that must wait, because a new run needs a payload, or a hold protects one,
// keeps no other; the error names it. It is an *UntouchedError if a target is given up where no order is to delete rows.
func (f *Forgetter) Finish(ctx context.Context) (done []Forgotten, err error) {
	if err := f.leavable(ctx); err != nil {
		return nil, err
	}
	var result Result
	if err := f.finish(ctx, &result); err != nil {
		return nil, err
	}
	orders, err := f.Log.UnfinishedForgettings(ctx)
	for more := true; err == nil && more; { // one may have waited for a later one
		finished, left, failed := f.carryOutAll(ctx, orders)
		done = append(done, finished...)
		more = len(finished) > 0 && len(left) > 0
		if orders = left; !more {
			err = failed
		}
	}
	return done, err
}

// carryOutAll carries out orders, and returns those that it could not.
func (f *Forgetter) carryOutAll(ctx context.Context, orders []landscape.Purge) (done []Forgotten, left []landscape.Purge, failed error) {
	for _, order := range orders {
		forgotten, err := f.carryOut(ctx, order)
		if err == nil {
			done = append(done, *forgotten)
		} else {
			left = append(left, order)
		}
		failed = errors.Join(failed, err)
	}
	return done, left, failed
}

// carryOut blanks, replaces and deletes what is left of forgotten rows, however far an earlier attempt came.
func (f *Forgetter) carryOut(ctx context.Context, order landscape.Purge) (*Forgotten, error) {
	rows, err := f.Log.ForgottenBy(ctx, order.ID)
	if err != nil {
		return nil, err
	}
	work := &carrying{Forgetter: f, order: order, rows: rows, result: Forgotten{Order: order.ID, Rows: int64(len(rows))}}
	for _, step := range []func(context.Context) error{work.erase, work.shared, work.blank, work.repack, work.states, work.deliveries, work.free, work.certify} {
		err := step(ctx)
		if refused, ok := errors.AsType[*TargetError](err); ok {
			return nil, refused
		}
		if err != nil {
			return nil, fmt.Errorf("order %d to forget: %w", order.ID, err)
		}
	}
	return &work.result, nil
}

// carrying is one order that is carried out.
type carrying struct {
	*Forgetter
	order  landscape.Purge
	rows   []landscape.Forgotten
	chunks []landscape.Chunk // with these rows
	report certificate
	result Forgotten
}

// blank blanks the columns of the rows, chunk by chunk.
func (c *carrying) blank(ctx context.Context) error {
	var last landscape.Chunk
	for _, row := range c.rows {
		if row.In(last) {
			continue
		}
		err := c.Log.Blank(ctx, c.order.ID, row.Run, row.ChunkKey())
		if err == nil {
			err = failpoint.Hit("forget.blanked")
		}
		if err != nil {
			return err
		}
		if last, err = c.Log.Chunk(ctx, row.Run, row.ChunkKey()); err != nil {
			return err
		}
		c.chunks = append(c.chunks, last)
	}
	return nil
}

// repack replaces the packs that hold the records.
func (c *carrying) repack(ctx context.Context) error {
	slots := map[string][]int{}
	if err := c.eachRecord(ctx, c.rows, func(r record) { slots[r.pack] = append(slots[r.pack], int(r.slot)) }); err != nil {
		return err
	}
	for pack, of := range slots {
		slices.Sort(of)
		if err := c.replaceAll(ctx, pack, slices.Compact(of)); err != nil {
			return err
		}
	}
	return nil
}

// replaceAll replaces a pack and all that replaced it, also by another order at this moment, and although it was stored again since.
func (c *carrying) replaceAll(ctx context.Context, pack string, slots []int) error {
	if err := c.replace(ctx, pack, slots); err != nil {
		return fmt.Errorf("payload %s: %w", pack, err)
	}
	replacements, err := c.Log.Replacements(ctx, pack)
	for _, replacement := range replacements {
		err = cmp.Or(err, c.replaceAll(ctx, replacement, slots))
	}
	return err
}

// replace stores a pack without some records, and deletes the one with them.
func (c *carrying) replace(ctx context.Context, pack string, slots []int) error {
	stored, err := c.Payloads.Get(ctx, payload.Digest(pack))
	if errors.Is(err, payload.ErrNotFound) {
		return nil // purged before, or never to be had again
	}
	if err != nil {
		return err
	}
	other, err := recompute.Repack(stored, slots)
	if err != nil || other == nil {
		return err
	}
	digest, err := c.Payloads.Put(ctx, other)
	if err == nil {
		err = failpoint.Hit("forget.stored")
	}
	if err != nil {
		return err
	}
	begun, err := c.Log.BeginRepack(ctx, c.order.ID, pack, string(digest))
	return c.gone(ctx, begun, err)
}

// gone deletes payloads of which the deletion was begun.
func (c *carrying) gone(ctx context.Context, begun []landscape.Deletion, err error) error {
	var result Result
	err = cmp.Or(err, failpoint.Hit("forget.begun"))
	if err == nil {
		err = c.delete(ctx, begun, &result)
	}
	c.result.Payloads += result.Deleted
	return err
}

// states deletes the states of the barriers that took something of the rows: they may hold it, and are no more than a shortcut.
func (c *carrying) states(ctx context.Context) error {
	states, err := c.statesOf(ctx)
	if err != nil {
		return err
	}
	for _, state := range states {
		begun, err := c.Log.BeginDeletion(ctx, c.order.ID, state)
		if err := c.gone(ctx, begun, err); err != nil {
			return fmt.Errorf("state %s: %w", state, err)
		}
	}
	return nil
}

// statesOf returns the states that may hold something of the rows, and notes what else became of these.
func (c *carrying) statesOf(ctx context.Context) (states []string, err error) {
	of := map[string][]landscape.RowKey{}
	for _, row := range c.rows {
		of[row.Run] = append(of[row.Run], landscape.RowKey{Run: row.Run, Source: row.Source, Row: row.Row})
	}
	for run, rows := range of {
		found, err := c.Follow.Descend(ctx, run, rows)
		if err != nil {
			return nil, err
		}
		c.report.add(run, found)
		taken, err := statesOf(ctx, c.Log.Reader, run, found.Barriers)
		if err != nil {
			return nil, err
		}
		states = append(states, taken...)
	}
	slices.Sort(states)
	return slices.Compact(states), nil
}

func (c *carrying) free(ctx context.Context) error {
	return cmp.Or(c.Log.OverwriteFreed(ctx), failpoint.Hit("forget.freed"))
}

// certify records that the order was carried out.
func (c *carrying) certify(ctx context.Context) (err error) {
	if c.report.unread, err = c.Log.UnreadDeliveries(ctx); err != nil {
		return err
	}
	done, err := c.Log.EndForgetting(ctx, landscape.Forgetting{Order: c.order.ID, Rows: c.result.Rows}, c.text())
	c.result.Certificate = done.Certificate
	return cmp.Or(err, failpoint.Hit("forget.certified"))
}
