package retain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"waymark/landscape"
)

// A Follower follows rows of one run to everything that came of them, and of nothing else.
type Follower interface {
	Descend(ctx context.Context, run string, rows []landscape.RowKey) (landscape.Descent, error)
}

// ForgetPlan is what an order to forget would be about.
type ForgetPlan struct {
	Rows     []landscape.RowKey // sorted: those that were named, the same records in other runs, and what barriers made of nothing else
	Runs     []string           // that need one of the payloads with them, sorted
	Held     []Held             // holds that protect one of these runs
	Erasures []Erasure          // rows of outputs that it deletes in their targets, by run, sink and line
	Away     []string           // archived runs that read one of the payloads: what is in their bundles stays; sorted
}

// NewForgetPlan says what an order to forget some rows is about. Payloads are shared, so it is about every run that read the same records, whatever it
// calls them.
func NewForgetPlan(ctx context.Context, log *landscape.Reader, follow Follower, rows []landscape.RowKey) (*ForgetPlan, error) {
	p := &forgetPlanner{Reader: log, follow: follow, packs: map[string][]landscape.ChunkRef{}, of: map[string]map[landscape.RowKey]bool{}, states: map[string]bool{}, runs: map[string]bool{}, archived: map[string][]string{}, away: map[string]bool{}}
	err := log.EachChunkRef(ctx, func(c landscape.ChunkRef) bool {
		p.packs[c.Pack] = append(p.packs[c.Pack], c)
		return true
	})
	if err == nil {
		err = log.EachArchivedRef(ctx, func(a landscape.ArchivedPayload) bool {
			p.archived[a.Payload] = append(p.archived[a.Payload], a.Run)
			return true
		})
	}
	for fresh := rows; err == nil && len(fresh) > 0; {
		fresh, err = p.spread(ctx, fresh)
	}
	if err != nil {
		return nil, err
	}
	return p.plan(ctx)
}

// forgetPlanner collects rows until nothing is added.
type forgetPlanner struct {
	*landscape.Reader
	follow Follower
	packs  map[string][]landscape.ChunkRef
	of     map[string]map[landscape.RowKey]bool // rows by run
	states map[string]bool                      // of barriers that took something of these rows
	runs   map[string]bool                      // that need a payload

	archived map[string][]string // runs by the payloads to which they referred
	away     map[string]bool     // of them, those that are concerned
}

// spread adds rows, and returns those that follow from them.
func (p *forgetPlanner) spread(ctx context.Context, rows []landscape.RowKey) (fresh []landscape.RowKey, err error) {
	changed := map[string]bool{}
	for len(rows) > 0 {
		row := rows[0]
		rows = rows[1:]
		if p.of[row.Run][row] {
			continue
		}
		if p.of[row.Run] == nil {
			p.of[row.Run] = map[landscape.RowKey]bool{}
		}
		p.of[row.Run][row], changed[row.Run] = true, true
		same, err := p.sameRecord(ctx, row)
		if err != nil {
			return nil, err
		}
		rows = append(rows, same...)
	}
	for run := range changed {
		descent, err := p.descend(ctx, run)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, descent...)
	}
	return fresh, nil
}

// sameRecord returns the rows of other chunks that have the same record of the same pack.
func (p *forgetPlanner) sameRecord(ctx context.Context, row landscape.RowKey) (same []landscape.RowKey, err error) {
	chunk, err := p.ChunkOf(ctx, row.Run, row.Source, row.Row)
	if err != nil {
		return nil, err
	}
	p.concerns(chunk.Pack)
	for _, other := range p.packs[chunk.Pack] {
		p.runs[other.Run] = true
		same = append(same, landscape.RowKey{Run: other.Run, Source: other.Source, Row: other.FirstRow + row.Row - chunk.FirstRow})
	}
	return same, nil
}

// concerns notes which archived runs read a payload.
func (p *forgetPlanner) concerns(payload string) {
	for _, run := range p.archived[payload] {
		p.away[run] = true
	}
}

// descend returns the rows that barriers made of the rows of a run and of nothing else, and notes which runs need a state that may hold them.
func (p *forgetPlanner) descend(ctx context.Context, run string) (fresh []landscape.RowKey, err error) {
	rows := make([]landscape.RowKey, 0, len(p.of[run]))
	for row := range p.of[run] {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, landscape.RowKey.Compare)
	found, err := p.follow.Descend(ctx, run, rows)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	for _, row := range found.Rows {
		if !p.of[run][row] {
			fresh = append(fresh, row)
		}
	}
	states, err := statesOf(ctx, p.Reader, run, found.Barriers)
	for _, state := range states {
		p.states[state] = true
		p.concerns(state)
	}
	return fresh, err
}

// statesOf returns the states of barriers of a run.
func statesOf(ctx context.Context, log *landscape.Reader, run string, barriers []string) (states []string, err error) {
	for _, barrier := range barriers {
		folds, err := log.Folds(ctx, run, barrier)
		if err != nil {
			return nil, err
		}
		for _, fold := range folds {
			if fold.State != "" {
				states = append(states, fold.State)
			}
		}
	}
	return states, nil
}

// plan leaves out what is forgotten already, and names the holds.
func (p *forgetPlanner) plan(ctx context.Context) (*ForgetPlan, error) {
	plan := &ForgetPlan{Away: slices.Sorted(maps.Keys(p.away))}
	for _, rows := range p.of {
		for row := range rows {
			chunk, err := p.ChunkOf(ctx, row.Run, row.Source, row.Row)
			if err != nil {
				return nil, err
			}
			order, err := p.ForgottenOrder(ctx, chunk, row.Row-chunk.FirstRow)
			if err != nil {
				return nil, err
			}
			if order == nil {
				plan.Rows = append(plan.Rows, row)
			}
		}
	}
	slices.SortFunc(plan.Rows, landscape.RowKey.Compare)
	err := p.EachStateRef(ctx, func(run, state string) bool {
		if p.states[state] {
			p.runs[run] = true
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return plan, p.hold(ctx, plan)
}

// hold adds the runs, and the holds that protect them.
func (p *forgetPlanner) hold(ctx context.Context, plan *ForgetPlan) error {
	holds, err := p.OpenHolds(ctx)
	if err != nil {
		return err
	}
	return p.RunHeads(ctx, func(run landscape.RunHead) bool {
		if !p.runs[run.ID] {
			return true
		}
		plan.Runs = append(plan.Runs, run.ID)
		for _, hold := range holds {
			if hold.Holds(run) {
				plan.Held = append(plan.Held, Held{Run: run.ID, Hold: hold.ID, Why: hold.Why})
			}
		}
		return true
	})
}
