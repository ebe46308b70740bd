package retain

import (
	"context"
	"time"

	"waymark/landscape"
)

// Outlook is what configured periods have done and will do.
type Outlook struct {
	InForce *Periods // not given if none are
	Since   landscape.Micros
	Asked   *Periods // that wait for approval; nil if none do
	Shorter []string // in which words those are shorter

	Last *landscape.RetentionTurn // the last one that is recorded; nil if there is none
	Good *landscape.RetentionTurn // the last one in which nothing failed; nil if there is none

	Due  *Plan // what is due now, by the periods in force; nil without any
	Late bool  // no turn was recorded for so long that no process deletes what is due
}

// late is how long after the last turn that is recorded the next one must be: one a day is recorded whatever it did.
const late = 2 * quiet

// NewOutlook says what configured periods have done, and what is due at a moment.
func NewOutlook(ctx context.Context, log *landscape.Reader, now time.Time) (*Outlook, error) {
	force, asked, err := log.Periods(ctx)
	if err != nil {
		return nil, err
	}
	o := &Outlook{}
	if o.InForce, err = ReadPeriods(force); err != nil {
		return nil, err
	}
	if asked != nil {
		if o.Asked, err = ReadPeriods(asked); err != nil {
			return nil, err
		}
		o.Shorter = o.Asked.Shortens(o.InForce)
	}
	if o.Last, o.Good, err = log.LastRetention(ctx); err != nil || force == nil {
		return o, err
	}
	o.Since = force.At
	last := o.Since
	if o.Last != nil {
		last = max(last, o.Last.At)
	}
	o.Late = now.Sub(last.Time()) > late
	o.Due, err = NewPlan(ctx, log, o.InForce, now)
	return o, err
}

// Kept says until when a run keeps what is deleted after a time.
type Kept struct {
	Class landscape.Class
	Until landscape.Micros // 0: for ever
}

// KeptOf returns until when a run that has ended keeps what is deleted, by these periods and its document, in the order
// of Classes.
func (p *Periods) KeptOf(run landscape.Run) (all []Kept) {
	said := readSaid(run.Plan)
	rules := p.Of(run.Pipeline, said.periods)
	for _, class := range Classes {
		one := Kept{Class: class}
		if keep, ends := rules[class]; ends && said.readable {
			one.Until = run.Finished + landscape.Micros(keep.Microseconds())
		}
		all = append(all, one)
	}
	return all
}
