package client

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"waymark/activities"
	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/worker"
)

// PipelineDiff says how two versions of pipelines differ.
type PipelineDiff struct {
	From  string           `json:"from"` // NAME@VERSION
	To    string           `json:"to"`
	Same  bool             `json:"same"`       // they are the same bytes
	Plans *bool            `json:"same_plans"` // they compile to equal plans; null if they say different things, and not both compile here
	Files []FileChange     `json:"files"`      // besides the document
	Value []DocumentChange `json:"changes"`    // of the document, in the order of the second one; what only the first one has follows
	Text  string           `json:"text"`       // the difference in lines
}

// ChangeKind says what became of a value or a file.
type ChangeKind string

// The kinds of changes.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
	Moved   ChangeKind = "moved" // the entries have another order
)

// FileChange is one file that two versions do not have in common.
type FileChange struct {
	Path   string         `json:"path"`
	Change ChangeKind     `json:"change"`
	Before payload.Digest `json:"before,omitempty"`
	After  payload.Digest `json:"after,omitempty"`
}

// DocumentChange is one value that two documents do not have in common.
type DocumentChange struct {
	Path   string     `json:"path"` // such as steps.large.gate.when
	Change ChangeKind `json:"change"`
	Before string     `json:"before,omitempty"`
	After  string     `json:"after,omitempty"`
}

// documentDifferenceBytes bounds how much is shown of the lines that differ: documents are not longer.
const documentDifferenceBytes = 4 << 20

// DiffPipelines compares two versions of pipelines that are deployed in an environment, each NAME or NAME@VERSION. params are values with which both are compiled, of parameters that have no
// default; those that follow from a slot have the values of one slot in both. The errors are those of Pipeline.
func (c *Client) DiffPipelines(ctx context.Context, environment, from, to string, params map[string]string) (_ *PipelineDiff, err error) {
	defer c.edge(ctx, &err)
	before, err := c.PipelineDocument(ctx, environment, from)
	if err != nil {
		return nil, err
	}
	after, err := c.PipelineDocument(ctx, environment, to)
	if err != nil {
		return nil, err
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return nil, err
	}
	values, err := c.log.LastEnvironment(ctx, cmp.Or(environment, landscape.DefaultEnvironment))
	if err != nil {
		return nil, err
	}
	var bundles [2]bundle.Bundle
	for i, word := range []string{before.Name(), after.Name()} {
		p, err := c.findPipeline(ctx, environment, word)
		if err == nil {
			bundles[i], err = bundle.Get(ctx, deposit.Payloads, payload.Digest(p.Bundle))
		}
		if err != nil {
			return nil, err
		}
	}
	d := diffBundles(bundles[0], bundles[1])
	d.From, d.To = before.Name(), after.Name()
	if same := len(d.Files)+len(d.Value) == 0; same {
		d.Plans = &same // they say the same
	} else {
		d.Plans = samePlans(deposit.Planner, bundles, params, values)
	}
	d.Text = activities.Difference(d.From, bundles[0].Source, d.To, bundles[1].Source, documentDifferenceBytes)
	return d, nil
}

// Name is NAME@VERSION.
func (d *PipelineDocument) Name() string { return versionName(d.Pipeline, d.Version) }

func diffBundles(before, after bundle.Bundle) *PipelineDiff {
	d := &PipelineDiff{Same: before.Manifest().Digest() == after.Manifest().Digest(), Files: []FileChange{}, Value: []DocumentChange{}}
	files := func(b bundle.Bundle) (texts []keyed) {
		for _, f := range b.Manifest().Files[1:] {
			texts = append(texts, keyed{f.Path, string(f.SHA256)})
		}
		return texts
	}
	for _, change := range changes(files(before), files(after)) {
		d.Files = append(d.Files, FileChange{change.Path, change.Change, payload.Digest(change.Before), payload.Digest(change.After)})
	}
	d.Value = append(d.Value, diffLeaves(leavesOf(before), leavesOf(after))...)
	return d
}

func leavesOf(b bundle.Bundle) []pipeline.Leaf {
	doc, _ := pipeline.Load(b.Name, b.Source, pipeline.Environment{}) // what its references lead to is not known here
	if doc == nil {
		return nil
	}
	return doc.Leaves()
}

// diffLeaves compares what two documents say. That entries were added or removed is said of them, and not also of their order.
func diffLeaves(before, after []pipeline.Leaf) []DocumentChange {
	split := func(leaves []pipeline.Leaf, order bool) (texts []keyed) {
		for _, leaf := range leaves {
			if leaf.Order == order {
				texts = append(texts, keyed{leaf.Path, leaf.Text})
			}
		}
		return texts
	}
	found := changes(split(before, false), split(after, false))
	for _, change := range changes(split(before, true), split(after, true)) {
		if change.Change == Changed && sameNames(change.Before, change.After) {
			change.Change = Moved
			found = append(found, change)
		}
	}
	return found
}

func sameNames(a, b string) bool {
	one, other := strings.Split(a, ", "), strings.Split(b, ", ")
	slices.Sort(one)
	slices.Sort(other)
	return slices.Equal(one, other)
}

// keyed is a text with a name.
type keyed struct{ key, text string }

// changes compares texts by their keys, which are different.
func changes(before, after []keyed) (found []DocumentChange) {
	old, now := map[string]string{}, map[string]bool{}
	for _, k := range before {
		old[k.key] = k.text
	}
	for _, k := range after {
		now[k.key] = true
		was, known := old[k.key]
		switch {
		case !known:
			found = append(found, DocumentChange{Path: k.key, Change: Added, After: k.text})
		case was != k.text:
			found = append(found, DocumentChange{k.key, Changed, was, k.text})
		}
	}
	for _, k := range before {
		if !now[k.key] {
			found = append(found, DocumentChange{Path: k.key, Change: Removed, Before: k.text})
		}
	}
	return found
}

// samePlans reports whether both bundles compile to equal plans, for the same slot of time; nil if one does not compile here.
func samePlans(planner worker.Planner, bundles [2]bundle.Bundle, params map[string]string, values landscape.Environment) *bool {
	given, err := aboutOneSlot(bundles, params)
	if err != nil {
		return nil
	}
	var plans [2]any
	for i, b := range bundles {
		doc, err := compileBundle(planner, b, b.Name, given[i], values)
		if err != nil {
			return nil
		}
		description := doc.Plan.Describe()
		description.Document = ""
		plans[i] = description
	}
	same := reflect.DeepEqual(plans[0], plans[1])
	return &same
}

// aboutOneSlot adds to the parameters of both bundles those that follow from the next slot of the second one's first schedule. What a schedule gives
// to parameters is left out: it would hide that a default is another one.
func aboutOneSlot(bundles [2]bundle.Bundle, params map[string]string) (given [2]map[string]string, err error) {
	var tables [2]*pipeline.Timetable
	for i, b := range bundles {
		doc := &Document{File: b.Name, Source: b.Source, bundle: b}
		if tables[i], err = doc.timetable(); err != nil {
			return given, err
		}
	}
	schedule := tables[1].Daily()
	if all := tables[1].Schedules; len(all) > 0 {
		schedule.Value = all[0].Value
	}
	given = [2]map[string]string{params, params}
	if next := schedule.Value.Next(time.Now()); len(next) > 0 {
		for i, table := range tables {
			given[i], _ = table.Fill(schedule, next[0], params)
		}
	}
	return given, nil
}
