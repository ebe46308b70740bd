package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"waymark/audit/evidence"
	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/persons"
)

// court is what decides about orders: the landscape, whose keys count, and the time.
type court struct {
	home      *Home
	log       *landscape.Log
	approvers *persons.Approvers
	now       time.Time
}

// court opens the landscape with a key that makes entries, and lets the log see the keys of the approvers.
func (h *Home) court(ctx context.Context) (*court, error) {
	log, err := h.witnessing(ctx)
	if err != nil {
		return nil, err
	}
	approvers, err := h.someApprovers()
	if err != nil {
		return nil, err
	}
	for _, a := range approvers.All {
		_, seen, err := evidence.SeenSince(ctx, log.Reader, a.Person, a.Key)
		if err == nil && !seen {
			err = log.Saw(ctx, a.Person, evidence.KeyText(a.Key))
		}
		if err != nil {
			return nil, err
		}
	}
	return &court{h, log, approvers, log.Now().Time()}, nil
}

// readingCourt changes nothing. Without an approvers file no signature counts.
func (h *Home) readingCourt() (*court, error) {
	approvers, err := h.options.approvers()
	if err != nil {
		return nil, err
	}
	if approvers == nil {
		approvers = &persons.Approvers{}
	}
	return &court{h, h.stores.Log, approvers, h.stores.Log.Now().Time()}, nil
}

// someApprovers returns whose keys may sign. The error says where the file must be.
func (h *Home) someApprovers() (*persons.Approvers, error) {
	approvers, err := h.options.approvers()
	if err == nil && approvers == nil {
		err = notSignable(fmt.Errorf("there is no approvers file at %s: write a line for each person, such as \"ann@example.com ssh-ed25519 AAAA… Ann Example\", "+
			"or name another file with --approvers", h.options.approversFile()))
	}
	return approvers, err
}

// signer returns a person's key, and the line that lets it sign orders now.
func (c *court) signer(file string, ask func(string) ([]byte, error)) (ssh.Signer, persons.Approver, error) {
	return c.home.keyOf(file, ask, c.approvers, persons.Orders, c.now)
}

// ruled is the verb whose rule says how many persons an order needs: one that lets fewer suffice needs as many as before.
func ruled(verb landscape.OrderVerb, args map[string]string) landscape.OrderVerb {
	if verb == landscape.OrderRule {
		return landscape.OrderVerb(args["verb"])
	}
	return verb
}

// jury returns what decides whose signatures count under orders of a verb. Keys that were known when the rule came that asks for several persons count at once: until then
// one person could do all this alone.
func (c *court) jury(ctx context.Context, verb landscape.OrderVerb, args map[string]string) *juryOf {
	j := &juryOf{}
	rulings, err := c.log.Rulings(ctx, ruled(verb, args))
	j.err = err
	var since landscape.Micros // several persons are needed; 0 if one suffices
	for _, r := range slices.Backward(rulings) {
		if r.Persons < 2 {
			break
		}
		since = r.At
	}
	j.Jury = persons.Jury{Approvers: c.approvers, Now: c.now, Known: func(person string, key ssh.PublicKey) (time.Time, bool) {
		seen, ok, err := evidence.SeenSince(ctx, c.log.Reader, person, key)
		j.err = errors.Join(j.err, err)
		if ok && (since == 0 || !seen.After(since.Time())) {
			seen = time.Time{}
		}
		return seen, ok
	}}
	return j
}

// juryOf is a jury that reads the log.
type juryOf struct {
	persons.Jury
	err error // what could not be read
}

// refuses refuses a signature that would not count.
func (c *court) refuses(j *juryOf, s persons.Signature, others []persons.Signature) error {
	err := j.Counts(s, others)
	if j.err != nil {
		return j.err
	}
	if err != nil {
		return notSignable(err)
	}
	return nil
}

// others are the signatures of a kind that are under an order, and that of who proposed it.
func (c *court) others(
	ctx context.Context, o landscape.ApprovalRequest, first ssh.PublicKey, kind landscape.AssentKind,
) ([]persons.Signature, error) {
	all := []persons.Signature{{Person: o.Person, Key: first, At: o.At.Time()}}
	approvals, err := c.log.Approvals(ctx, o)
	for _, a := range approvals {
		if _, key, wrong := persons.VerifyAssent(a); wrong == nil && a.Kind == kind {
			all = append(all, persons.Signature{Person: a.Person, Key: key, At: a.At.Time()})
		}
	}
	return all, err
}

// consider verifies an order and the signatures under it, and says what became of it.
func (c *court) consider(ctx context.Context, o landscape.ApprovalRequest) (*OrderCase, error) {
	approvals, err := c.log.Approvals(ctx, o)
	if err != nil {
		return nil, err
	}
	said, err := persons.ReadOrder(o)
	jury := c.jury(ctx, o.Verb, said.Args)
	found := &OrderCase{OrderCase: client.OrderCase{Case: jury.Consider(o, approvals)}, record: o}
	found.Counted, found.Reviewed = found.Persons(), found.Reviewers()
	if err == nil { // else Consider says what is wrong
		found.Needed, err = c.log.NeededPersons(ctx, ruled(o.Verb, said.Args))
	}
	found.done, err = c.execution(ctx, o, errors.Join(jury.err, err))
	if err != nil {
		return nil, err
	}
	switch x := found.done; {
	case x != nil:
		found.State, found.Executed, found.Executor, found.Emergency = client.OrderExecuted, client.Time(x.At), x.Actor, x.Why
	case !c.now.Before(o.Expires.Time()):
		found.State = client.OrderExpired
	case found.Problem != "":
		found.State = client.CommandInvalid
	case found.Counted < found.Needed:
		found.State = client.OrderProposed
	default:
		found.State = client.OrderApproved
	}
	return found, nil
}

// execution is ExecutionOf, unless there was an error before.
func (c *court) execution(
	ctx context.Context, o landscape.ApprovalRequest, err error,
) (*landscape.ApprovedExecution, error) {
	if err != nil {
		return nil, err
	}
	return c.log.ExecutionOf(ctx, o)
}

// look is consider, and says of an order that somebody could execute whether it is stale, unless that takes a value that is not recorded.
func (c *court) look(ctx context.Context, o landscape.ApprovalRequest) (*OrderCase, error) {
	found, err := c.consider(ctx, o)
	if err != nil || found.State != client.OrderProposed && found.State != client.OrderApproved || o.Verb == landscape.OrderForget {
		return found, err
	}
	deed, err := c.home.deed(c.log, o.Verb, o.Run, found.Args, "")
	if err == nil {
		err = found.stale(ctx, deed)
	}
	if stale, ok := errors.AsType[*client.Error](err); ok && stale.Code == client.OrderStale {
		found.State, err = client.OrderIsStale, nil
	}
	return found, err
}
