package audit

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// mostContributors is how many tokens are told of each function of a batch unless all are asked for.
const mostContributors = 5

// Contribution tells which tokens of a batch made the value of one function of a computed field: of sum and mean those whose values are not zero,
// the farthest from zero first; of min, max, first, last and quantile those that have the value, in the order in which they came.
type Contribution struct {
	Call   string        `json:"call"` // as written, such as sum(row.total)
	Tokens []Contributor `json:"tokens"`
	More   int           `json:"more,omitempty"` // how many Tokens leaves out
}

// Contributor is a token that contributed.
type Contributor struct {
	Token string  `json:"token"`
	Value string  `json:"value"`           // what the function got of its row
	Share float64 `json:"share,omitempty"` // of a sum or mean: of all values without their signs, from 0 to 1; 0 if they have no finite sum
}

// contributions returns who made the values of a field's functions; nil if they cannot be computed, or for a batch of one token.
func (i *explaining) contributions(field plan.Computed, rows []row.Row, tokens []landscape.Token) (list []Contribution) {
	results, err := barrier.Results(field.Program, rows)
	if err != nil || len(rows) < 2 {
		return nil
	}
	for k := range field.Program.Calls() {
		call := &field.Program.Calls()[k]
		values, err := barrier.Arguments(call, rows)
		if err != nil {
			return nil
		}
		var made []Contributor
		switch call.Func {
		case expr.Sum, expr.Mean:
			made = i.summands(values, tokens)
		case expr.Min, expr.Max, expr.First, expr.Last, expr.Quantile:
			made = i.holders(values, tokens, results[k])
		}
		if len(made) == 0 {
			continue
		}
		told := Contribution{Call: call.Source, Tokens: made}
		if len(made) > mostContributors && !i.all {
			told.Tokens, told.More = made[:mostContributors], len(made)-mostContributors
		}
		list = append(list, told)
	}
	return list
}

// summands returns the tokens whose values are not zero, the farthest from zero first.
func (i *explaining) summands(values []row.Value, tokens []landscape.Token) (made []Contributor) {
	total := 0.0
	for k, value := range values {
		if size := sizeOf(value); size != 0 {
			made = append(made, Contributor{i.id(tokens[k]), textOfValue(value), size})
			total += size
		}
	}
	slices.SortStableFunc(made, func(a, b Contributor) int { return cmp.Compare(b.Share, a.Share) })
	for k := range made {
		if made[k].Share /= total; math.IsNaN(made[k].Share) || math.IsInf(total, 0) {
			made[k].Share = 0
		}
	}
	return made
}

// holders returns the tokens that have the value.
func (i *explaining) holders(values []row.Value, tokens []landscape.Token, result row.Value) (made []Contributor) {
	for k, value := range values {
		if !value.IsNull() && row.Order(value, result) == 0 {
			made = append(made, Contributor{Token: i.id(tokens[k]), Value: textOfValue(value)})
		}
	}
	return made
}

// sizeOf returns how far a number is from zero, 0 for null.
func sizeOf(value row.Value) float64 {
	if value.IsNull() {
		return 0
	}
	number, _ := strconv.ParseFloat(textOfValue(value), 64)
	return math.Abs(number)
}

func textOfValue(value row.Value) string { return string(row.AppendText(nil, value)) }
