package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/audit"
	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/plugin"
)

// ForgetRequest says whom to forget.
type ForgetRequest struct {
	By
	Field    string   // of the business keys of sources
	Value    string   // as a source of text has it
	Run      string   // as Find understands it: forget one row of this run, also one that its source refused, and no Field; empty: all runs
	Source   string   // of the Row; empty if the run has only one
	Row      int64    // of the source, from 1
	DeleteIn []string // sinks, or outputs as Subject lists them: their rows are deleted in the targets, too; nil for none
	DryRun   bool     // say what would be forgotten, and forget nothing
	Finish   bool     // no other process forgets or purges: what an earlier one began is finished at once, however short ago that was
}

// FinishForgettingRequest says how orders that were given are carried out.
type FinishForgettingRequest struct {
	By
	LeaveIn []string // sinks or outputs whose targets are given up: rows that an order deletes there are left; nil for none
}

// Forget is what was forgotten, or would be.
type Forget struct {
	DryRun   bool               `json:"dry_run,omitempty"`  // nothing was forgotten
	Subject  *Subject           `json:"subject,omitempty"`  // where the rows were found; nil if a row was named
	Named    []landscape.RowKey `json:"named,omitempty"`    // rows that were found, or the one that was named
	Rows     []landscape.RowKey `json:"rows"`               // with the same records in other runs, and what barriers made of nothing else; not nil
	Erasures []retain.Erasure   `json:"erasures,omitempty"` // rows that are deleted in targets
	Runs     []string           `json:"runs"`               // that need a payload with one of them; not nil
	Done     *retain.Forgotten  `json:"done,omitempty"`     // nil if nothing was forgotten
	Finished []retain.Forgotten `json:"finished,omitempty"`
	Waiting  string             `json:"waiting,omitempty"` // why an order that was given before cannot be carried out yet
	Fates    []retain.ErasedIn  `json:"fates,omitempty"`   // of a dry run: what would become of the rows in targets, by run and sink, as they are now
	Stays    []Staying          `json:"stays,omitempty"`   // rows that orders were to delete, or that have the value, and are in their targets still
	Refused  string             `json:"refused,omitempty"` // of a dry run: why the order would be refused now; empty if it would not
}

// Staying counts rows that are still in an output after an order deleted rows there. With Run, the order was to delete
// them: somebody has edited them, or whose they are is unknown. Without Run, they have the value, and another
// writer may have written them: a later run that replaced a row, a run that could not be searched, or a person.
type Staying struct {
	Run    string `json:"run,omitempty"` // that wrote them, if they were to be deleted
	Output string `json:"output"`
	Rows   int64  `json:"rows"`
	Why    string `json:"why,omitempty"`     // why it is not known how many rows have the value
	ByHand string `json:"by_hand,omitempty"` // the statement that deletes them; empty if no value is known by which they are found
}

// stays notes the rows that stay, but for those that a person decided to leave.
func (f *Forget) stays(request ForgetRequest) {
	orders := slices.Clone(f.Finished)
	if f.Done != nil {
		orders = append(orders, *f.Done)
	}
	for _, order := range orders {
		for _, in := range order.Erased {
			stay := Staying{Run: in.Run, Output: in.Output}
			for outcome, rows := range in.Outcomes {
				if outcome == plugin.RowEdited || outcome == plugin.RowUnclear {
					stay.Rows += rows
				}
			}
			if stay.Rows == 0 {
				continue
			}
			if f.Done != nil && order.Order == f.Done.Order && request.Field != "" {
				stay.ByHand = deletionOf(in.Output, request.Field, request.Value)
			}
			f.Stays = append(f.Stays, stay)
		}
	}
}

// remain notes the outputs that have rows with the value still, besides those that are noted.
func (c *Client) remain(ctx context.Context, f *Forget, request ForgetRequest) error {
	if f.Done == nil || f.Done.Erased == nil || request.Field == "" {
		return nil
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return err
	}
	noted := map[string]int64{}
	for _, stay := range f.Stays {
		noted[stay.Output] += stay.Rows
	}
	asked := map[string]bool{}
	for _, in := range f.Done.Erased {
		if asked[in.Output] {
			continue
		}
		asked[in.Output] = true
		stay := Staying{Output: in.Output, ByHand: deletionOf(in.Output, request.Field, request.Value)}
		if stay.Rows, err = auditor.RowsWith(ctx, in.Run, in.Sink, request.Field, request.Value); err != nil {
			stay.Why = err.Error()
		}
		if stay.Why != "" || stay.Rows > noted[in.Output] {
			f.Stays = append(f.Stays, stay)
		}
	}
	return ctx.Err()
}

// deletionOf is the statement that deletes the rows of a table in which a column has a value.
func deletionOf(output, column, value string) string {
	table := strings.Split(output[strings.LastIndexByte(output, '/')+1:], ".")
	quoted := func(text, with string) string { return with + strings.ReplaceAll(text, with, with+with) + with }
	for i := range table {
		table[i] = quoted(table[i], `"`)
	}
	return fmt.Sprintf("delete from %s where %s::text = %s;", strings.Join(table, "."), quoted(column, `"`), quoted(value, "'"))
}

