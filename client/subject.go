package client

import (
	"context"
	"errors"
	"fmt"

	"waymark/audit"
	"waymark/landscape"
	"waymark/payload"
)

// SubjectRequest says whom or what to look for.
type SubjectRequest struct {
	Field string // of the business keys of sources
	Value string // as a source of text has it
	Run   string // as Find understands it; empty: all runs
}

// Subject is where a subject's rows are in the landscape, in the payload store, and in outputs.
type Subject struct {
	Field       string          `json:"field"`
	Runs        []SubjectRun    `json:"runs"`         // that have rows, or may have some; by id; not nil
	Searched    int             `json:"searched"`     // runs with a source that has the field in its key
	Keyless     int64           `json:"keyless"`      // rows that their sources refused: these have no key, and nothing finds them by one
	Purged      int64           `json:"purged"`       // rows that did not go through the steps, and whose records are not stored any more
	Unkeyed     int             `json:"unkeyed"`      // runs without a source that has the field in its key
	NotSearched []UnsearchedRun `json:"not_searched"` // not nil

	Unread []landscape.UnreadDeliveries `json:"unread"` // deliveries at triggers that no run has read: they are not searched; not nil, and empty if one run is searched
}

// SubjectRun is what one run holds of a subject.
type SubjectRun struct {
	Run      string  `json:"run"`
	Pipeline string  `json:"pipeline"`
	Status   string  `json:"status"`
	Holds    []int64 `json:"holds,omitempty"` // that protect the run
	audit.Subject
}

// UnsearchedRun is a run that could not be searched.
type UnsearchedRun struct {
	Run string `json:"run"`
	Why string `json:"why"`
}

// Subject finds the rows of a subject in all runs, or in one, by the business keys of sources, and what came of them. It reads the landscape and the
// records of rows whose hashes fit. The error is an *Error of kind Invalid if no source of these runs has the field in its key.
func (c *Client) Subject(ctx context.Context, request SubjectRequest) (subject *Subject, err error) {
	defer c.edge(ctx, &err)
	runs, err := c.searched(ctx, request.Run)
	if err != nil {
		return nil, err
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	subject = &Subject{Field: request.Field, Runs: []SubjectRun{}, NotSearched: []UnsearchedRun{}, Unread: []landscape.UnreadDeliveries{}}
	if request.Run == "" {
		if subject.Unread, err = c.log.UnreadDeliveries(ctx); err != nil {
			return nil, err
		}
	}
	for _, run := range runs {
		found, sources, err := auditor.Subject(ctx, run.ID, request.Field, request.Value)
		if ctx.Err() != nil || errors.Is(err, landscape.ErrUnavailable) || errors.Is(err, payload.ErrUnavailable) {
			return nil, errors.Join(err, ctx.Err())
		}
		subject.add(run, found, sources, err)
	}
	if subject.Searched+len(subject.NotSearched)+len(subject.Unread) == 0 {
		return nil, &Error{Kind: Invalid, Code: InvalidQuestion, Message: fmt.Sprintf("no source of these runs has the field %.64q in its key", request.Field), Cure: DeclareKey}
	}
	return subject, c.addHolds(ctx, subject, runs)
}

// searched returns the runs that a question is about.
func (c *Client) searched(ctx context.Context, word string) (runs []landscape.RunHead, err error) {
	if word == "" {
		return runs, c.log.RunHeads(ctx, func(run landscape.RunHead) bool { runs = append(runs, run); return true })
	}
	run, err := c.Find(ctx, word)
	return []landscape.RunHead{run.RunHead}, err
}

// add adds what was found in a run, or why nothing could be.
func (s *Subject) add(run landscape.RunHead, found *audit.Subject, sources int, wrong error) {
	if wrong != nil {
		s.NotSearched = append(s.NotSearched, UnsearchedRun{run.ID, wrong.Error()})
		return
	}
	if sources == 0 {
		s.Unkeyed++
		return
	}
	s.Searched++
	s.Keyless += found.Keyless
	s.Purged += found.Purged
	if len(found.Rows)+len(found.Unsure) > 0 {
		s.Runs = append(s.Runs, SubjectRun{Run: run.ID, Pipeline: run.Pipeline, Status: string(run.Status), Subject: *found})
	}
}

// addHolds names the holds that protect the runs with rows.
func (c *Client) addHolds(ctx context.Context, s *Subject, runs []landscape.RunHead) error {
	holds, err := c.log.OpenHolds(ctx)
	heads := map[string]landscape.RunHead{}
	for _, run := range runs {
		heads[run.ID] = run
	}
	for i := range s.Runs {
		for _, hold := range holds {
			if hold.Holds(heads[s.Runs[i].Run]) {
				s.Runs[i].Holds = append(s.Runs[i].Holds, hold.ID)
			}
		}
	}
	return err
}
