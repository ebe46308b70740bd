package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"go.temporal.io/api/serviceerror"

	"waymark/activities"
	"waymark/audit/archive"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/payload"
)

// UnlessStopped returns err, unless ctx has ended and err comes of that: then it returns an *Error of kind Interrupted, which wraps the
// error of ctx as well. What has a kind already comes of it only if it wraps an error that says so.
func UnlessStopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	classified, ok := errors.AsType[*Error](err)
	if ok && (classified.Kind == Interrupted || !ofContext(err)) {
		return err
	}
	return &Error{
		Kind: Interrupted, Code: Stopped, Message: fmt.Sprintf("stopped: %v", context.Cause(ctx)),
		Err: errors.Join(ctx.Err(), err),
	}
}

// ofContext reports whether the error says, by itself or in the words of Temporal, that a context has ended.
func ofContext(err error) bool {
	_, cancelled := errors.AsType[*serviceerror.Canceled](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return cancelled || late || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// UnlessAway returns err, unless it says that a service does not answer, or a disk is full: then it returns an *Error of kind Unavailable; or that this process lacks a key: then one of kind
// Invalid. What has a kind already keeps it.
func UnlessAway(err error) error {
	if _, classified := errors.AsType[*Error](err); classified {
		return err
	}
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	fault, faulty := errors.AsType[*cluster.Fault](err)
	unreadable, archived := errors.AsType[*archive.UnreadableError](err)
	switch {
	case archived && unreadable.Changed:
		return &Error{Kind: Damaged, Code: ArchiveChanged, Message: err.Error(), Cure: RestoreBundle, Run: unreadable.Run, Err: err}
	case archived:
		return &Error{Kind: Unavailable, Code: ArchiveUnreadable, Message: err.Error(), Cure: RestoreBundle, Run: unreadable.Run, Err: err}
	case errors.Is(err, landscape.ErrKeyless):
		return &Error{Kind: Invalid, Code: InvalidKey, Message: err.Error() + "; --keys names the folder of a sealer's key that does", Err: err}
	case errors.Is(err, landscape.ErrAway), errors.Is(err, payload.ErrUnavailable):
		return &Error{Kind: Unavailable, Code: StorageUnavailable, Message: err.Error(), Cure: Diagnose, Err: err}
	case activities.Full(err):
		return noSpace(err)
	case faulty && !fault.Lasting:
		return &Error{Kind: Unavailable, Code: TemporalUnavailable, Message: err.Error(), Cure: Diagnose, Err: err}
	case unavailable, late:
		return &Error{Kind: Unavailable, Code: TemporalUnavailable, Message: fmt.Sprintf("temporal does not answer: %v", err), Cure: Diagnose, Err: err}
	}
	return err
}

// noSpace is about a disk that is full, in one sentence: what is written next to what failed says the same. What the
// operating system says names no cure.
func noSpace(err error) error {
	said, _, _ := strings.Cut(err.Error(), "\n")
	full := &Error{Kind: Unavailable, Code: StorageUnavailable, Message: said, Err: err}
	if _, plain := errors.AsType[*fs.PathError](err); plain {
		full.Cure = FreeSpace
	}
	return full
}

// edge gives an error that leaves the Client the kind that fits: of a closed one or a service that is away Unavailable, of a ctx that has ended
// Interrupted.
func (c *Client) edge(ctx context.Context, err *error) {
	if *err == nil {
		return
	}
	if closed := c.Closed(); closed != nil {
		*err = closed
		return
	}
	*err = NeedsOrder(UnlessAway(UnlessStopped(ctx, *err)))
}

// NeedsOrder returns err, unless one person gave an order that needs several: then it returns an *Error of kind Conflict.
func NeedsOrder(err error) error {
	if needs, ok := errors.AsType[*landscape.NeedsOrderError](err); ok {
		return &Error{Kind: Conflict, Code: OrderNeeded, Message: needs.Error(), Cure: ProposeOrder, Err: err}
	}
	return err
}

// recorded returns the run with this id. The error is an *Error of kind NotFound if there is none.
func (c *Client) recorded(ctx context.Context, id string) (landscape.Run, error) {
	return recorded(ctx, c.log, c.place, id)
}

func recorded(ctx context.Context, log *landscape.Log, place, id string) (landscape.Run, error) {
	run, err := log.Run(ctx, id)
	if errors.Is(err, landscape.ErrNotFound) {
		err = noRun(id, place, err)
	}
	return run, err
}

// noRun says that no run is recorded that has this id, or one that begins like that.
func noRun(id, place string, err error) error {
	return &Error{Kind: NotFound, Code: RunNotFound, Message: fmt.Sprintf("no run %q is recorded in %s", id, place), Cure: ListRuns, Err: err}
}

// invalid is about a request that lacks something, or contradicts itself.
func invalid(message string) error {
	return &Error{Kind: Invalid, Code: InvalidRequest, Message: message}
}

// mostWhy is how many characters a reason may have: people are to read it.
const mostWhy = 4_000

// giveWhy refuses an order or a decision that does not say why: the record could not answer for it.
func (b By) giveWhy() error {
	if strings.TrimSpace(b.Why) == "" {
		return invalid("say why, for the record: By.Why is empty")
	}
	if n := utf8.RuneCountInString(b.Why); n > mostWhy {
		return invalid(fmt.Sprintf("say why in at most %d characters, not %d", mostWhy, n))
	}
	return nil
}
