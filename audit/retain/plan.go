package retain

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"waymark/landscape"
)

// Plan is what a purge would do.
type Plan struct {
	Runs     []landscape.PurgedRun // whose payloads of a class are due, and not purged yet; by class, then by run
	Payloads []string              // that no other run needs, by digest; what can be computed again first
	Shared   int                   // payloads that are due, and stay because other runs need them
	Longer   int                   // runs that would be due, but for their documents, which keep them longer
	Left     int                   // payloads that are due, and not in the plan because it has as many as it may
	Held     []Held                // runs that would be due, by their beginning
}

// HeldRuns returns how many runs holds keep. One with payloads of several classes, or under several holds, counts once.
func (p *Plan) HeldRuns() int64 {
	runs := map[string]bool{}
	for _, held := range p.Held {
		runs[held.Run] = true
	}
	return int64(len(runs))
}

// A Ruler says how long payloads of which class are kept, by the pipeline of their run and what the document of that
// says. A class that is not in the result is kept for ever.
type Ruler interface {
	Of(pipeline string, document map[landscape.Class]time.Duration) Rules
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
	ruler  Ruler
	said   documents
	most   int // payloads; 0: all
	longer map[string]bool
	now    landscape.Micros
	holds  []landscape.Hold // that have not ended
	gone   map[string]bool
	needed map[string]bool
	due    map[string]landscape.Class
	runs   []landscape.PurgedRun // due, whether there is something left or not
	held   []Held
}

// NewPlan says what a purge by these rules would do now. It reads which payloads every run needs, and which are still to be read, and no payload.
func NewPlan(ctx context.Context, log *landscape.Reader, rules Ruler, now time.Time) (*Plan, error) {
	return newPlan(ctx, log, rules, now, 0)
}

// newPlan is NewPlan for as many payloads at most; 0: all.
func newPlan(ctx context.Context, log *landscape.Reader, rules Ruler, now time.Time, most int) (*Plan, error) {
	p := planner{
		Reader: log, ruler: rules, said: documents{log, map[string]said{}}, most: most,
		longer: map[string]bool{}, now: landscape.MicrosOf(now),
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
	return landscape.Each(ctx, p.Reader, func(a landscape.Arrival) bool {
		keep, ruled := p.ruler.Of(pipelineOf(a.Trigger), nil)[landscape.SourceClass]
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
	var unread error
	err := p.EachUnbegun(ctx, func(start landscape.Start) bool {
		keep, ruled := p.ruler.Of(start.Pipeline, nil)[landscape.SourceClass]
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
	due, err := p.dueAt(ctx, run, class)
	if err != nil {
		return err
	}
	if due == 0 || due > p.now {
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

// dueAt returns from when on a run may do without its payloads of a class; 0 if that is not to come.
func (p *planner) dueAt(ctx context.Context, run landscape.RunHead, class landscape.Class) (landscape.Micros, error) {
	keep, ruled := p.ruler.Of(run.Pipeline, nil)[class]
	due := run.Finished + landscape.Micros(keep.Microseconds())
	if !ruled || run.Finished == 0 || due > p.now {
		return 0, nil
	}
	said, readable, err := p.said.of(ctx, run)
	if err != nil {
		return 0, err
	}
	if !readable { // nobody knows for how long it is to be kept
		p.longer[run.ID] = true
		return 0, nil
	}
	if longer := p.ruler.Of(run.Pipeline, said)[class]; longer > keep {
		if due = run.Finished + landscape.Micros(longer.Microseconds()); due > p.now {
			p.longer[run.ID] = true
		}
	}
	return due, nil
}

// plan leaves out what is purged already, and what somebody needs.
func (p *planner) plan(ctx context.Context) (*Plan, error) {
	plan := &Plan{Held: p.held, Longer: len(p.longer)}
	wanted := map[string]bool{}
	for payload := range p.due {
		switch {
		case p.gone[payload]:
		case p.needed[payload]:
			plan.Shared++
		default:
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
	if p.most > 0 && len(plan.Payloads) > p.most {
		plan.Left = len(plan.Payloads) - p.most
		plan.Payloads = plan.Payloads[:p.most]
	}
	for _, payload := range plan.Payloads {
		wanted[payload] = true
	}
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

// documents are what the documents of runs say of how long they are kept, by the digest of the plan.
type documents struct {
	*landscape.Reader
	read map[string]said
}

// said is what a document says; it is not readable if the recorded plan is not JSON.
type said struct {
	periods  map[landscape.Class]time.Duration // nil if it says nothing
	readable bool
}

// of returns what the document of a run says, as its plan has it.
func (d *documents) of(
	ctx context.Context, head landscape.RunHead,
) (periods map[landscape.Class]time.Duration, readable bool, err error) {
	if known, is := d.read[head.PlanSHA256]; is {
		return known.periods, known.readable, nil
	}
	run, err := d.Run(ctx, head.ID)
	if err != nil {
		return nil, false, err
	}
	found := readSaid(run.Plan)
	d.read[head.PlanSHA256] = found
	return found.periods, found.readable, nil
}

func readSaid(plan string) said {
	var described struct {
		Retention map[landscape.Class]string `json:"retention"`
	}
	if err := json.Unmarshal([]byte(plan), &described); err != nil {
		return said{}
	}
	found := said{readable: true}
	for class, text := range described.Retention {
		keep, err := time.ParseDuration(text)
		if err != nil {
			return said{}
		}
		if found.periods == nil {
			found.periods = map[landscape.Class]time.Duration{}
		}
		found.periods[class] = keep
	}
	return found
}

// pipelineOf returns the pipeline of a trigger, whose key is ENVIRONMENT/PIPELINE/TRIGGER.
func pipelineOf(trigger string) string {
	parts := strings.Split(trigger, "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}
