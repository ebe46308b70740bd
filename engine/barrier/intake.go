package barrier

import (
	"errors"

	"waymark/engine/plan"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// An Intake turns a row that comes to a barrier into what the Machine needs of it. It is deterministic and not safe for
// concurrent use.
type Intake interface {
	// Take returns what the barrier keeps of the row: in the order of Values, the row's own values, if the barrier needs the
	// whole row; then, beyond the fields of Shape, values that only the Machine reads. kept has Values of its own; its text is
	// that of in. empty says that the row has nothing in it for the barrier, and ends there. rejected says that the barrier does
	// not accept the row. In both cases kept is of no use.
	Take(in row.Row) (kept row.Row, empty bool, rejected *plugin.Rejection)
}

// NewIntake returns an Intake for the node, which is a barrier.
func NewIntake(node *plan.Node) Intake {
	switch node.Operation {
	case plan.Expand:
		return newExpandIntake(node)
	case plan.Coalesce:
		return &intake{whole: true, keys: newLocator(nil), needs: newLocator(nil)}
	default:
		return newBatchIntake(node)
	}
}

// intake keeps the whole row or nothing of it, then the values that make its group, then the arguments of aggregate
// functions.
type intake struct {
	arena
	whole     bool
	keys      *locator // of the fields that make a group
	needs     *locator // of other fields that a row must have
	arguments []argument
}

// argument is what an aggregate function gets of each row.
type argument struct {
	program *expr.Program
	field   string // that is computed with it
}

var noFields = row.NewShape(nil)

func newBatchIntake(node *plan.Node) *intake {
	in := &intake{whole: keepsRows(node), keys: newLocator(node.Batch.GroupBy), needs: newLocator(orderFields(node))}
	calls := callsOf(node.Batch.Compute)
	for i, call := range calls.list {
		if call.Arg != nil {
			in.arguments = append(in.arguments, argument{call.Arg, calls.field[i]})
		}
	}
	return in
}

// keepsRows reports whether the rows themselves come out of the barrier again.
func keepsRows(node *plan.Node) bool { return node.Operation != plan.Aggregate || node.Keeps }

func orderFields(node *plan.Node) []string {
	var names []string
	for _, order := range node.Batch.By {
		names = append(names, order.Field)
	}
	return names
}

// Take implements Intake.
func (t *intake) Take(in row.Row) (kept row.Row, empty bool, rejected *plugin.Rejection) {
	kept.Shape = noFields
	own := 0
	if t.whole {
		kept.Shape, own = in.Shape, len(in.Values)
	}
	if rejected = t.check(in); rejected != nil {
		return kept, false, rejected
	}
	values := append(t.room(own+len(t.keys.names)+len(t.arguments)), in.Values[:own]...)
	if values, rejected = t.keys.appendTo(values, in); rejected != nil {
		return kept, false, rejected
	}
	if values, rejected = t.appendArguments(values, in); rejected != nil {
		return kept, false, rejected
	}
	t.keep(values)
	kept.Values = values
	return kept, false, nil
}

func (t *intake) check(in row.Row) *plugin.Rejection {
	for i, position := range t.needs.positions(in.Shape) {
		if position == plan.None {
			return NoSuchField(t.needs.names[i])
		}
	}
	return nil
}

func (t *intake) appendArguments(values []row.Value, in row.Row) ([]row.Value, *plugin.Rejection) {
	for _, argument := range t.arguments {
		value, err := argument.program.Eval(in)
		if err != nil {
			return nil, EvalRejection(err, argument.field)
		}
		values = append(values, value)
	}
	return values, nil
}

// NoSuchField says that a row lacks a field which its node names.
func NoSuchField(name string) *plugin.Rejection {
	return &plugin.Rejection{Code: CodeNoSuchField, Field: name, Message: "the row has no such field"}
}

// EvalRejection says that an expression has no value for a row. field is the one that would hold it, "" if none would.
func EvalRejection(err error, field string) *plugin.Rejection {
	if failed, ok := errors.AsType[*expr.EvalError](err); ok {
		return &plugin.Rejection{Code: failed.Code, Field: field, Message: failed.Message}
	}
	return &plugin.Rejection{Code: expr.CodeEval, Field: field, Message: plugin.Brief(err.Error())}
}
