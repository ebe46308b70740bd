package client

import (
	"context"
	"fmt"
	"maps"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"waymark/audit/compare"
	"waymark/landscape"
	"waymark/pipeline"
)

// Comparison is how two runs differ: in what they made of the same rows, and in what they were told to do.
type Comparison struct {
	*compare.Comparison
	Params  []ParamChange    `json:"params"`  // those that differ; empty, not nil, if there is none
	Changes []DocumentChange `json:"changes"` // of the document, as in PipelineDiff; empty, not nil, if there is none
}

// ParamChange is a parameter that was given another value; nil of a run to which none was given.
type ParamChange struct {
	Name string  `json:"name"`
	Was  *string `json:"was"`
	Is   *string `json:"is"`
}

// Compare compares what two complete runs made of the same rows: where these ended, and at which node they went apart first. It reads the record only,
// also of runs whose payloads are purged. was and is are all that Find takes; an empty was is the run that RunBefore returns. The error is an *Error of kind Conflict if one of them is not complete, and
// Damaged if what is recorded of the rows' ways cannot be read.
func (c *Client) Compare(ctx context.Context, was, is string) (_ *Comparison, err error) {
	defer c.edge(ctx, &err)
	runs, err := c.comparable(ctx, was, is)
	if err != nil {
		return nil, err
	}
	found, err := c.compared(ctx, runs)
	if err != nil {
		return nil, answered(err)
	}
	made := &Comparison{Comparison: found, Changes: []DocumentChange{}}
	if made.Params, err = paramChanges(runs[0], runs[1]); err != nil {
		return nil, err
	}
	if !found.Document {
		made.Changes = append(made.Changes, diffLeaves(leavesIn(runs[0]), leavesIn(runs[1]))...)
	}
	return made, nil
}

// keptComparisons is how many comparisons a Client keeps: people go from one to its rows, page by page, and back.
const keptComparisons = 16

// newComparisons returns room for them.
func newComparisons() *lru.Cache[comparedRuns, *compare.Comparison] {
	kept, err := lru.New[comparedRuns, *compare.Comparison](keptComparisons)
	if err != nil {
		panic(err) // only of a size that makes no sense
	}
	return kept
}

// comparedRuns are two complete runs as they were compared. Nothing in their records changes any more but that rows are forgotten.
type comparedRuns struct {
	was, is                 string
	forgottenWas, forgotten int64
}

// compared compares two runs, unless it did before. What it returns is not to be changed.
func (c *Client) compared(ctx context.Context, runs [2]landscape.Run) (*compare.Comparison, error) {
	key := comparedRuns{was: runs[0].ID, is: runs[1].ID}
	var err error
	if key.forgottenWas, err = c.log.ForgottenIn(ctx, key.was); err == nil {
		key.forgotten, err = c.log.ForgottenIn(ctx, key.is)
	}
	if err != nil {
		return nil, err
	}
	if found, known := c.comparisons.Get(key); known {
		return found, nil
	}
	found, err := compare.Runs(ctx, c.log.Reader, runs[0], runs[1])
	if err == nil {
		c.comparisons.Add(key, found)
	}
	return found, err
}

// ComparedRows returns the rows of two complete runs that a filter selects, by source and by their numbers in the first run. They begin after the row of
// the first run whose token is after, or with the first if that is empty, and are at most as many as limit says, or all if that is 0. was and is are as for
// Compare. The error is as that of Compare, and an *Error of kind Invalid if the runs have no such node or row, or there is no such kind.
func (c *Client) ComparedRows(ctx context.Context, was, is string, filter compare.Filter, after string, limit int) (rows []compare.PairedRow, err error) {
	defer c.edge(ctx, &err)
	runs, err := c.comparable(ctx, was, is)
	if err != nil {
		return nil, err
	}
	if filter.Kind != "" && !slices.Contains(compare.Kinds(), filter.Kind) {
		return nil, &Error{Kind: Invalid, Code: InvalidQuestion, Run: runs[1].ID, Message: fmt.Sprintf("rows are flipped, refused or changed, and not %q", filter.Kind)}
	}
	if filter.Node != "" {
		if err := c.eitherHas(ctx, runs, filter.Node); err != nil {
			return nil, err
		}
	}
	var from *landscape.Token
	if after != "" {
		token, err := c.log.ParseToken(ctx, runs[0].ID, after)
		if err != nil {
			return nil, noRow(runs[0].ID, after, err)
		}
		from = &token
	}
	rows, err = compare.Rows(ctx, c.log.Reader, runs[0], runs[1], filter, from, limit)
	return rows, answered(err)
}

