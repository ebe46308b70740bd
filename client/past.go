package client

import (
	"cmp"
	"context"
	"errors"

	"waymark/landscape"
)

// Past is a run as it stood at a moment, as far as the record says when things were. A chunk counts as read when it is read, and as passed when all its rows went through the
// steps: of the rows within a chunk the record has no moments. The record does not have when a process ended without saying so, so a run that had stopped, and was resumed later, counts as
// running meanwhile. Policies and totals have no past.
type Past struct {
	Type string `json:"type"` // always past
	*Status
	At     Time           `json:"at"`     // the moment
	Begun  Time           `json:"begun"`  // the first moment of the run
	End    Time           `json:"end"`    // the last of which anything is recorded: what stood then stands now
	Before Time           `json:"before"` // the moment of the last change before At; Begun if there is none
	After  Time           `json:"after"`  // that of the next change; End if there is none
	OnWay  int64          `json:"rows_on_their_way"`
	Edges  []Edge         `json:"edges"` // in document order; nil if the record of the rows' ways is not whole
	Marks  []TimelineMark `json:"marks"` // what happened to the run besides its work, from its beginning to its end; not nil
}

// Past returns the run with this id as it stood at a moment: as it stands now if that is unknown, or after its end. The figures are counted as Counts and Edges count them, of
// what the record had then; at the end they are the same.
func (c *Client) Past(ctx context.Context, run string, at Time) (_ *Past, err error) {
	defer c.edge(ctx, &err)
	about, err := c.recorded(ctx, run)
	if err != nil {
		return nil, err
	}
	past, err := c.log.Past(ctx, run)
	if err != nil {
		return nil, err
	}
	moment := cmp.Or(landscape.Micros(at), past.End())
	then := c.over(past.At(moment))
	p := &Past{
		Type: "past", At: Time(moment), Begun: Time(past.Begun()), End: Time(past.End()), Before: Time(past.Before(moment)), After: Time(past.After(moment)),
	}
	if p.Status, err = then.counted(ctx, run); err != nil {
		return nil, err
	}
	if p.Files, err = then.Files(ctx, run); err != nil {
		return nil, err
	}
	p.OnWay = p.Rows - p.Passed
	p.Edges, err = then.Edges(ctx, run)
	if damaged, ok := errors.AsType[*Error](err); err != nil && (!ok || damaged.Kind != Damaged) {
		return nil, err
	}
	p.Marks, err = c.marks(ctx, about)
	return p, err
}

// over returns a Client that asks another record.
func (c *Client) over(log *landscape.Log) *Client { return New(log, c.place, c.host) }
