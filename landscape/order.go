package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// OrderVerb names a guarded change: one that may need several persons. Stored; never rename.
type OrderVerb string

// The guarded changes.
const (
	OrderPurge  OrderVerb = "purge"        // delete payloads that are due
	OrderForget OrderVerb = "forget"       // overwrite the records of a person
	OrderWaive  OrderVerb = "waive"        // publish although a policy did not pass
	OrderDecide OrderVerb = "resolve"      // say whether a blocked write reached its target
	OrderRevoke OrderVerb = "keys_revoke"  // let the entries of a sealer's key count no more
	OrderCancel OrderVerb = "cancel_final" // let nobody resume a run
	OrderRule   OrderVerb = "orders_rule"  // let fewer persons suffice for an order

	OrderArchive OrderVerb = "archive" // move what is recorded of old runs out of the landscape
)

// OrderVerbs are the guarded changes for which a rule says how many persons they need.
var OrderVerbs = []OrderVerb{OrderPurge, OrderForget, OrderWaive, OrderDecide, OrderRevoke, OrderCancel, OrderArchive}

// ApprovalRule says how many persons orders of a verb need from a moment on.
type ApprovalRule struct {
	Verb    OrderVerb `db:"verb,key"`
	Seq     int64     `db:"seq,key"` // from 0; set by Log
	Persons int64     `db:"persons"` // who proposes it is one of them; at least 1
	Actor   string    `db:"actor"`
	Why     string    `db:"why"`
	At      Micros    `db:"at_us"` // set by Log
}

// ApprovalRequest is a guarded change that a person proposed. Package persons says what is in its statement, and
// verifies the signature.
type ApprovalRequest struct {
	Run       string    `db:"run_id,key"`         // that it is about; empty if it is not about one
	Digest    string    `db:"request_sha256,key"` // of the statement with a line end, in hex
	Verb      OrderVerb `db:"verb"`
	Person    string    `db:"person"` // who proposed it, as the approvers file names the person
	Statement string    `db:"statement"`
	Signature string    `db:"signature"`  // of the statement, in the form of ssh-keygen -Y sign
	Approver  string    `db:"approver"`   // the line of the approvers file that let the key sign
	Expires   Micros    `db:"expires_us"` // from then on nobody can approve or execute it
	At        Micros    `db:"at_us"`      // as the statement says
}

// Approval is a signature under an order: that it be executed, or that its execution by one person was looked at.
type Approval struct {
	Run       string     `db:"run_id,key"` // as of the order
	Order     string     `db:"request_sha256,key"`
	Seq       int64      `db:"seq,key"` // from 0; set by Log
	Kind      AssentKind `db:"kind"`
	Person    string     `db:"person"`
	Statement string     `db:"statement"`
	Signature string     `db:"signature"`
	Approver  string     `db:"approver"`
	At        Micros     `db:"at_us"` // as the statement says
}

// AssentKind is what a signature under an order means. Stored; never rename.
type AssentKind string

// The kinds of signatures under orders.
const (
	Approves AssentKind = "approval" // the order is to be executed
	Reviews  AssentKind = "review"   // somebody looked at what one person executed in an emergency
)

// ApprovedExecution says that an order was executed, or of one that takes long, that this was begun. It is recorded in
// the transaction of what was ordered.
type ApprovedExecution struct {
	Run       string `db:"run_id,key"` // as of the order
	Order     string `db:"request_sha256,key"`
	Persons   int64  `db:"persons"`       // who had signed it
	Emergency bool   `db:"emergency"`     // one person broke the glass
	Why       string `db:"why"`           // of an emergency; else empty
	Purge     *int64 `db:"purge_id,null"` // of an order to purge or forget: its number in purges
	Actor     string `db:"actor,first"`   // who executed it
	At        Micros `db:"at_us,first"`   // set by Log
}

// Table returns approval_rules.
func (ApprovalRule) Table() string { return "approval_rules" }

// Table returns approval_requests.
func (ApprovalRequest) Table() string { return "approval_requests" }

// Table returns approvals.
func (Approval) Table() string { return "approvals" }

// Table returns approved_executions.
func (ApprovedExecution) Table() string { return "approved_executions" }

// NeedsOrderError says that an order needs more than one person, and was given by one. Nothing was done.
type NeedsOrderError struct {
	Verb    OrderVerb
	Persons int64
}

// Error names the order.
func (e *NeedsOrderError) Error() string {
	return fmt.Sprintf("%s needs %d persons: one proposes it, and others approve it", e.Verb, e.Persons)
}

// Errors of signatures under orders, and of executions.
var (
	ErrAssented = errors.New("the person has signed the order")
	ErrNotOpen  = errors.New("there is nothing to sign")
	ErrTooFew   = errors.New("fewer persons signed the order than it needs")
)

