package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"waymark/activities"
	"waymark/landscape"
	"waymark/workflows"
)

// ForkRequest says how to fork a run.
type ForkRequest struct {
	By
	Detach bool // its follower wants to know no more than that it began
}

// Fork begins a new run of the present document in the place of a run that is not complete. As soon as the new one is recorded, the old
// one is cancelled permanently. The errors are those of Resume, and an *Error of kind Conflict if one person may not cancel it so.
func (c *Client) Fork(ctx context.Context, run landscape.Run, r ForkRequest) (*Execution, error) {
	if err := c.NotArchived(ctx, run.ID, "forked"); err != nil {
		return nil, err
	}
	forked, err := c.again(ctx, run, r.By, false, func(s *Session) (*Execution, error) { return s.fork(ctx, run.ID, r) })
	if err != nil {
		return nil, err
	}
	return forked.Execution, nil
}

func (s *Session) fork(ctx context.Context, id string, r ForkRequest) (*Execution, error) {
	old, err := s.stopped(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := activities.MayFork(old); err != nil {
		return nil, conflict(NotForkable, err)
	}
	if err := s.mayReplace(ctx, id); err != nil {
		return nil, err
	}
	doc, err := s.presentDocument(ctx, old)
	if err != nil {
		return nil, err
	}
	if err := s.interrupt(ctx, id); err != nil {
		return nil, err
	}
	in, err := s.runInput(ctx, doc, NewRunID())
	if err != nil {
		return nil, err
	}
	in.Parent, in.Link, in.Why = old.ID, string(landscape.ForkLink), r.Why
	if err := s.sameInput(in.Run, old.ID); err != nil {
		return nil, err
	}
	return s.alone(in.Run, func() (*Execution, error) {
		return s.execute(ctx, &Execution{
			by: r.By, Pipeline: doc.Name(), Total: doc.bytes(ctx), input: in, Detach: r.Detach,
			begun: func(ctx context.Context) error { return s.replaced(ctx, old.ID, in.Run, r.or(s.Actor)) },
		})
	})
}

// interrupt records that the run is interrupted, as are all whose process ended: or else it keeps its target, for which
// the run in its place waits. A server that is gone left its workflow open, which is ended first.
func (s *Session) interrupt(ctx context.Context, run string) error {
	if s.executes(run) { // since this process looked
		return beingExecuted(run)
	}
	if err := s.abandon(ctx, run); err != nil {
		return err
	}
	_, err := s.markInterrupted(ctx, "")
	return err
}

// presentDocument compiles the file of a run's document as it is now, or the version of its pipeline that is current, with the run's parameters.
func (s *Session) presentDocument(ctx context.Context, run landscape.Run) (*Document, error) {
	if run.Version > 0 {
		params, err := paramsOf(run, nil)
		if err != nil {
			return nil, err
		}
		slot, err := s.slotOf(ctx, run)
		if err != nil {
			return nil, err
		}
		return s.versionDocument(ctx, run.Environment, run.Pipeline, params, slot)
	}
	path := documentPath(run)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{
			Kind: Conflict, Code: DocumentMissing, Cure: StartAnew, Run: run.ID,
			Message: fmt.Sprintf("the document of run %s is not at %q any more", run.ID, path),
		}
	}
	params, err := paramsOf(run, nil)
	if err != nil {
		return nil, err
	}
	return Compile(s.Planner, path, params)
}

// slotOf returns the slot whose last run this is; none for a run of no slot, or of one that has another run by now.
func (s *Session) slotOf(ctx context.Context, run landscape.Run) (SlotOf, error) {
	slot, err := s.Log.SlotOfRun(ctx, run.ID)
	if errors.Is(err, landscape.ErrNotFound) {
		return SlotOf{}, nil
	}
	return SlotOf{For: slot.Name, Schedule: slot.Schedule[strings.LastIndexByte(slot.Schedule, '/')+1:], recorded: true}, err
}

// mayReplace refuses to begin another run in the place of one that one person may not cancel permanently.
func (s *Session) mayReplace(ctx context.Context, run string) error {
	err := s.Log.MayOrder(ctx, landscape.OrderCancel)
	if needs, ok := errors.AsType[*landscape.NeedsOrderError](err); ok {
		return &Error{
			Kind: Conflict, Code: OrderNeeded, Run: run,
			Message: fmt.Sprintf("a fork cancels run %s permanently, and %v: waymark cancel %s --final --why TEXT --propose --key FILE; then start another run", run, needs, run),
		}
	}
	return err
}

// replaced cancels a run permanently that another one replaces. It may be repeated.
func (s *Session) replaced(ctx context.Context, old, with string, by By) error {
	why := by.Why
	if why == "" {
		why = "forked"
	}
	if err := s.end(ctx, old, workflows.Command{Actor: by.Actor, Why: "run " + with + " has its place: " + why, Final: true}); err != nil {
		return fmt.Errorf("run %s has the place of run %s, which could not be ended: %w", with, old, err)
	}
	if err := s.discard(ctx, old); err != nil {
		s.Warn(fmt.Sprintf("what run %s staged stays where it is: %v", old, err))
	}
	return nil
}

// refuseReplaced refuses a run that another one replaced. If the process that began the other one died before it ended this one, that is
// done now.
func (s *Session) refuseReplaced(ctx context.Context, run string) error {
	linked, err := s.Log.LinkedRuns(ctx, run)
	if err != nil {
		return err
	}
	for _, other := range linked {
		if other.Link != landscape.ForkLink {
			continue
		}
		if err := s.replaced(ctx, run, other.Run, By{}.or(s.Actor)); err != nil {
			return err
		}
		return &Error{Kind: Conflict, Code: RunReplaced, Message: fmt.Sprintf("run %s has the place of run %s", other.Run, run), Cure: ResumeOther, Run: other.Run}
	}
	return nil
}
