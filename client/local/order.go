package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/persons"
)

// ProposeRequest says which guarded change a person proposes, and why.
type ProposeRequest struct {
	Verb    landscape.OrderVerb
	Run     string            // as Find understands it; empty if the verb is not about one
	Args    map[string]string // what exactly: see docs/orders.md
	Subject string            // FIELD=VALUE of an order to forget: the value is not recorded
	Why     string
	Expires time.Duration // how long others may approve and execute it

	Key string                            // file with the person's SSH key
	Ask func(what string) ([]byte, error) // for the passphrase of the key
}

// OrderCase is an order, with the records that it was read from.
type OrderCase struct {
	client.OrderCase

	record landscape.ApprovalRequest
	done   *landscape.ApprovedExecution
}

// Signed is what was signed: one line of JSON, with its end.
func (c *OrderCase) Signed() string { return c.record.Statement + "\n" }

// Propose lets a person sign a request for a guarded change, with the state that it was seen in, and records it with an
// entry of the log. The error is an *Error: of kind Invalid if the key is of no approver, or its signature would not
// count; of kind Conflict if the order would change nothing.
func (h *Home) Propose(ctx context.Context, r ProposeRequest) (*OrderCase, error) {
	court, err := h.court(ctx)
	if err != nil {
		return nil, err
	}
	run, args := "", r.Args
	if r.Run != "" {
		found, err := h.Find(ctx, r.Run)
		if err != nil {
			return nil, err
		}
		run = found.ID
	}
	deed, err := h.deed(h.stores.Log, r.Verb, run, args, r.Subject)
	if err != nil {
		return nil, err
	}
	state, err := deed.look(ctx)
	if err != nil {
		return nil, err
	}
	key, by, err := court.signer(r.Key, r.Ask)
	if err != nil {
		return nil, err
	}
	jury := court.jury(ctx, r.Verb, args)
	if err := court.refuses(jury, persons.Signature{Person: by.Person, Key: key.PublicKey(), At: court.now}, nil); err != nil {
		return nil, err
	}
	statement, err := persons.NewOrder(r.Verb, run, args, state, r.Why, by, court.approvers.SHA256, court.now, court.now.Add(r.Expires))
	if err != nil {
		return nil, notSignable(err)
	}
	order, err := statement.Sign(key, by)
	if err == nil {
		err = court.log.Propose(ctx, order)
	}
	if err != nil {
		return nil, err
	}
	return court.look(ctx, order)
}

// AssentRequest says who signs which order, and why.
type AssentRequest struct {
	Order  string // the beginning of its digest
	Why    string
	Review bool // of what one person executed, in the place of an approval

	Key string
	Ask func(what string) ([]byte, error)
}

// Assent lets another person sign an order: that it be executed, or that its execution in an emergency was looked at. The error is an *Error: of kind Invalid if the
// signature would not count, of kind Conflict if the order is not open to it.
func (h *Home) Assent(ctx context.Context, r AssentRequest) (*OrderCase, error) {
	court, err := h.court(ctx)
	if err != nil {
		return nil, err
	}
	order, err := h.findOrder(ctx, r.Order)
	if err != nil {
		return nil, err
	}
	said, first, err := persons.VerifyOrder(order)
	if err != nil {
		return nil, notOpen(err)
	}
	kind := landscape.Approves
	if r.Review {
		kind = landscape.Reviews
	}
	jury := court.jury(ctx, order.Verb, said.Args)
	if !r.Review {
		if err := jury.Open(order); err != nil {
			return nil, notOpen(err)
		}
	}
	key, by, err := court.signer(r.Key, r.Ask)
	if err != nil {
		return nil, err
	}
	others, err := court.others(ctx, order, first, kind)
	if err == nil {
		err = court.refuses(jury, persons.Signature{Person: by.Person, Key: key.PublicKey(), At: court.now}, others)
	}
	if err != nil {
		return nil, err
	}
	statement, err := persons.NewAssent(kind, order.Digest, r.Why, by, court.approvers.SHA256, court.now)
	if err != nil {
		return nil, notSignable(err)
	}
	record, err := statement.Record(order, by)
	if err == nil {
		err = court.log.MayAssent(ctx, record) // before anybody touches a key
	}
	if err == nil {
		err = statement.Sign(key, &record)
	}
	if err == nil {
		_, err = court.log.Assent(ctx, record)
	}
	if errors.Is(err, landscape.ErrAssented) || errors.Is(err, landscape.ErrNotOpen) {
		err = notOpen(err)
	}
	if err != nil {
		return nil, err
	}
	return court.look(ctx, order)
}

// ExecuteRequest says which order is executed.
type ExecuteRequest struct {
	client.By         // Why says why one person breaks the glass
	Order      string // the beginning of its digest
	Subject    string // FIELD=VALUE of an order to forget
	BreakGlass bool   // in an emergency: the proposer's signature suffices, and two persons must review that
}

// OrderDone is what the execution of an order did.
type OrderDone struct {
	*OrderCase
	Before bool   `json:"before,omitempty"` // it had been executed before; what was left of it is done
	Did    string `json:"did,omitempty"`    // for people
}