// Rulings returns what was ruled about orders of a verb, the oldest first; nil if nothing was.
func (r *Reader) Rulings(ctx context.Context, verb OrderVerb) ([]ApprovalRule, error) {
	return Select[ApprovalRule](ctx, r.from, verb)
}

// NeededPersons returns how many persons orders of a verb need: 1 if nothing was ruled.
func (r *Reader) NeededPersons(ctx context.Context, verb OrderVerb) (int64, error) {
	last, err := lastOf[ApprovalRule](ctx, r.from, string(verb))
	if err != nil || last == nil {
		return 1, err
	}
	return last.Persons, nil
}

// Orders returns all orders that were proposed, by run and digest; nil if there are none.
func (r *Reader) Orders(ctx context.Context) ([]ApprovalRequest, error) {
	return Select[ApprovalRequest](ctx, r.from)
}

// OrdersAbout returns the orders about a run, by digest; nil if there are none.
func (r *Reader) OrdersAbout(ctx context.Context, run string) ([]ApprovalRequest, error) {
	return Select[ApprovalRequest](ctx, r.from, run)
}

// FindOrder returns the order whose digest begins so. The error wraps ErrNotFound if there is none, and is an *AmbiguousError if there are several.
func (r *Reader) FindOrder(ctx context.Context, prefix string) (ApprovalRequest, error) {
	all, err := r.Orders(ctx)
	found := slices.DeleteFunc(all, func(o ApprovalRequest) bool { return !strings.HasPrefix(o.Digest, prefix) })
	switch {
	case err != nil:
		return ApprovalRequest{}, err
	case len(found) == 0:
		return ApprovalRequest{}, fmt.Errorf("order %.70q: %w", prefix, ErrNotFound)
	case len(found) > 1:
		return ApprovalRequest{},
			&AmbiguousError{fmt.Sprintf("the digests of %d orders begin with %s: %.12s and others", len(found), prefix,
				found[0].Digest)}
	}
	return found[0], nil
}

// Approvals returns the signatures under an order, the oldest first; nil if there are none.
func (r *Reader) Approvals(ctx context.Context, o ApprovalRequest) ([]Approval, error) {
	return Select[Approval](ctx, r.from, o.Run, o.Digest)
}

// ExecutionOf returns the execution of an order; nil if it was not executed.
func (r *Reader) ExecutionOf(ctx context.Context, o ApprovalRequest) (*ApprovedExecution, error) {
	return lastOf[ApprovedExecution](ctx, r.from, o.Run, o.Digest)
}

// Under returns a Log whose next guarded change is the execution of one that was proposed: that is recorded in its
// transaction, with the entry that says so. The caller has verified the signatures.
func (l *Log) Under(x ApprovedExecution) *Log {
	under := *l
	under.under = &x
	return &under
}

// MayOrder returns a *NeedsOrderError if orders of a verb need more than one person, unless an order is executed.
func (l *Log) MayOrder(ctx context.Context, verb OrderVerb) error {
	if l.under != nil {
		return nil
	}
	needed, err := l.NeededPersons(ctx, verb)
	if err == nil && needed > 1 {
		err = &NeedsOrderError{verb, needed}
	}
	return err
}

// Executes reports whether the next guarded change of the Log is the execution of one that was proposed.
func (l *Log) Executes() bool { return l.under != nil }

// executed adds to a transaction that it executes an order, if it does. purge is the number of an order in purges, or nil.
func (l *Log) executed(ctx context.Context, tx *Tx, purge *int64) error {
	if l.under == nil {
		return nil
	}
	x := *l.under
	x.Purge, x.At = purge, l.now()
	before, err := l.ExecutionOf(ctx, ApprovalRequest{Run: x.Run, Digest: x.Order})
	if err != nil {
		return err
	}
	if before != nil { // another attempt was faster, and its entry is there
		x.Actor, x.At = before.Actor, before.At
	}
	if before == nil {
		err = l.enough(ctx, x)
	}
	tx.Insert = append(tx.Insert, x)
	return errors.Join(err, l.noted(tx, x))
}

// enough requires that as many persons signed an order as its execution says, and as many as the rule says. The error wraps ErrTooFew.
func (l *Log) enough(ctx context.Context, x ApprovedExecution) error {
	o, err := get[ApprovalRequest](ctx, l, x.Run, x.Order)
	if err != nil {
		return err
	}
	signed, err := l.Approvals(ctx, o)
	if err != nil {
		return err
	}
	needed, err := l.NeededPersons(ctx, o.Verb)
	if err == nil && (x.Persons > int64(1+len(signed)) || x.Persons < needed && !x.Emergency) {
		err = fmt.Errorf("order %.12s: %w", x.Order, ErrTooFew)
	}
	return err
}

