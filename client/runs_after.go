package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"waymark/landscape"
)

// mostLooked is at how many runs RunsAfter looks at most.
const mostLooked = 5_000

// RunsAfter calls yield with the runs on record, the newest first, beginning after the place that an earlier call returned, or with the newest run if that is
// empty, until yield returns false. next is the place where it stopped; empty if there are no more. It looks at no more than some thousand runs, so that
// next may not be empty although yield always returned true. Of slots, schedules, reasons and archives the runs say nothing: AddSlots adds them. The error is an *Error of kind Invalid if after is no place.
func (c *Client) RunsAfter(ctx context.Context, after string, yield func(*Run) (more bool, err error)) (next string, err error) {
	defer c.edge(ctx, &err)
	place, err := runPlace(after)
	if err != nil {
		return "", err
	}
	const page = 500
	for range mostLooked / page {
		heads, err := c.log.RecentRuns(ctx, place, page)
		if err != nil {
			return "", err
		}
		for i, head := range heads {
			place = &landscape.RunStart{Started: head.Started, ID: head.ID}
			run := runOf(head)
			if _, err := c.attend(ctx, &run); err != nil {
				return "", err
			}
			more, err := yield(&run)
			if err != nil || !more && (i < len(heads)-1 || len(heads) == page) {
				return placeText(place), err
			}
		}
		if len(heads) < page {
			return "", nil
		}
	}
	return placeText(place), nil
}

// AddSlots adds to runs that RunsAfter returned the slots that they are about, the schedules that began them, why somebody asked for them, and where their records are, if they are archived. It reads two
// records of each.
func (c *Client) AddSlots(ctx context.Context, runs []Run) (err error) {
	defer c.edge(ctx, &err)
	for i := range runs {
		if err := c.addSlot(ctx, &runs[i]); err != nil {
			return err
		}
	}
	return nil
}

func placeText(place *landscape.RunStart) string {
	return fmt.Sprintf("%d/%s", place.Started, place.ID)
}

// runPlace reads a place; nil for an empty one.
func runPlace(text string) (*landscape.RunStart, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no place is no error
	}
	at, id, _ := strings.Cut(text, "/")
	started, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("%.64q is no place in the list of runs", text), Err: err}
	}
	return &landscape.RunStart{Started: landscape.Micros(started), ID: id}, nil
}

// Recorded returns the record of the run with this id, not a prefix of it. The error is an *Error of kind NotFound if there is none.
func (c *Client) Recorded(ctx context.Context, id string) (run landscape.Run, err error) {
	defer c.edge(ctx, &err)
	return c.recorded(ctx, id)
}

// ProgressOf returns how far the run with this id is. The error is an *Error of kind NotFound if there is none.
func (c *Client) ProgressOf(ctx context.Context, id string) (progress landscape.Progress, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, id); err != nil {
		return progress, err
	}
	return c.log.Progress(ctx, id)
}

// StartsOf returns all times that somebody asked for the run with this id, the first first; it is empty, not nil, if nobody did.
func (c *Client) StartsOf(ctx context.Context, run string) (list []Start, err error) {
	defer c.edge(ctx, &err)
	starts, err := c.log.StartsOfRun(ctx, run)
	list = make([]Start, len(starts))
	for i, start := range starts {
		list[i] = startOf(start)
	}
	return list, err
}

// InFlight returns the ids of the runs that have not ended: those that run, and those that were asked for and have not begun. It is empty, not nil, if there is none.
func (c *Client) InFlight(ctx context.Context) (runs map[string]bool, err error) {
	defer c.edge(ctx, &err)
	return c.log.InFlight(ctx)
}
