package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"waymark/activities"
	"waymark/landscape"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// ResumeRequest says how to resume a run.
type ResumeRequest struct {
	By
	Recorded bool // with the recorded document, whatever its file holds now
	Detach   bool // its follower wants to know no more than that it was resumed
}

// Resumed says how a run was resumed.
type Resumed struct {
	Execution *Execution // nil if the run is complete, or was continued; the caller closes it
	Run       landscape.Run
	Continued string // who continues a paused run, for people; empty if it was not paused
}

// Resume resumes a run that stopped, from where it was: failed, interrupted, cancelled, or killed. A paused run that somebody executes is
// continued. Nothing happens to a complete run. The error is an *Error of kind Conflict if the run cannot be resumed, must be signed off before, or what it
// depends on changed (a *DocumentChangedError says how the document did), and of kind Busy if somebody executes it.
func (c *Client) Resume(ctx context.Context, run landscape.Run, r ResumeRequest) (_ *Resumed, err error) {
	defer c.edge(ctx, &err)
	if err := c.NotArchived(ctx, run.ID, "resumed"); err != nil {
		return nil, err
	}
	if err := c.mayRelease(ctx, run); err != nil {
		return nil, err
	}
	return c.again(ctx, run, r.By, true, func(s *Session) (*Execution, error) {
		return s.alone(run.ID, func() (*Execution, error) { return s.resume(ctx, run.ID, r) })
	})
}

// again lets a run go on: where it is executed if it is paused there and mayContinue is set, or else with what begin begins.
func (c *Client) again(ctx context.Context, run landscape.Run, by By, mayContinue bool, begin func(*Session) (*Execution, error)) (_ *Resumed, err error) {
	defer c.edge(ctx, &err)
	if run, err = c.recorded(ctx, run.ID); err != nil {
		return nil, err
	}
	if Complete(run.Status) {
		if mayContinue {
			return &Resumed{Run: run}, nil
		}
		return nil, conflict(NotResumable, run.Resumable())
	}
	if err := resumable(ctx, c.log.Reader, run.ID); err != nil {
		return nil, err
	}
	continued, err := c.letContinue(ctx, run.ID, by.or(c.Actor), mayContinue)
	if err != nil || continued != "" {
		return &Resumed{Run: run, Continued: continued}, err
	}
	session, err := c.host.Session(ctx, ToResume)
	if err != nil {
		return nil, err
	}
	e, err := begin(session)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	if e == nil { // it is complete by now
		run, err = c.recorded(ctx, run.ID)
		return &Resumed{Run: run}, errors.Join(err, session.Close())
	}
	e.close = session.Close
	return &Resumed{Run: run, Execution: e}, nil
}

// letContinue continues a paused run where it is executed, and returns by whom; nothing if nobody executes it.
func (c *Client) letContinue(ctx context.Context, run string, by By, mayContinue bool) (continued string, err error) {
	_, err = WithExecutor(ctx, c.host, run, func(executor *Executor) error {
		if err := executor.Attended(ctx, run); err != nil {
			return err
		}
		view, err := executor.View(ctx, run)
		if err != nil || view.Paused == nil || !mayContinue {
			return &Error{Kind: Busy, Code: RunBusy, Message: fmt.Sprintf("%s works for run %s already", executor.Name(), run), Cure: ShowStatus, Run: run, Err: err}
		}
		continued = executor.Name()
		return executor.Order(ctx, run, workflows.ContinueUpdate, workflows.Command{Actor: by.Actor, Why: cmp.Or(by.Why, "waymark resume")})
	})
	return continued, err
}

// resumable refuses a run that cannot be resumed, or that another one replaced.
func resumable(ctx context.Context, log *landscape.Reader, run string) error {
	_, err := log.Resumable(ctx, run)
	if _, refused := errors.AsType[*landscape.NotResumableError](err); refused {
		return conflict(NotResumable, err)
	}
	return err
}

func conflict(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: Conflict, Code: code, Message: err.Error(), Err: err}
}

