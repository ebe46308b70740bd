package expr

import (
	"slices"

	"waymark/pipeline/row"
)

// Func names an aggregate function. The words are stored; never rename one.
type Func string

// The aggregate functions: what each gives for the values of its argument in the rows of a batch, in the order of the
// rows. All but Count, First and Last skip nulls; if no value is left, CountDistinct gives 0, Collect [] and the others
// give null. Min, Max and Quantile go by row.Compare.
//
// The values of one call are of one kind, or ints and decimals, which count as decimals. Where the argument is dynamic that
// shows only when they are there: a batch with values of other two kinds is refused with CodeNoSuchOverload by every function
// but Count, First, Last, Collect and CountDistinct.
const (
	Count         Func = "count"          // the number of rows, an int; it has no argument
	Sum           Func = "sum"            // of ints, floats or decimals, exact; of floats rounded once; an int beyond int64 is CodeOverflow
	Min           Func = "min"            // the least value
	Max           Func = "max"            // the greatest value
	Mean          Func = "mean"           // a float of ints and floats; a decimal of decimals, see DecimalSum.Mean
	First         Func = "first"          // the value of the first row, null if it is null there
	Last          Func = "last"           // the value of the last row, null if it is null there
	Collect       Func = "collect"        // the values as one JSON list, see ListOf
	CountDistinct Func = "count_distinct" // how many different values there are: 1 and 1.0 are one, '1' is another
	Quantile      Func = "quantile"       // the value at a place of the sorted values, see QuantileOf
	VarSamp       Func = "var_samp"       // the variance of a sample, a float: the exact one, rounded once; of one value null
	VarPop        Func = "var_pop"        // the variance of a whole population
	StddevSamp    Func = "stddev_samp"    // the standard deviation of a sample: the root of VarSamp
	StddevPop     Func = "stddev_pop"     // the standard deviation of a whole population: the root of VarPop
)

// Funcs returns all aggregate functions, in the order of the documentation.
func Funcs() []Func {
	return []Func{Count, Sum, Min, Max, Mean, First, Last, Collect, CountDistinct, Quantile, VarSamp, VarPop, StddevSamp, StddevPop}
}

// A Call is one aggregate function with its argument, in a batch expression.
type Call struct {
	Func Func
	// Arg is evaluated for each row; its error refuses the row. It gives only null and values that the function takes. It
	// is nil for Count.
	Arg      *Program
	Quantile float64 // 0 to 1; 0 for other functions

	Source   string   // as in the document, for messages: sum(row.cost)
	Kind     row.Kind // of the result; JSON if Dynamic
	Nullable bool     // the result may be null
	Dynamic  bool     // the kind of the result is known only when the rows are there
}

// takes returns what the argument of the function may be.
func (f Func) takes() Want {
	switch f {
	case Sum, Mean, VarSamp, VarPop, StddevSamp, StddevPop:
		return number
	case Min, Max, Quantile:
		return ordered
	}
	return Any
}

// result returns what is known of the function's results, given what is known of its argument.
func (f Func) result(arg result) result {
	switch f {
	case Count, CountDistinct:
		return result{kind: row.Int}
	case Collect:
		return result{kind: row.JSON}
	case VarPop, StddevPop:
		return result{kind: row.Float, nullable: arg.nullable || arg.dynamic}
	case VarSamp, StddevSamp:
		return result{kind: row.Float, nullable: true}
	case Mean:
		if arg.kind == row.Int {
			arg.kind = row.Float
		}
	}
	return arg
}

// isAggregate reports whether name is that of an aggregate function.
func isAggregate(name string) bool { return slices.Contains(Funcs(), Func(name)) }
