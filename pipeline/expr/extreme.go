package expr

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// The functions that CEL's parser makes of math.greatest and math.least, by the name that people know.
var extremeNames = map[string]string{"math.@max": "math.greatest", "math.@min": "math.least"}

// extremeOverloads declares math.greatest and math.least of decimals, which CEL does not know.
func extremeOverloads() (options []cel.EnvOption) {
	for name := range extremeNames {
		overloads := []cel.FunctionOpt{
			cel.Overload(name+"_decimal", []*cel.Type{decimalType}, decimalType),
			cel.Overload(name+"_decimal_decimal", []*cel.Type{decimalType, decimalType}, decimalType),
			cel.Overload(name+"_list_decimal", []*cel.Type{cel.ListType(decimalType)}, decimalType),
		}
		for _, other := range []*cel.Type{cel.IntType, cel.UintType, cel.DoubleType} {
			overloads = append(overloads,
				cel.Overload(name+"_decimal_"+other.TypeName(), []*cel.Type{decimalType, other}, cel.DynType),
				cel.Overload(name+"_"+other.TypeName()+"_decimal", []*cel.Type{other, decimalType}, cel.DynType))
		}
		options = append(options, cel.Function(name, overloads...))
	}
	return options
}

// extreme returns the meaning of one of extremeNames: the greatest or the least of its operands, or of a list, by value.
// CEL would round an int next to a float. Of equal numbers it is the first.
func extreme(name string) functions.FunctionOp {
	sign := +1
	if extremeNames[name] == "math.least" {
		sign = -1
	}
	return func(numbers ...ref.Val) ref.Val {
		if list, ok := numbers[0].(traits.Lister); ok && len(numbers) == 1 {
			numbers = itemsOf(list)
		}
		switch {
		case len(numbers) == 0:
			return types.NewErr("%s of an empty list has no value", extremeNames[name])
		case slices.ContainsFunc(numbers, func(v ref.Val) bool { return !isNumber(v) }):
			return types.NewErr("no such overload: %s", name)
		case len(numbers) > 1 && slices.ContainsFunc(numbers, isNaN):
			return types.NewErr("NaN values cannot be ordered")
		}
		found := numbers[0]
		for _, number := range numbers[1:] {
			if sign*orderOf(number, found) > 0 {
				found = number
			}
		}
		return found
	}
}

func itemsOf(list traits.Lister) (items []ref.Val) {
	for it := list.Iterator(); it.HasNext() == types.True; {
		items = append(items, it.Next())
	}
	return items
}

func isNumber(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Uint, types.Double, decimalValue:
		return true
	}
	return false
}

// orderOf is compareNumbers, which computes with decimals, and faster for two numbers of one kind.
func orderOf(a, b ref.Val) int {
	if own, ok := a.(traits.Comparer); ok && a.Type() == b.Type() {
		return int(own.Compare(b).(types.Int))
	}
	return compareNumbers(a, b)
}
