package expr

import (
	"fmt"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// A decimal as the key of a map, or the index of a list, finds what the int or float finds that it is equal to. For CEL it
// is an interpreter.Qualifier, by which the planner looks values up.

// key returns the int or float that the decimal is equal to, or the decimal itself if there is none.
func (d decimalValue) key() ref.Val {
	if whole := d.number.BigInt(); d.number.IsInteger() && whole.IsInt64() {
		return types.Int(whole.Int64())
	}
	f := types.Double(d.number.InexactFloat64())
	if d.Equal(f) == types.True {
		return f
	}
	return d
}

// ID implements interpreter.Qualifier.
func (d decimalValue) ID() int64 { return 0 }

// IsOptional implements interpreter.Qualifier.
func (d decimalValue) IsOptional() bool { return false }

// Qualify implements interpreter.Qualifier.
func (d decimalValue) Qualify(vars interpreter.Activation, obj any) (any, error) {
	q, err := d.qualifier()
	if err != nil {
		return nil, err
	}
	return q.Qualify(vars, obj)
}

// QualifyIfPresent implements interpreter.Qualifier.
func (d decimalValue) QualifyIfPresent(vars interpreter.Activation, obj any, presenceOnly bool) (any, bool, error) {
	q, err := d.qualifier()
	if err != nil {
		return nil, false, err
	}
	return q.QualifyIfPresent(vars, obj, presenceOnly)
}

// qualifier returns that of the int or float.
func (d decimalValue) qualifier() (interpreter.Qualifier, error) {
	key := d.key()
	if _, same := key.(decimalValue); same {
		return nil, fmt.Errorf("no such key: %s", d.text())
	}
	return interpreter.NewAttributeFactory(nil, nil, nil).NewQualifier(nil, d.ID(), key, false)
}
