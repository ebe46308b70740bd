package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline/row"
)

// belongings are the keys of a step that only some operations have.
var belongings = []struct {
	key    string
	owners []string // operations
	cure   string
}{
	{"routes", []string{"gate"}, "routes belong to a gate: add gate with the expression for the label, or delete routes"},
	{"policy", []string{"coalesce"}, "a policy belongs to a coalesce: add coalesce with the branches, or delete policy"},
	{"merge", []string{"coalesce"}, "merge belongs to a coalesce: add coalesce with the branches, or delete merge"},
	{"collision", []string{"coalesce"}, "a collision belongs to a coalesce: add coalesce with the branches, or delete collision"},
	{"timeout", []string{"coalesce"}, "a timeout belongs to a coalesce: add coalesce with the branches, or delete timeout"},
	{"trigger", []string{"aggregate", "sort"}, "a trigger belongs to an aggregate or a sort: delete trigger"},
}

func (l *loader) checkStep(path string, step Step) {
	l.checkBelongings(path)
	if l.given(path, "gate") && !l.given(path, "routes") {
		l.report(path, "a gate needs routes, such as routes: {\"true\": continue, \"false\": discard}")
	}
	l.checkRename(Key(path, "rename"), step.Rename)
	if step.Coalesce != nil {
		l.checkCoalesce(path, step)
	}
	if step.Aggregate != nil {
		l.checkAggregate(path, step)
	}
	l.checkTrigger(path, step)
	if step.Expand != nil {
		l.checkExpand(Key(path, "expand"), step.Expand)
	}
	if step.Lookup != nil {
		l.checkLookup(Key(path, "lookup"), step.Lookup)
	}
	if step.Sample != nil {
		l.checkRate(Key(Key(path, "sample"), "rate"), step.Sample.Rate)
	}
}

// given reports whether the mapping at the path has the key.
func (l *loader) given(path, key string) bool { return l.doc.find(Key(path, key)) != nil }

// checkBelongings reports keys that the step's operation does not have.
func (l *loader) checkBelongings(path string) {
	for _, b := range belongings {
		owned := slices.ContainsFunc(b.owners, func(owner string) bool { return l.given(path, owner) })
		if l.given(path, b.key) && !owned {
			l.report(Key(path, b.key), "%s", b.cure)
		}
	}
}

func (l *loader) checkRename(path string, renames Map[string]) {
	olds := map[string]string{}
	for _, rename := range renames {
		at := Key(path, rename.Name)
		if old, twice := olds[rename.Value]; twice && rename.Value != "" {
			l.report(at, "%s and %s are both renamed to %s", quote(old), quote(rename.Name), quote(rename.Value))
		}
		if rename.Value == rename.Name {
			l.report(at, "%s is renamed to itself", quote(rename.Name))
		}
		olds[rename.Value] = rename.Name
	}
}

// checkCoalesce reports a policy and a merge that do not fit the branches.
func (l *loader) checkCoalesce(path string, step Step) {
	branches := step.Coalesce.names()
	if quorum := step.Policy.Quorum; quorum > len(branches) {
		l.report(Key(Key(path, "policy"), "quorum"), "%d is more than the %s that the coalesce has", quorum, count(len(branches), "branch", "branches"))
	}
	if branch := step.Merge.Select; branch != "" && !slices.Contains(branches, branch) {
		l.report(Key(Key(path, "merge"), "select"), "the coalesce has no branch named %s%s; it has %s", quote(branch), suggestion(branch, branches), strings.Join(branches, ", "))
	}
	if word := step.Merge.Word; step.Collision != "" && word != "" && word != Union {
		l.report(Key(path, "collision"), "only a union has collisions: delete collision, or write merge: union")
	}
}

// count returns the number and what is counted.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// rowsOfBatch is what a trigger calls the number of rows of its batch, next to the computed fields.
const rowsOfBatch = "rows"

func (l *loader) checkAggregate(path string, step Step) {
	compute := Key(Key(path, "aggregate"), "compute")
	for _, computed := range step.Aggregate.Compute {
		at := Key(compute, computed.Name)
		if slices.Contains(step.Aggregate.GroupBy, computed.Name) {
			l.report(at, "%s is a field of group_by already: choose another name", quote(computed.Name))
		}
		if computed.Name == rowsOfBatch && step.Trigger != nil && step.Trigger.When != "" {
			l.report(at, "batch.rows is the number of rows in trigger.when: choose another name")
		}
	}
}

func (l *loader) checkTrigger(path string, step Step) {
	at := Key(path, "trigger")
	trigger := l.doc.find(at)
	if trigger == nil {
		return
	}
	if trigger.kind == mappingNode && !trigger.written {
		l.report(at, "is empty: give rows, after or when, or leave the key out")
	}
	if l.given(at, "over") && !l.given(at, "rows") {
		l.report(Key(at, "over"), "says what rows counts: give rows, or delete over")
	}
	if step.Sort != nil && l.given(at, "when") {
		l.report(Key(at, "when"), "a sort has no computed fields to look at: write rows or after, or delete when")
	}
}

// checkExpand reports fields that would overwrite each other, and a separator that separates nothing.
func (l *loader) checkExpand(path string, expand *Expand) {
	element := expand.As
	if element == "" {
		element = expand.Field
	}
	if expand.Index != "" && expand.Index == element {
		l.report(Key(path, "index"), "the element is in %s already: choose another field", quote(element))
	}
	if split := l.doc.find(Key(path, "split")); split != nil && split.kind == scalarNode && split.text == "" {
		l.report(Key(path, "split"), "must not be empty: it separates the elements of a text")
	}
}

// checkRate reports a share that is not a number from 0 to 1.
func (l *loader) checkRate(path, rate string) {
	if !l.isText(path, rate) {
		return
	}
	value, err := row.Parse(row.Decimal, rate)
	if err != nil || compare(value, decimalOf("0")) < 0 || compare(value, decimalOf("1")) > 0 {
		l.report(path, "%s is not a share: write a number from 0 to 1, such as 0.1", quote(rate))
	}
}

// decimalOf returns a decimal that is known to be one.
func decimalOf(text string) row.Value {
	value, err := row.Parse(row.Decimal, text)
	if err != nil {
		panic(err)
	}
	return value
}

// checkLookup reports what is wrong with the table, and fields that it does not have as far as the schema tells.
func (l *loader) checkLookup(path string, lookup *Lookup) {
	table := Source{CSV: lookup.CSV, JSONL: lookup.JSONL, Schema: lookup.Schema}
	l.checkSource(path, table)
	if at, files := filesOf(path, lookup.CSV, lookup.JSONL); files != nil {
		l.checkLocal(at, *files)
	}
	for _, field := range table.Schema.Fields {
		if field.Value.Unique {
			l.report(Key(Key(Key(Key(path, "schema"), "fields"), field.Name), "unique"), "a table has one row for each key anyway: delete unique")
		}
	}
	if table.Schema.InForce() != ModeFixed {
		return
	}
	known := table.Schema.Fields.names()
	for _, group := range []struct {
		key    string
		fields Map[string]
	}{{"on", lookup.On}, {"add", lookup.Add}} {
		for _, entry := range group.fields {
			if entry.Value != "" && !slices.Contains(known, entry.Value) {
				l.report(Key(Key(path, group.key), entry.Name), "the schema of the table has no field %s%s", quote(entry.Value), suggestion(entry.Value, known))
			}
		}
	}
}
