package expr

import (
	"errors"
	"math"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

var (
	docBatchBlock   = regexp.MustCompile("(?s)```cel-batch\n(.*?)```")
	docTriggerBlock = regexp.MustCompile("(?s)```cel-trigger\n(.*?)```")
	docComputed     = regexp.MustCompile("`([a-z]+): ([^`]+)`")
)

// docBatch is the batch of docs/expressions.md, and what the expressions over it see.
type docBatch struct {
	env  *Env
	rows []row.Row
}

func documentedBatch(t *testing.T, section string) docBatch {
	var fields []Field
	var names []string
	values := make([][]row.Value, 4)
	for _, m := range docField.FindAllStringSubmatch(section, -1) {
		kind, _ := row.ParseKind(m[2])
		fields, names = append(fields, Field{Name: m[1], Kind: kind, Optional: m[3] == "?"}), append(names, m[1])
		texts := strings.Split(m[4], ",")
		require.Len(t, texts, len(values), m[0])
		for i, text := range texts {
			value := row.NullValue()
			if text = strings.TrimSpace(text); text != "" {
				value = parse(t, kind, text)
			}
			values[i] = append(values[i], value)
		}
	}
	env, err := NewEnv(fields, false, documentedParams(t))
	require.NoError(t, err)
	b := docBatch{env: env}
	for _, of := range values {
		b.rows = append(b.rows, row.Row{Shape: row.NewShape(names), Values: of})
	}
	return b
}

// shown returns what the page shows behind the arrow.
func (b docBatch) shown(source string) string {
	program, err := b.env.CompileBatch(source, Any)
	if err != nil {
		return shownError(err)
	}
	var results []row.Value
	for _, call := range program.Calls() {
		result, err := b.result(call)
		if err != nil {
			return shownError(err)
		}
		results = append(results, result)
	}
	if _, err := program.Eval(results); err != nil {
		return shownError(err)
	}
	return program.outside.Explain(row.Row{Shape: program.shape, Values: results})[0].Value
}

func shownError(err error) string {
	if failure, ok := errors.AsType[*EvalError](err); ok {
		return failure.Code
	}
	place, _, _ := strings.Cut(err.Error(), ": ")
	return "error " + place
}

// result works out a call in the plainest way.
func (b docBatch) result(call Call) (row.Value, error) {
	if call.Func == Count {
		return row.IntValue(int64(len(b.rows))), nil
	}
	var all []row.Value
	for _, r := range b.rows {
		value, err := call.Arg.Eval(r)
		if err != nil {
			return row.Value{}, err
		}
		all = append(all, value)
	}
	values := slices.DeleteFunc(slices.Clone(all), row.Value.IsNull)
	sorted := slices.SortedFunc(slices.Values(values), row.Compare)
	switch {
	case call.Func == First:
		return all[0], nil
	case call.Func == Last:
		return all[len(all)-1], nil
	case call.Func == Collect:
		return ListOf(values)
	case call.Func == CountDistinct:
		return row.IntValue(int64(len(slices.Compact(sorted)))), nil
	case len(values) == 0:
		return row.NullValue(), nil
	case sorted[0].Kind() != sorted[len(sorted)-1].Kind():
		return row.Value{}, &EvalError{Code: CodeNoSuchOverload}
	case call.Func == Min:
		return sorted[0], nil
	case call.Func == Max:
		return sorted[len(sorted)-1], nil
	case call.Func == Quantile:
		return QuantileOf(sorted, call.Quantile), nil
	}
	return summed(call, values)
}

// summed works out a sum or mean, of numbers whose sum an int64 holds.
func summed(call Call, values []row.Value) (row.Value, error) {
	var decimals DecimalSum
	total := new(big.Rat)
	for _, value := range values {
		if value.Kind() == row.Decimal {
			if err := decimals.Add(value); err != nil {
				return row.Value{}, err
			}
			continue
		}
		number, _ := new(big.Rat).SetString(string(row.AppendText(nil, value)))
		total.Add(total, number)
	}
	n := int64(len(values))
	switch {
	case values[0].Kind() == row.Decimal && call.Func == Mean:
		return decimals.Mean(n)
	case values[0].Kind() == row.Decimal:
		return decimals.Value()
	case call.Func == Sum && values[0].Kind() == row.Int:
		return row.IntValue(total.Num().Int64()), nil
	case call.Func == Mean:
		total.Quo(total, new(big.Rat).SetInt64(n))
	case call.Func == VarSamp || call.Func == VarPop || call.Func == StddevSamp || call.Func == StddevPop:
		return spread(call, values, new(big.Rat).Quo(total, new(big.Rat).SetInt64(n)))
	}
	f, _ := total.Float64()
	return row.FloatValue(f), nil
}

// spread works out a variance or its root, of ints and floats with this mean.
func spread(call Call, values []row.Value, mean *big.Rat) (row.Value, error) {
	total, divisor := new(big.Rat), int64(len(values))
	for _, value := range values {
		number, _ := new(big.Rat).SetString(string(row.AppendText(nil, value)))
		number.Sub(number, mean)
		total.Add(total, number.Mul(number, number))
	}
	if call.Func == VarSamp || call.Func == StddevSamp {
		divisor--
	}
	if divisor == 0 {
		return row.NullValue(), nil
	}
	f, _ := total.Quo(total, new(big.Rat).SetInt64(divisor)).Float64()
	if call.Func == StddevSamp || call.Func == StddevPop {
		f = math.Sqrt(f)
	}
	return row.FloatValue(f), nil
}

// Every example over a batch has the result that stands behind the arrow, and every trigger too.
func TestDocumentationOfBatches(t *testing.T) {
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Over a batch")
	require.True(t, found)
	batch := documentedBatch(t, section)
	require.Greater(t, eachExample(t, section, docBatchBlock, batch.shown), 35)

	fields, computed := []Field{{Name: "rows", Kind: row.Int}}, row.Row{Shape: row.NewShape([]string{"rows", "n", "total", "fastest"}), Values: ints(int64(len(batch.rows)))}
	for _, m := range docComputed.FindAllStringSubmatch(section, -1) {
		program, err := batch.env.CompileBatch(m[2], Any)
		require.NoError(t, err)
		value, err := batch.result(program.Calls()[0])
		require.NoError(t, err)
		fields, computed.Values = append(fields, Field{Name: m[1], Kind: program.Kind(), Optional: program.Nullable()}), append(computed.Values, value)
	}
	env, err := NewBatchEnv(fields, false, documentedParams(t))
	require.NoError(t, err)
	require.Greater(t, eachExample(t, section, docTriggerBlock, func(source string) string { return documented(env, source, computed) }), 5)
}
