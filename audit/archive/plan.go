package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"waymark/landscape"
)

// Plan is what would be archived.
type Plan struct {
	Runs     []landscape.RunHead // that are due, by their end; also those that were archived since the moment of the plan
	Archived map[string]bool     // of them, that were archived since
	Records  int64               // that the seals of all of them bind
	Held     []Held              // runs that are due, and stay
	Unsealed []string            // runs that are due, and were not sealed since they ended: they stay
}

// Held is a run that is due, and a hold that protects it.
type Held struct {
	Run      string           `json:"run"`
	Pipeline string           `json:"pipeline"`
	Finished landscape.Micros `json:"-"`
	Hold     int64            `json:"hold"`
	Why      string           `json:"why"`
}

// NewPlan says which runs are due: at the moment as, they had ended as long ago as older says and could not be resumed, had their last seal, were not archived, and no hold protected them, nor
// does now. So a later plan of the same moment has no other runs. only names one run; empty for all.
func NewPlan(ctx context.Context, log *landscape.Reader, older time.Duration, as time.Time, only string) (*Plan, error) {
	p := &planner{Reader: log, at: landscape.MicrosOf(as), ended: map[int64]landscape.HoldEnd{}, plan: &Plan{Archived: map[string]bool{}}}
	var err error
	if p.holds, p.ended, err = log.Holds(ctx); err != nil {
		return nil, err
	}
	archives, err := log.Archives(ctx)
	if err != nil {
		return nil, err
	}
	before := map[string]bool{}
	for _, a := range archives {
		before[a.Run], p.plan.Archived[a.Run] = a.At <= p.at, a.At > p.at
	}
	var due []landscape.RunHead
	err = log.RunHeads(ctx, func(run landscape.RunHead) bool {
		end, ok := run.Concluded()
		if ok && end+landscape.Micros(older.Microseconds()) <= p.at && !before[run.ID] && (only == "" || only == run.ID) {
			due = append(due, run)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(due, func(a, b landscape.RunHead) int { return cmp.Compare(a.Finished, b.Finished) })
	for _, run := range due {
		if err := p.add(ctx, run); err != nil {
			return nil, err
		}
	}
	return p.plan, nil
}

type planner struct {
	*landscape.Reader
	at    landscape.Micros
	holds []landscape.Hold
	ended map[int64]landscape.HoldEnd
	plan  *Plan
}

// add takes a run that is due to those that can be archived, or to those that stay.
func (p *planner) add(ctx context.Context, run landscape.RunHead) error {
	for _, hold := range p.holds {
		end, over := p.ended[hold.ID]
		if hold.Holds(run) && (!over || hold.At <= p.at && end.At > p.at) {
			p.plan.Held = append(p.plan.Held, Held{run.ID, run.Pipeline, run.Finished, hold.ID, hold.Why})
			return nil
		}
	}
	last, err := p.LastSeal(ctx, run.ID)
	if errors.Is(err, landscape.ErrUnsealed) || err == nil && last.At > p.at {
		p.plan.Unsealed = append(p.plan.Unsealed, run.ID)
		return nil
	}
	if err != nil {
		return err
	}
	p.plan.Runs = append(p.plan.Runs, run)
	p.plan.Records += last.Leaves
	return nil
}

// Left returns the runs that are not archived yet.
func (p *Plan) Left() (left []landscape.RunHead) {
	for _, run := range p.Runs {
		if !p.Archived[run.ID] {
			left = append(left, run)
		}
	}
	return left
}
