package graphs

import (
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// Codes of refused rows that no expression and no source makes.
const (
	codeUnrouted      = "UNROUTED"
	codeNoSuchField   = "NO_SUCH_FIELD"
	codeFieldExists   = "FIELD_EXISTS"
	codeLookupMissing = "LOOKUP_MISSING"
	codeNotAList      = "NOT_A_LIST"
	codeBatchRows     = "BATCH_ROWS"
	codeIncomplete    = "INCOMPLETE_BRANCHES"
	codeQuorum        = "QUORUM_NOT_MET"
	codeSelectMissing = "SELECT_BRANCH_MISSING"
	codeCollision     = "COLLISION"
)

// mergeRows makes one row of the rows that arrived, which are in declared order. collisions are the fields that branches
// disagree on.
func mergeRows(step *pipeline.Step, arrived []branchToken) (merged row.Row, collisions []string, refused *Refusal) {
	switch step.Merge.Word {
	case pipeline.Nested:
		return nested(arrived), nil, nil
	case pipeline.SelectBranch:
		return selected(step.Merge.Select, arrived)
	}
	merged, collisions = union(arrived, step.Collision == "first")
	if len(collisions) > 0 && step.Collision == "fail" {
		refused = &Refusal{Code: codeCollision, Field: collisions[0]}
	}
	return merged, collisions, refused
}

// union has the fields of all branches, in order of first appearance. The last branch, or the first, decides on the value
// of a field that several have.
func union(arrived []branchToken, firstWins bool) (row.Row, []string) {
	b := newFields()
	disagree := map[string]bool{}
	for _, a := range arrived {
		for i, name := range a.token.row.Shape.Fields() {
			value := a.token.row.Values[i]
			known, has := b.values[name]
			disagree[name] = disagree[name] || has && known.Key() != value.Key()
			if !has || !firstWins {
				b.put(name, value)
			}
		}
	}
	collisions := slices.DeleteFunc(slices.Clone(b.names), func(name string) bool { return !disagree[name] })
	return b.row(), collisions
}

// nested has a field for each branch, with the branch's row as a JSON object.
func nested(arrived []branchToken) row.Row {
	b := newFields()
	for _, a := range arrived {
		b.put(a.branch, jsonValue(string(row.AppendJSONObject(nil, a.token.row))))
	}
	return b.row()
}

// selected is the row of one branch. Without it the union of the others is what is refused.
func selected(branch string, arrived []branchToken) (row.Row, []string, *Refusal) {
	for _, a := range arrived {
		if a.branch == branch {
			return a.token.row, nil, nil
		}
	}
	others, collisions := union(arrived, false)
	return others, collisions, &Refusal{Code: codeSelectMissing}
}

func jsonValue(text string) row.Value {
	value, err := row.ParseJSON(text)
	if err != nil {
		panic(err)
	}
	return value
}

// fields is a row in the making.
type fields struct {
	names  []string
	values map[string]row.Value
}

func newFields() *fields { return &fields{values: map[string]row.Value{}} }

func fieldsOf(r row.Row) *fields {
	f := newFields()
	for i, name := range r.Shape.Fields() {
		f.put(name, r.Values[i])
	}
	return f
}

// put sets a field, which keeps its place if the row has it.
func (f *fields) put(name string, value row.Value) {
	if _, has := f.values[name]; !has {
		f.names = append(f.names, name)
	}
	f.values[name] = value
}

func (f *fields) row() row.Row {
	var values []row.Value
	for _, name := range f.names {
		values = append(values, f.values[name])
	}
	return row.Row{Shape: row.NewShape(f.names), Values: values}
}
