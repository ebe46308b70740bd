package client

import (
	"context"
	"errors"
	"fmt"

	"waymark/audit"
	"waymark/landscape"
)

// Explain tells the story of one row: where it was read, what every step made of it, and where it went, each computed again and compared
// with the recorded hash. A Story that is not True tells of a record that is damaged. q.Run may be all that Find takes.
//
// The error is an *Error of kind NotFound if there is no such run or row, Invalid if the question makes no sense for the run or fits
// several rows, and Damaged if what is recorded of the row cannot be read.
func (c *Client) Explain(ctx context.Context, q audit.Question) (story *audit.Explanation, err error) {
	defer c.edge(ctx, &err)
	auditor, err := c.auditor(ctx, &q)
	if err != nil {
		return nil, err
	}
	if story, err = auditor.Explain(ctx, q); err == nil {
		story.SignOffs, err = c.SignOffs(ctx, story.Run)
	}
	return story, answered(err)
}

// WhyNot tells what kept a row, and everything that came of it, from a sink. It needs the run's plan, which the recorded document must still
// give on this machine. The errors are those of Explain.
func (c *Client) WhyNot(ctx context.Context, q audit.Question, sink string) (denial *audit.Denial, err error) {
	defer c.edge(ctx, &err)
	auditor, err := c.auditor(ctx, &q)
	if err != nil {
		return nil, err
	}
	denial, err = auditor.WhyNot(ctx, q, sink)
	return denial, answered(err)
}

// auditor returns what answers the question about the run that q.Run means.
func (c *Client) auditor(ctx context.Context, q *audit.Question) (*audit.Auditor, error) {
	run, err := c.Find(ctx, q.Run)
	if err != nil {
		return nil, err
	}
	q.Run = run.ID
	return c.host.Auditor(ctx)
}

// answered says who can do something about a question that has no answer.
func answered(err error) error {
	question, senseless := errors.AsType[*audit.QuestionError](err)
	_, ambiguous := errors.AsType[*audit.AmbiguousError](err)
	switch {
	case senseless && question.Sources > 1:
		return &Error{Kind: Invalid, Code: InvalidQuestion, Message: err.Error(), Cure: NameSource, Err: err}
	case senseless:
		return &Error{Kind: Invalid, Code: InvalidQuestion, Message: err.Error(), Err: err}
	case ambiguous:
		return &Error{Kind: Invalid, Code: AmbiguousRow, Message: err.Error(), Cure: NameRow, Err: err}
	case errors.Is(err, landscape.ErrNotFound):
		return &Error{Kind: NotFound, Code: RowNotFound, Message: err.Error(), Err: err}
	case errors.Is(err, landscape.ErrIncomplete):
		return &Error{Kind: Damaged, Code: RecordIncomplete, Message: fmt.Sprintf("%s: %v", audit.RecordIncomplete, err), Err: err}
	default:
		return err
	}
}

// Verify computes everything that is recorded of a run again and compares it. word is all that Find takes, or the id of a run that is not
// recorded itself, of which there are records. The error says that the verification could not be done, such as one of kind NotFound if there
// is nothing of such a run; what it found is in the Report.
func (c *Client) Verify(ctx context.Context, word string, o audit.VerifyOptions) (report *audit.Report, err error) {
	defer c.edge(ctx, &err)
	id := word // a damaged landscape may not tell which run that is
	run, missing := c.Find(ctx, word)
	if missing == nil {
		id = run.ID
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	if o.Approvers == nil {
		if o.Approvers, err = c.approvers(); err != nil {
			return nil, err
		}
	}
	report, err = auditor.VerifyWith(ctx, id, o)
	if missing != nil && errors.Is(err, landscape.ErrNotFound) {
		return nil, missing
	}
	return report, err
}
