package graphs

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// arguments returns, for each computed field and each aggregate function in it, the row's argument.
func (p *programs) arguments(spec *pipeline.Aggregate, r row.Row) ([][]row.Value, *Refusal) {
	var all [][]row.Value
	for _, entry := range spec.Compute {
		var args []row.Value
		for _, call := range p.batch(entry.Value).Calls() {
			value := row.NullValue()
			if call.Arg != nil {
				var err error
				if value, err = call.Arg.Eval(r); err != nil {
					return nil, refusalOf(err, entry.Name)
				}
			}
			args = append(args, value)
		}
		all = append(all, args)
	}
	return all, nil
}

// computed returns the computed fields of a batch, or why the batch is refused.
func (p *programs) computed(spec *pipeline.Aggregate, members []event) ([]row.Value, *Refusal) {
	if spec.ExpectRows > 0 && len(members) != spec.ExpectRows {
		return nil, &Refusal{Code: codeBatchRows}
	}
	var values []row.Value
	for i, entry := range spec.Compute {
		var results []row.Value
		for k, call := range p.batch(entry.Value).Calls() {
			var args []row.Value
			for _, m := range members {
				args = append(args, m.args[i][k])
			}
			results = append(results, aggregate(call, args))
		}
		value, err := p.batch(entry.Value).Eval(results)
		if err != nil {
			return nil, refusalOf(err, entry.Name)
		}
		values = append(values, value)
	}
	return values, nil
}

// when reports whether the trigger's expression is true of the batch as it is.
func (p *programs) when(step *pipeline.Step, members []event) bool {
	names, fields := []string{}, []expr.Field{}
	for _, entry := range step.Aggregate.Compute {
		program := p.batch(entry.Value)
		names = append(names, entry.Name)
		fields = append(fields, expr.Field{Name: entry.Name, Kind: program.Kind(), Optional: true})
	}
	names, fields = append(names, "rows"), append(fields, expr.Field{Name: "rows", Kind: row.Int})
	text := step.Trigger.When
	program := once(fmt.Sprintf("%v %v ", fields, p.params), "when:"+text, func() (*expr.Program, error) {
		env, err := expr.NewBatchEnv(fields, false, p.params)
		if err != nil {
			return nil, err
		}
		return env.Compile(text, expr.Bool)
	})
	values, refused := p.computed(&pipeline.Aggregate{Compute: step.Aggregate.Compute}, members)
	if refused != nil {
		return false
	}
	value, err := program.Eval(row.Row{Shape: row.NewShape(names), Values: append(values, row.IntValue(int64(len(members))))})
	return err == nil && value.Bool()
}

// aggregate is one aggregate function over the values of a batch, in order of arrival.
func aggregate(call expr.Call, values []row.Value) row.Value {
	switch call.Func {
	case expr.Count:
		return row.IntValue(int64(len(values)))
	case expr.First:
		return values[0]
	case expr.Last:
		return values[len(values)-1]
	}
	values = slices.DeleteFunc(slices.Clone(values), row.Value.IsNull)
	switch call.Func {
	case expr.Collect:
		return listOf(values)
	case expr.CountDistinct:
		return row.IntValue(int64(distinct(values)))
	}
	if len(values) == 0 {
		return row.NullValue()
	}
	sorted := slices.Clone(values)
	slices.SortStableFunc(sorted, compareValues)
	switch call.Func {
	case expr.Min:
		return sorted[0]
	case expr.Max:
		return sorted[len(sorted)-1]
	case expr.Sum:
		return sum(values)
	case expr.Mean:
		mean, _ := new(big.Rat).Quo(exactSum(values), new(big.Rat).SetInt64(int64(len(values)))).Float64()
		return row.FloatValue(mean)
	case expr.Quantile:
		return quantile(sorted, call.Quantile)
	case expr.VarPop, expr.StddevPop:
		return spread(values, len(values), call.Func == expr.StddevPop)
	case expr.VarSamp, expr.StddevSamp:
		return spread(values, len(values)-1, call.Func == expr.StddevSamp)
	}
	panic("graphs: no function " + string(call.Func) + " here")
}

// spread is the variance, or its root: the mean square of the distances from the mean.
func spread(values []row.Value, divisor int, root bool) row.Value {
	if divisor == 0 {
		return row.NullValue()
	}
	mean := new(big.Rat).Quo(exactSum(values), big.NewRat(int64(len(values)), 1))
	total := new(big.Rat)
	for _, value := range values {
		distance := new(big.Rat).Sub(number(value), mean)
		total.Add(total, distance.Mul(distance, distance))
	}
	result, _ := total.Quo(total, big.NewRat(int64(divisor), 1)).Float64()
	if root {
		result, _ = new(big.Float).Sqrt(new(big.Float).SetPrec(300).SetRat(total)).Float64()
	}
	return row.FloatValue(result)
}

func listOf(values []row.Value) row.Value {
	var texts []string
	for _, value := range values {
		texts = append(texts, string(row.AppendJSONItem(nil, value)))
	}
	return jsonValue("[" + strings.Join(texts, ",") + "]")
}

func distinct(values []row.Value) int {
	different := map[row.Value]bool{}
	for _, value := range values {
		different[value.Key()] = true
	}
	return len(different)
}

// exactSum adds ints or floats without rounding.
func exactSum(values []row.Value) *big.Rat {
	total := new(big.Rat)
	for _, value := range values {
		total.Add(total, number(value))
	}
	return total
}

func number(value row.Value) *big.Rat {
	if value.Kind() == row.Float {
		return new(big.Rat).SetFloat64(value.Float())
	}
	return new(big.Rat).SetInt64(value.Int())
}

func sum(values []row.Value) row.Value {
	total := exactSum(values)
	if values[0].Kind() == row.Int {
		return row.IntValue(total.Num().Int64())
	}
	rounded, _ := total.Float64()
	return row.FloatValue(rounded)
}

// quantile of floats is interpolated between the two values at the place; of other kinds it is the lower of them.
func quantile(sorted []row.Value, q float64) row.Value {
	place := q * float64(len(sorted)-1)
	lower := int(place)
	low := sorted[lower]
	if low.Kind() != row.Float || lower == len(sorted)-1 {
		return low
	}
	return row.FloatValue(low.Float() + (place-float64(lower))*(sorted[lower+1].Float()-low.Float()))
}
