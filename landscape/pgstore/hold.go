package pgstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/landscape"
)

const holdSQL = `select hold_run($1, $2, $3, $4)`

// Codes with which hold_run refuses a run.
const (
	otherEpoch = "WM001"
	hasEnded   = "WM002"
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

// queue asks for the run, with what the guard wants of it.
func (h hold) queue(queue *pgx.Batch, guard *landscape.Guard) {
	var epoch *int64
	running := false
	if guard != nil && guard.Run == h.run {
		epoch, running = &guard.Epoch, guard.Running
	}
	queue.Queue(holdSQL, landscape.PortableText(h.run), h.alone, epoch, running)
}

// refusedBy names what a guard found, if that is the error of a hold.
func refusedBy(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && e.Code == otherEpoch:
		return fmt.Errorf("%s: %w", e.Message, landscape.ErrSuperseded)
	case ok && e.Code == hasEnded:
		return fmt.Errorf("%s: %w", e.Message, landscape.ErrEnded)
	case err != nil:
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}