// RunCount returns of how many runs the Rows are. Runs may name more: one whose rows an earlier order forgot needs the
// same payloads.
func (f *Forget) RunCount() int64 {
	return distinct(f.Rows, func(row landscape.RowKey) string { return row.Run })
}

// ErasuresIn returns how many rows are deleted in which outputs.
func (f *Forget) ErasuresIn() map[string]int64 {
	rows := map[string]int64{}
	for _, e := range f.Erasures {
		rows[e.Output]++
	}
	return rows
}

// Forget overwrites the records of a subject in all runs, and everything in the landscape from which somebody could know or guess them. The ways of the rows
// stay, and everything verifies as before. After an error, or a crash, the next one, or one of FinishForgetting, continues. The error is an *Error of
// kind Conflict if a run is held, or has not ended, and Damaged if one does not fit its seals.
func (c *Client) Forget(ctx context.Context, request ForgetRequest) (forget *Forget, err error) {
	defer c.edge(ctx, &err)
	if !request.DryRun {
		if err := request.giveWhy(); err != nil {
			return nil, err
		}
		if err := c.log.MayOrder(ctx, landscape.OrderForget); err != nil { // before anything is read
			return nil, err
		}
	}
	forgetter, err := c.forgetter(ctx, request.Finish)
	if err != nil {
		return nil, err
	}
	forget = &Forget{DryRun: request.DryRun, Rows: []landscape.RowKey{}, Runs: []string{}}
	if !request.DryRun {
		if err := forget.finish(ctx, forgetter, true); err != nil {
			return nil, err
		}
	}
	if forget.Named, err = c.named(ctx, request, forget); err != nil {
		return nil, err
	}
	plan, err := retain.NewForgetPlan(ctx, c.log.Reader, forgetter.Follow, forget.Named)
	if err != nil {
		return nil, err
	}
	forget.Rows, forget.Runs = append(forget.Rows, plan.Rows...), append(forget.Runs, plan.Runs...)
	if len(plan.Rows) > 0 {
		if err := plan.DeleteIn(ctx, forgetter.Follow, forgetter.Targets, request.DeleteIn); err != nil {
			return nil, notDeletable(err)
		}
	}
	forget.Erasures = plan.Erasures
	if len(plan.Rows) == 0 {
		return forget, nil
	}
	order := landscape.Purge{Actor: request.or(c.Actor).Actor, Why: request.Why}
	err = c.mayForget(ctx, plan)
	switch {
	case request.DryRun:
		if err == nil {
			forget.Fates, err = forgetter.Try(ctx, plan, order)
			err = unforgettable(err)
		}
		return forget, forget.wouldRefuse(ctx, err)
	case err != nil:
		return nil, err
	}
	if forget.Done, err = forgetter.Forget(ctx, plan, order); err != nil {
		return forget, unforgettable(err)
	}
	forget.stays(request)
	return forget, c.remain(ctx, forget, request)
}

// mayForget refuses what an archive has, and what is held.
func (c *Client) mayForget(ctx context.Context, plan *retain.ForgetPlan) error {
	if len(plan.Away) > 0 {
		return c.archivedRows(ctx, plan.Away[0])
	}
	if len(plan.Held) > 0 {
		held := plan.Held[0]
		return &Error{Kind: Conflict, Code: RunHeld, Message: fmt.Sprintf("run %s is protected by hold %d (%s): nothing was forgotten", held.Run, held.Hold, held.Why), Cure: EndHold}
	}
	return nil
}

// wouldRefuse notes in a dry run why its order would be refused. An error that says nothing about the order is returned.
func (f *Forget) wouldRefuse(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	_, known := errors.AsType[*Error](err)
	needs, persons := errors.AsType[*landscape.NeedsOrderError](err)
	switch {
	case persons:
		f.Refused = needs.Error()
	case known, errors.Is(err, landscape.ErrKeyless):
		f.Refused = err.Error()
	default:
		return err
	}
	return nil
}

// archivedRows refuses to forget rows that an archived run read as well: what its bundle says of them, nobody can take out of it.
func (c *Client) archivedRows(ctx context.Context, run string) error {
	archive, err := c.log.ArchiveOf(ctx, run)
	if err != nil {
		return err
	}
	refused := &landscape.ArchivedError{Archive: *archive}
	return &Error{
		Kind: Conflict, Code: RunArchived, Run: run, Err: refused,
		Message: fmt.Sprintf("%v: it read these records, and its bundle has their hashes and errors, which cannot be overwritten there. Nothing was forgotten", refused),
	}
}