// Unsealable makes an *Error of one that says why a run cannot be sealed: of kind Damaged if its records are not those that its last seal binds, else
// of kind Conflict. It returns any other error as it is.
func Unsealable(err error) error {
	refused, ok := errors.AsType[*landscape.UnsealableError](err)
	if !ok {
		return err
	}
	kind, code := Conflict, RunNotSealed
	if refused.Broken {
		kind, code = Damaged, SealBroken
	}
	return &Error{Kind: kind, Code: code, Message: err.Error(), Run: refused.Run, Err: err}
}

// resume resumes a run with the session. Until its workflow has resumed it, nothing is written for it. It returns nil for a run that is
// complete by now.
func (s *Session) resume(ctx context.Context, id string, r ResumeRequest) (*Execution, error) {
	run, err := s.stopped(ctx, id)
	if Complete(run.Status) {
		return nil, nil
	}
	if err == nil {
		err = Unsealable(s.Log.Intact(ctx, id))
	}
	if err == nil && !r.Recorded && s.sees(run) {
		err = s.sameDocument(ctx, run)
	}
	if err != nil {
		return nil, err
	}
	if !s.OnCluster() { // its workers see the files, and check the same when they resume the run
		executing, err := s.activities(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := activities.Check(ctx, executing, id); err != nil {
			return nil, conflict(DependencyChanged, err)
		}
	}
	if err := recovery.Compare(ctx, s.Temporal, s.Converter, s.Log.Reader, id); err != nil {
		return nil, err
	}
	if _, err := s.markInterrupted(ctx, id); err != nil {
		return nil, err
	}
	total, err := recordedBytes(ctx, s.Log.Reader, run)
	if err != nil {
		return nil, err
	}
	return s.execute(ctx, &Execution{by: r.By, Pipeline: run.Pipeline, Total: total, Detach: r.Detach, input: workflows.RunInput{
		OpenInput: activities.OpenInput{Run: id},
		Resume:    &activities.ResumeInput{Run: id, Epoch: run.Epoch + 1, Why: r.Why, Files: s.filesOf(ctx, run)},
	}})
}

// stopped returns the run as it is now that nobody else can execute it, if it can still be resumed.
func (s *Session) stopped(ctx context.Context, id string) (landscape.Run, error) {
	run, err := s.Log.Run(ctx, id)
	if err == nil {
		err = resumable(ctx, s.Log.Reader, id)
	}
	if err == nil {
		err = s.refuseReplaced(ctx, id)
	}
	return run, err
}

// filesOf returns the name of the files that a worker should see that resumes the run; nothing if none does, or in this process.
func (s *Session) filesOf(ctx context.Context, run landscape.Run) string {
	if !s.OnCluster() || s.Unattended(ctx, workflows.FilesQueue(s.Queue, run.Host)) {
		return ""
	}
	return run.Host
}

// DocumentChangedError says that the file of a run's document is not what it was when the run began. Either that is put back, or the
// recorded document is used, or the run is forked.
type DocumentChangedError struct {
	Run        string
	Path       string
	Difference string // in lines, of the recorded document and the present one
	MayFork    bool
}

// Error names the file and shows the difference.
func (e *DocumentChangedError) Error() string {
	return fmt.Sprintf("%s is not what it was when run %s began:\n%s", e.Path, e.Run, e.Difference)
}

// differenceBytes bounds how much is shown of a change of a document.
const differenceBytes = 8_000

// sameDocument refuses to resume with a document whose file holds something else by now. A file that is gone says nothing.
func (s *Session) sameDocument(ctx context.Context, run landscape.Run) error {
	path := documentPath(run)
	if info, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	present, err := ReadDocument(path)
	if err != nil {
		return conflict(DocumentChanged, err)
	}
	if bytes.Equal(present, []byte(run.Document)) {
		return nil
	}
	other, err := instead(ctx, s.Log.Reader, run)
	if err != nil {
		return err
	}
	return conflict(DocumentChanged, &DocumentChangedError{
		Run: run.ID, Path: path, MayFork: other == Fork,
		Difference: activities.Difference("on record", []byte(run.Document), "now", present, differenceBytes),
	})
}
