package expr

import (
	"math"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"waymark/pipeline/row"
)

// maxRange is how many numbers a range may have: as many as the cost of one evaluation allows to look at.
const maxRange = maxCost

const rangeName = "range"

// numberFunctions returns exp, log and pow, of ints and floats, and range.
func numberFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		floatFunction("exp", func(x ...float64) float64 { return math.Exp(x[0]) }, cel.DoubleType),
		floatFunction("log", func(x ...float64) float64 { return math.Log(x[0]) }, cel.DoubleType),
		floatFunction("pow", func(x ...float64) float64 { return math.Pow(x[0], x[1]) }, cel.DoubleType, cel.DoubleType),
		cel.Function(rangeName,
			cel.Overload("range_int", []*cel.Type{cel.IntType}, cel.ListType(cel.IntType),
				cel.UnaryBinding(func(end ref.Val) ref.Val { return numbers(0, end.(types.Int)) })),
			cel.Overload("range_int_int", []*cel.Type{cel.IntType, cel.IntType}, cel.ListType(cel.IntType),
				cel.BinaryBinding(func(start, end ref.Val) ref.Val { return numbers(start.(types.Int), end.(types.Int)) }))),
	}
}

// floatFunction declares a function of floats, each of which may also be an int.
func floatFunction(name string, of func(x ...float64) float64, operands ...*cel.Type) cel.EnvOption {
	apply := func(values ...ref.Val) ref.Val {
		x := make([]float64, len(values))
		for i, value := range values {
			x[i] = asFloat(value)
		}
		return floatResult(name, x, of(x...))
	}
	var overloads []cel.FunctionOpt
	for choice := range 1 << len(operands) {
		id, types := name, make([]*cel.Type, len(operands))
		for i := range operands {
			types[i] = cel.DoubleType
			if choice>>i&1 == 1 {
				types[i] = cel.IntType
			}
			id += "_" + types[i].TypeName()
		}
		overloads = append(overloads, cel.Overload(id, types, cel.DoubleType, cel.FunctionBinding(apply)))
	}
	return cel.Function(name, overloads...)
}

func asFloat(v ref.Val) float64 {
	if n, is := v.(types.Int); is {
		return float64(n)
	}
	return float64(v.(types.Double))
}

// floatResult refuses what is not a number or infinite, and says of what.
func floatResult(name string, x []float64, result float64) ref.Val {
	switch {
	case math.IsNaN(result) || name == "log" && x[0] == 0 || name == "pow" && x[0] == 0 && x[1] < 0:
		return types.WrapErr(evalErrorf(CodeEval, "%s(%s) has no value", name, listed(x)))
	case math.IsInf(result, 0):
		return types.WrapErr(evalErrorf(CodeOverflow, "%s(%s) is outside the range of float", name, listed(x)))
	}
	return types.Double(result)
}

// listed prints the arguments of a call, in quotes as all values of rows.
func listed(x []float64) string {
	text := ""
	for i, value := range x {
		if i > 0 {
			text += ", "
		}
		text += strconv.Quote(string(row.AppendText(nil, row.FloatValue(value))))
	}
	return text
}

// numbers is the list of the ints from start, up to and without end.
func numbers(start, end types.Int) ref.Val {
	switch {
	case end <= start:
		return types.DefaultTypeAdapter.NativeToValue([]ref.Val{})
	case uint64(end)-uint64(start) > maxRange:
		return types.WrapErr(evalErrorf(CodeCost, "a range of %d numbers is longer than %d", uint64(end)-uint64(start), maxRange))
	}
	list := make([]ref.Val, 0, end-start)
	for n := start; n < end; n++ {
		list = append(list, n)
	}
	return types.DefaultTypeAdapter.NativeToValue(list)
}

// rangeCost counts the numbers of a range as work. It is a cost.ActualCostEstimator.
type rangeCost struct{}

// CallCost implements cost.ActualCostEstimator.
func (rangeCost) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function != rangeName {
		return nil
	}
	end, ok := args[len(args)-1].(types.Int)
	if !ok {
		return nil
	}
	start := types.Int(0)
	if len(args) == 2 {
		start, _ = args[0].(types.Int)
	}
	work := uint64(1)
	if end > start {
		work += min(uint64(end)-uint64(start), maxRange)
	}
	return &work
}

// estimateRange makes every expression with a range one whose cost is counted: what it holds is known when it is there.
func estimateRange() *cost.CallEstimate {
	size := cost.RangedSizeEstimate(0, maxRange)
	return cost.NewCallEstimate(cost.FixedCostEstimate(maxCost+1), &size)
}