// comparable returns the two runs that words mean, if they can be compared.
func (c *Client) comparable(ctx context.Context, was, is string) (runs [2]landscape.Run, err error) {
	if runs[1], err = c.Find(ctx, is); err != nil {
		return runs, err
	}
	if was == "" {
		if was, err = c.RunBefore(ctx, runs[1]); err != nil {
			return runs, err
		}
	}
	if runs[0], err = c.Find(ctx, was); err != nil {
		return runs, err
	}
	for _, run := range runs {
		if !Complete(run.Status) {
			return runs, &Error{Kind: Conflict, Code: NotComparable, Run: run.ID, Message: fmt.Sprintf("run %s is %s: only complete runs can be compared", run.ID, run.Status)}
		}
	}
	if runs[0].ID == runs[1].ID {
		return runs, &Error{Kind: Invalid, Code: InvalidQuestion, Run: runs[0].ID, Message: fmt.Sprintf("run %s is equal to itself: name another one", runs[0].ID)}
	}
	return runs, nil
}

// eitherHas is nil if one of the two runs has the node.
func (c *Client) eitherHas(ctx context.Context, runs [2]landscape.Run, node string) error {
	for _, run := range runs {
		nodes, err := c.log.Nodes(ctx, run.ID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(nodes, func(n landscape.Node) bool { return n.Node == node }) {
			return nil
		}
	}
	return &Error{Kind: Invalid, Code: InvalidQuestion, Run: runs[1].ID, Message: fmt.Sprintf("neither run has a node %q", node)}
}

// RunBefore returns the id of the last run of the same pipeline that was complete when the run began, but for those that retry records: one of the same
// environment if there is one.
// The error is an *Error of kind NotFound if there is none.
func (c *Client) RunBefore(ctx context.Context, run landscape.Run) (id string, err error) {
	defer c.edge(ctx, &err)
	before, err := c.log.CompleteBefore(ctx, run.RunHead, 1)
	if err == nil && len(before) == 0 { // of a file, or deployed, as this one is not
		other := run.RunHead
		if other.Environment = landscape.DefaultEnvironment; run.Environment != "" {
			other.Environment = ""
		}
		before, err = c.log.CompleteBefore(ctx, other, 1)
	}
	if err == nil && len(before) == 0 {
		err = &Error{Kind: NotFound, Code: RunNotFound, Run: run.ID, Message: fmt.Sprintf("no run of %s was complete before run %s began: name one to compare it with", run.Pipeline, run.ID)}
	}
	if err != nil {
		return "", err
	}
	return before[0].ID, nil
}

// leavesIn are what the recorded document of a run says, by place.
func leavesIn(run landscape.Run) []pipeline.Leaf {
	doc, _ := pipeline.Load(run.File, []byte(run.Document), pipeline.Environment{}) // what its references lead to is not known here
	if doc == nil {
		return nil
	}
	return doc.Leaves()
}

// paramChanges says which parameters two runs were given otherwise, by name.
func paramChanges(was, is landscape.Run) ([]ParamChange, error) {
	before, err := paramsOf(was, nil)
	if err != nil {
		return nil, err
	}
	after, err := paramsOf(is, nil)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(names)
	changes := []ParamChange{}
	for _, name := range slices.Compact(names) {
		change := ParamChange{Name: name, Was: given(before, name), Is: given(after, name)}
		if change.Was == nil || change.Is == nil || *change.Was != *change.Is {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

func given(params map[string]string, name string) *string {
	if value, set := params[name]; set {
		return &value
	}
	return nil
}
