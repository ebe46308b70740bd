package plan

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestEveryOperation: each operation that a document may have is checked.
func TestEveryOperation(t *testing.T) {
	for _, operation := range pipeline.Operations() {
		if operation == Fork || operation == Coalesce {
			continue // they change no row; checkCoalesce knows its branches
		}
		require.NotNil(t, checks[operation], "%s has no check in steps.go", operation)
	}
}

// TestStepConfig: what a step says in the document is in what is recorded of it.
func TestStepConfig(t *testing.T) {
	fields := reflect.TypeFor[pipeline.Step]()
	for i := range fields.NumField() {
		step := pipeline.Step{}
		before := newStepConfig(&step)
		fill(t, reflect.ValueOf(&step).Elem().Field(i))
		require.NotEqual(t, before, newStepConfig(&step), fields.Field(i).Name)
	}
}

// fill sets a value to one that differs from zero.
func fill(t *testing.T, value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		value.SetString("x")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int64:
		value.SetInt(7)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(t, value.Index(0))
	case reflect.Struct:
		fill(t, value.Field(0))
	default:
		require.Fail(t, "a step has a field of a kind that this test does not fill", value.Type())
	}
}
