package retain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"waymark/landscape"
)

// Plan is what a purge would do.
type Plan struct {
	Runs     []landscape.PurgedRun // whose payloads of a class are due, and not purged yet; by class, then by run
	Payloads []string              // that no other run needs, by digest; what can be computed again first
	Shared   int                   // payloads that are due, and stay because other runs need them
	Held     []Held                // runs that would be due, by their beginning
}

// Held is a run that is due, and whose payloads stay because of a hold.
type Held struct {
	Run   string           `json:"run"`
	Class landscape.Class  `json:"class"`
	Hold  int64            `json:"hold"`
	Why   string           `json:"why"`
	Due   landscape.Micros `json:"-"`
}

// planner sorts payloads into those that are due and those that somebody needs.
type planner struct {
	*landscape.Reader
	rules  Rules
	now    landscape.Micros
	holds  []landscape.Hold // that have not ended
	gone   map[string]bool
	needed map[string]bool
	due    map[string]landscape.Class
	runs   []landscape.PurgedRun // due, whether there is something left or not
	held   []Held
}

// NewPlan says what a purge by these rules would do now. It reads which payloads every run needs, and which are still to be read, and no payload.
func NewPlan(ctx context.Context, log *landscape.Reader, rules Rules, now time.Time) (*Plan, error) {
	p := planner{
		Reader: log, rules: rules, now: landscape.MicrosOf(now),
		gone: map[string]bool{}, needed: map[string]bool{}, due: map[string]landscape.Class{},
	}
	var err error
	if p.holds, err = p.OpenHolds(ctx); err != nil {
		return nil, err
	}
	if err := log.EachPurged(ctx, func(payload string) bool { p.gone[payload] = true; return true }); err != nil {
		return nil, err
	}
	var heads []landscape.RunHead
	if err := log.RunHeads(ctx, func(head landscape.RunHead) bool { heads = append(heads, head); return true }); err != nil {
		return nil, err
	}
	for _, head := range heads {
		for _, class := range landscape.Classes {
			if err := p.sort(ctx, head, class); err != nil {
				return nil, err
			}
		}
	}
	if err := p.deliveries(ctx); err != nil {
		return nil, err
	}
	if err := p.unbegun(ctx); err != nil {
		return nil, err
	}
	return p.plan(ctx)
}

// deliveries takes what was delivered and is to get no run, because a person said so, to what is due as long after that as source records are kept after a run; what a run is still to read is needed.
func (p *planner) deliveries(ctx context.Context) error {
	keep, ruled := p.rules[landscape.SourceClass]
	return landscape.Each(ctx, p.Reader, func(a landscape.Arrival) bool {
		switch over := a.State == landscape.ArrivalIgnored; {
		case a.Payload == "" || a.State == landscape.ArrivalDone:
		case over && ruled && a.Changed+landscape.Micros(keep.Microseconds()) <= p.now:
			p.due[a.Payload] = landscape.SourceClass
		default:
			p.needed[a.Payload] = true
		}
		return true
	})
}

// unbegun takes the rows that came with requests of which no run came to those that are due, or to those that are needed: they are source records from when that was decided.
func (p *planner) unbegun(ctx context.Context) error {
	keep, ruled := p.rules[landscape.SourceClass]
	var unread error
	err := p.EachUnbegun(ctx, func(start landscape.Start) bool {
		asked := landscape.RunHead{ID: start.Run, Pipeline: start.Pipeline, Started: start.Accepted}
		held := slices.ContainsFunc(p.holds, func(h landscape.Hold) bool { return h.Holds(asked) })
		rows, err := start.RequestRows()
		for _, of := range rows {
			if !ruled || held || start.Decided+landscape.Micros(keep.Microseconds()) > p.now {
				p.needed[of.Payload] = true
			} else {
				p.due[of.Payload] = landscape.SourceClass
			}
		}
		unread = err
		return err == nil
	})
	return cmp.Or(err, unread)
}

// sort takes the payloads of one class of one run to those that are due, or to those that are needed.
func (p *planner) sort(ctx context.Context, run landscape.RunHead, class landscape.Class) error {
	keep, ruled := p.rules[class]
	due := run.Finished + landscape.Micros(keep.Microseconds())
	if !ruled || run.Finished == 0 || due > p.now {
		return p.PayloadsOf(ctx, run.ID, class, func(payload string) bool { p.needed[payload] = true; return true })
	}
	for _, hold := range p.holds {
		if hold.Holds(run) {
			p.held = append(p.held, Held{Run: run.ID, Class: class, Hold: hold.ID, Why: hold.Why, Due: due})
			return p.PayloadsOf(ctx, run.ID, class, func(payload string) bool { p.needed[payload] = true; return true })
		}
	}
	p.runs = append(p.runs, landscape.PurgedRun{Run: run.ID, Class: class, Epoch: run.Epoch, Due: due})
	return p.PayloadsOf(ctx, run.ID, class, func(payload string) bool {
		if _, known := p.due[payload]; !known || class == landscape.SourceClass {
			p.due[payload] = class
		}
		return true
	})
}

// plan leaves out what is purged already, and what somebody needs.
func (p *planner) plan(ctx context.Context) (*Plan, error) {
	plan := &Plan{Held: p.held}
	wanted := map[string]bool{}
	for payload := range p.due {
		switch {
		case p.gone[payload]:
		case p.needed[payload]:
			plan.Shared++
		default:
			wanted[payload] = true
			plan.Payloads = append(plan.Payloads, payload)
		}
	}
	slices.SortFunc(plan.Payloads, func(a, b string) int {
		if rank := slices.Index(landscape.Classes, p.due[a]) - slices.Index(landscape.Classes, p.due[b]); rank != 0 {
			return rank
		}
		if a < b {
			return -1
		}
		return 1
	})
	for _, run := range p.runs {
		concerned := false
		err := p.PayloadsOf(ctx, run.Run, run.Class, func(payload string) bool { concerned = concerned || wanted[payload]; return !concerned })
		if err != nil {
			return nil, err
		}
		if concerned {
			plan.Runs = append(plan.Runs, run)
		}
	}
	slices.SortStableFunc(plan.Runs, func(a, b landscape.PurgedRun) int {
		return slices.Index(landscape.Classes, a.Class) - slices.Index(landscape.Classes, b.Class)
	})
	return plan, nil
}