// noted adds the entry about a record of an order, if the log is sealed.
func (l *Log) noted(tx *Tx, r Record) error {
	if l.sealer == nil {
		return nil
	}
	entry, err := l.sealer.Noted(r)
	tx.Append = append(tx.Append, entry)
	return err
}

// Saw appends that a person's key was in the approvers file now, unless the log has an entry about the two. Nothing is done if the log is not sealed.
func (l *Log) Saw(ctx context.Context, person, key string) error {
	if l.sealer == nil {
		return nil
	}
	entry, err := l.sealer.Saw(person, key, l.now())
	if err != nil {
		return err
	}
	return l.AppendToLog(ctx, entry)
}

// AppendOrdered does what AppendToLog does, as a guarded change of a verb: with its execution, whose entry comes first.
// The error is a *NeedsOrderError if one person may not.
func (l *Log) AppendOrdered(ctx context.Context, verb OrderVerb, entries ...LogEntry) error {
	err := l.MayOrder(ctx, verb)
	var tx Tx
	if err == nil {
		err = l.executed(ctx, &tx, nil)
	}
	if err != nil {
		return err
	}
	tx.Append = append(tx.Append, entries...)
	return l.plain.Commit(ctx, tx)
}

// Rule records how many persons orders of a verb need from now on, with its entry; Seq and At are set. changed is false if that was so. The error is a
// *NeedsOrderError if they are fewer than before: that itself needs as many persons as before.
func (l *Log) Rule(ctx context.Context, rule ApprovalRule) (changed bool, err error) {
	err = settle(rule.Table(), func() error {
		last, err := lastOf[ApprovalRule](ctx, l, string(rule.Verb))
		if err != nil {
			return err
		}
		before := int64(1)
		rule.Seq, rule.At = 0, l.now()
		if last != nil {
			rule.Seq, before = last.Seq+1, last.Persons
		}
		if changed = rule.Persons != before; !changed {
			return nil
		}
		if rule.Persons < before && l.under == nil {
			return &NeedsOrderError{OrderRule, before}
		}
		tx := Tx{Insert: []Record{rule}}
		if err := errors.Join(l.noted(&tx, rule), l.executed(ctx, &tx, nil)); err != nil {
			return err
		}
		return l.driver.Commit(ctx, tx)
	})
	return changed, err
}

// Propose records an order that somebody proposed, with its entry. Repeating it changes nothing.
func (l *Log) Propose(ctx context.Context, o ApprovalRequest) error {
	tx := Tx{Insert: []Record{o}}
	if err := l.noted(&tx, o); err != nil {
		return err
	}
	return l.driver.Commit(ctx, tx)
}

// MayAssent says why a person cannot sign an order so; nil if the person can. The error wraps ErrAssented if the person has, or proposed it, and ErrNotOpen if an order
// that was executed is to be approved, or one that was not executed in an emergency is to be reviewed.
func (r *Reader) MayAssent(ctx context.Context, a Approval) error {
	o, err := get[ApprovalRequest](ctx, r.from, a.Run, a.Order)
	if err != nil {
		return err
	}
	x, err := r.ExecutionOf(ctx, o)
	switch {
	case err != nil:
		return err
	case o.Person == a.Person:
		return fmt.Errorf("order %.12s: %s proposed it: %w", a.Order, a.Person, ErrAssented)
	case a.Kind == Approves && x != nil:
		return fmt.Errorf("order %.12s was executed at %s by %s: %w", a.Order, told(x.At), x.Actor, ErrNotOpen)
	case a.Kind == Reviews && (x == nil || !x.Emergency):
		return fmt.Errorf("order %.12s was not executed with --break-glass: %w", a.Order, ErrNotOpen)
	}
	before, err := r.Approvals(ctx, o)
	for _, other := range before {
		if other.Kind == a.Kind && other.Person == a.Person {
			return fmt.Errorf("order %.12s: %s, %s: %w", a.Order, a.Person, told(other.At), ErrAssented)
		}
	}
	return err
}

func told(at Micros) string { return at.Time().UTC().Format("2006-01-02 15:04:05 MST") }

// Assent records a signature under an order, with its entry; Seq is set. The errors are those of MayAssent.
func (l *Log) Assent(ctx context.Context, a Approval) (Approval, error) {
	err := settle(a.Table(), func() error {
		if err := l.MayAssent(ctx, a); err != nil {
			return err
		}
		before, err := l.Approvals(ctx, ApprovalRequest{Run: a.Run, Digest: a.Order})
		if err != nil {
			return err
		}
		a.Seq = int64(len(before))
		tx := Tx{Insert: []Record{a}}
		if err := l.noted(&tx, a); err != nil {
			return err
		}
		return l.driver.Commit(ctx, tx)
	})
	return a, err
}
