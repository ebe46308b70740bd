package pgstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

const (
	holdSQL  = `select hold_run($1, $2)`
	endedSQL = `select exists (select 1 from runs where run_id = $1 and status <> 'running')` // of a run that is held
)

// hold keeps a run as it is while a transaction continues.
type hold struct {
	run   string
	alone bool // nobody else may hold it: it will change, or be counted
}

// holds returns which runs a landscape.Tx holds, in one order for all transactions: so none waits for one that waits for it.
//
// A guard's run must stay in its epoch until what it guards is committed. A run that is moved, checked or sealed is held alone from the beginning:
// if two that share it both wanted it alone later, neither could go on.
func holds(b landscape.Tx) []hold {
	alone := map[string]bool{}
	if b.Guard != nil {
		alone[b.Guard.Run] = false
	}
	if b.Check != "" {
		alone[b.Check] = true
	}
	if b.Seal != nil {
		alone[b.Seal.Run] = true
	}
	for _, m := range b.Move {
		if t := landscape.TableOf(m.To); t.Name == (landscape.Run{}).Table() {
			alone[t.Key(t.AppendValues(nil, m.To))] = true
		}
	}
	list := make([]hold, 0, len(alone))
	for _, run := range slices.Sorted(maps.Keys(alone)) {
		list = append(list, hold{run, alone[run]})
	}
	return list
}

// queue asks for the run, and whether it has ended if the guard wants to know.
func (h hold) queue(queue *pgx.Batch, guard *landscape.Guard) {
	queue.Queue(holdSQL, landscape.PortableText(h.run), h.alone)
	if h.open(guard) {
		queue.Queue(endedSQL, landscape.PortableText(h.run))
	}
}

// open reports whether a guard says that the run must not have ended.
func (h hold) open(guard *landscape.Guard) bool {
	return guard != nil && guard.Running && guard.Run == h.run
}

// receive reads in which epoch the run is, and compares it with the guard if that is about this run.
func (h hold) receive(results pgx.BatchResults, guard *landscape.Guard) error {
	var found *int64
	if err := results.QueryRow().Scan(&found); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	ended := false
	if h.open(guard) {
		if err := results.QueryRow().Scan(&ended); err != nil {
			return fmt.Errorf("guard: %w", err)
		}
	}
	if guard == nil || guard.Run != h.run {
		return nil
	}
	if epoch := *cmp.Or(found, new(int64)); epoch != guard.Epoch {
		return fmt.Errorf("run %s is in epoch %d, not %d: %w", h.run, epoch, guard.Epoch, landscape.ErrSuperseded)
	}
	if ended {
		return fmt.Errorf("run %s: %w", h.run, landscape.ErrEnded)
	}
	return nil
}