// Execute does what an order says, once, if enough signatures under it count and what it is about is as it was seen. Repeating it finishes what is left, and changes
// nothing else. The error is an *Error of kind Conflict: with OrderNotApproved, OrderNotOpen or OrderStale nothing was done.
func (h *Home) Execute(ctx context.Context, r ExecuteRequest) (*OrderDone, error) {
	court, err := h.court(ctx)
	if err != nil {
		return nil, err
	}
	order, err := h.findOrder(ctx, r.Order)
	if err != nil {
		return nil, err
	}
	found, err := court.consider(ctx, order)
	if err != nil {
		return nil, err
	}
	under, x := court.log, landscape.ApprovedExecution{Run: order.Run, Order: order.Digest, Persons: found.Counted,
		Actor: cmp.Or(r.Actor, h.Actor)}
	if found.done == nil {
		if err := found.executable(r); err != nil {
			return nil, err
		}
		if found.Counted < found.Needed {
			x.Emergency, x.Why = true, r.Why
		}
		under = under.Under(x)
	}
	deed, err := h.deed(under, order.Verb, order.Run, found.Args, r.Subject)
	if err != nil {
		return nil, err
	}
	done := &OrderDone{Before: found.done != nil}
	if done.Before {
		done.Did, err = deed.finish(ctx, found.done)
	} else if err = found.stale(ctx, deed); err == nil {
		done.Did, err = deed.do(ctx, client.By{Actor: strings.Join(found.people(), ", "), Trigger: r.Trigger, Why: fmt.Sprintf("%s (order %.12s)", found.Why, order.Digest)})
	}
	if err != nil {
		return nil, err
	}
	done.OrderCase, err = court.look(ctx, order)
	return done, err
}

// executable refuses an order that nobody can execute so.
func (c *OrderCase) executable(r ExecuteRequest) error {
	if r.BreakGlass && strings.TrimSpace(r.Why) == "" {
		return &client.Error{Kind: client.Invalid, Code: client.InvalidRequest, Message: "say why one person must do it: the reason is recorded"}
	}
	err := c.Executable(c.Needed, r.BreakGlass)
	if errors.Is(err, landscape.ErrTooFew) {
		return &client.Error{Kind: client.Conflict, Code: client.OrderNotApproved, Message: err.Error(), Err: err}
	}
	if err != nil {
		return notOpen(err)
	}
	return nil
}

// people are those who want the order to be executed.
func (c *OrderCase) people() (names []string) {
	for _, s := range c.Signers {
		if s.Problem == "" && s.Kind != string(landscape.Reviews) {
			names = append(names, s.Person)
		}
	}
	return names
}

// stale refuses an order if what it is about is not as it was seen.
func (c *OrderCase) stale(ctx context.Context, d deed) error {
	now, err := d.look(ctx)
	if nothing, ok := errors.AsType[*client.Error](err); ok && nothing.Code == client.NothingToOrder {
		now, err = c.OrderStatement.State, nil
		c.Changed = []string{nothing.Message}
	}
	if err != nil {
		return err
	}
	c.Changed = append(c.Changed, c.OrderStatement.Changed(now)...)
	if c.Changed == nil {
		return nil
	}
	return &client.Error{Kind: client.Conflict, Code: client.OrderStale, Cure: client.ProposeAgain,
		Message: fmt.Sprintf("order %.12s is stale, and nothing was done: %s", c.Digest, strings.Join(c.Changed, "; "))}
}

// Orders returns all orders that were proposed, the newest first; not nil.
func (h *Home) Orders(ctx context.Context) ([]*OrderCase, error) {
	records, err := h.stores.Log.Orders(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(records, func(a, b landscape.ApprovalRequest) int { return cmp.Compare(b.At, a.At) })
	return h.lookAt(ctx, records)
}

// Order returns the order whose digest begins so. The error is an *Error of kind NotFound if there is none.
func (h *Home) Order(ctx context.Context, prefix string) (*OrderCase, error) {
	record, err := h.findOrder(ctx, prefix)
	if err != nil {
		return nil, err
	}
	court, err := h.readingCourt()
	if err != nil {
		return nil, err
	}
	return court.look(ctx, record)
}

// OrdersAbout returns the orders about a run, by digest; nil if there are none.
func (h *Home) OrdersAbout(ctx context.Context, run string) ([]*client.OrderCase, error) {
	records, err := h.stores.Log.OrdersAbout(ctx, run)
	if err != nil || records == nil {
		return nil, err
	}
	found, err := h.lookAt(ctx, records)
	about := make([]*client.OrderCase, len(found))
	for i, order := range found {
		about[i] = &order.OrderCase
	}
	return about, err
}

// lookAt looks at each of the orders, and changes nothing; not nil.
func (h *Home) lookAt(ctx context.Context, records []landscape.ApprovalRequest) ([]*OrderCase, error) {
	court, err := h.readingCourt()
	if err != nil {
		return nil, err
	}
	found := make([]*OrderCase, len(records))
	for i, record := range records {
		if found[i], err = court.look(ctx, record); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// findOrder returns the order whose digest begins so.
func (h *Home) findOrder(ctx context.Context, prefix string) (landscape.ApprovalRequest, error) {
	const least = 6
	if len(prefix) < least {
		return landscape.ApprovalRequest{},
			invalidOption(fmt.Errorf("%.70q is no digest of an order: give at least its first %d digits",
				prefix, least))
	}
	order, err := h.stores.Log.FindOrder(ctx, prefix)
	_, ambiguous := errors.AsType[*landscape.AmbiguousError](err)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		err = &client.Error{Kind: client.NotFound, Code: client.OrderNotFound, Message: fmt.Sprintf("nobody proposed an order %.70q", prefix), Cure: client.ListOrders, Err: err}
	case ambiguous:
		err = invalidOption(err)
	}
	return order, err
}

func notOpen(err error) error {
	return &client.Error{Kind: client.Conflict, Code: client.OrderNotOpen, Message: err.Error(), Err: err}
}