// named returns the rows that an order is about: those with a value in their key, which it notes in forget, or one row.
func (c *Client) named(ctx context.Context, request ForgetRequest, forget *Forget) (rows []landscape.RowKey, err error) {
	if request.Run == "" {
		if forget.Subject, err = c.Subject(ctx, SubjectRequest{Field: request.Field, Value: request.Value}); err != nil {
			return nil, err
		}
		return forget.Subject.RowKeys(), nil
	}
	run, err := c.Find(ctx, request.Run)
	if err != nil {
		return nil, err
	}
	nodes, err := c.log.Nodes(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	var sources []string
	for _, node := range nodes {
		if node.Kind == landscape.SourceNode && (request.Source == "" || request.Source == node.Node) {
			sources = append(sources, node.Node)
		}
	}
	if len(sources) != 1 {
		return nil, &Error{Kind: Invalid, Code: InvalidQuestion, Message: fmt.Sprintf("%d sources of run %s are meant: name one with --source", len(sources), run.ID), Run: run.ID}
	}
	row := landscape.RowKey{Run: run.ID, Source: sources[0], Row: request.Row}
	if _, err = c.log.ChunkOf(ctx, run.ID, row.Source, row.Row); errors.Is(err, landscape.ErrNotFound) {
		err = &Error{Kind: Invalid, Code: InvalidQuestion, Message: fmt.Sprintf("run %s read no row %d of %s", run.ID, row.Row, row.Source), Run: run.ID}
	}
	return []landscape.RowKey{row}, err
}

// notDeletable says of an error about rows in targets that the request is wrong.
func notDeletable(err error) error {
	untouched, isUntouched := errors.AsType[*retain.UntouchedError](err)
	kept, isKept := errors.AsType[*audit.NotErasableError](err)
	switch {
	case isUntouched:
		return &Error{Kind: Invalid, Code: NotDeletable, Message: untouched.Error(), Err: err}
	case isKept:
		return &Error{Kind: Invalid, Code: NotDeletable, Message: kept.Error(), Run: kept.Run, Err: err}
	}
	return err
}

// FinishForgetting carries out the orders to forget that were given and not carried out. The error is an *Error with the code RowsNotDeleted if a target does not
// delete rows, and NotDeletable if one is given up where no order is to delete rows.
func (c *Client) FinishForgetting(ctx context.Context, request FinishForgettingRequest) (forget *Forget, err error) {
	defer c.edge(ctx, &err)
	if request.LeaveIn != nil {
		if err := request.giveWhy(); err != nil {
			return nil, err
		}
	}
	forgetter, err := c.forgetter(ctx, true)
	if err != nil {
		return nil, err
	}
	forgetter.Leave, forgetter.LeftBy, forgetter.LeftWhy = request.LeaveIn, request.or(c.Actor).Actor, request.Why
	forget = &Forget{Rows: []landscape.RowKey{}, Runs: []string{}}
	err = forget.finish(ctx, forgetter, false)
	forget.stays(ForgetRequest{})
	return forget, unforgettable(notDeletable(err))
}

// forgetter returns what carries out orders.
func (c *Client) forgetter(ctx context.Context, finish bool) (*retain.Forgetter, error) {
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return nil, err
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	purger := &retain.Purger{Log: c.log, Payloads: deposit.Payloads}
	if finish {
		purger.Patience = -1
	}
	return &retain.Forgetter{Purger: purger, Follow: auditor, Targets: auditor}, nil
}

// finish carries out earlier orders. One that must wait keeps no other from being given; nor, if more are to be given, does one whose target does not delete rows.
func (f *Forget) finish(ctx context.Context, forgetter *retain.Forgetter, more bool) (err error) {
	f.Finished, err = forgetter.Finish(ctx)
	_, keeps := errors.AsType[*retain.TargetError](err)
	if errors.Is(err, landscape.ErrInUse) || keeps && more && ctx.Err() == nil {
		f.Waiting, err = err.Error(), nil
	}
	return err
}

// RowKeys returns the rows that were found, by run, source and number.
func (s *Subject) RowKeys() (rows []landscape.RowKey) {
	for _, run := range s.Runs {
		for _, row := range slices.Concat(run.Rows, run.Unsure) {
			rows = append(rows, landscape.RowKey{Run: run.Run, Source: row.Source, Row: row.Row})
		}
	}
	return rows
}

// unforgettable says who can do something about rows that cannot be forgotten.
func unforgettable(err error) error {
	refused, ok := errors.AsType[*landscape.UnforgettableError](err)
	keeps, keepsRows := errors.AsType[*retain.TargetError](err)
	switch {
	case keepsRows:
		e := &Error{Kind: Unavailable, Code: RowsNotDeleted, Message: keeps.Error(), Run: keeps.Run, Err: err}
		if keeps.Order != 0 {
			e.Cure = FinishForgetting
		}
		return e
	case ok && refused.Broken:
		return &Error{Kind: Damaged, Code: SealBroken, Message: err.Error(), Run: refused.Run, Err: err}
	case ok && refused.Open:
		return &Error{Kind: Conflict, Code: RunOpen, Message: err.Error(), Cure: EndRun, Run: refused.Run, Err: err}
	case ok:
		return &Error{Kind: Conflict, Code: RunOpen, Message: err.Error(), Run: refused.Run, Err: err}
	case errors.Is(err, landscape.ErrInUse):
		return &Error{Kind: Conflict, Code: RunHeld, Message: err.Error(), Cure: EndHold, Err: err}
	default:
		return err
	}
}
