package recompute

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// DuePolicies evaluates the policies of a run that are due in its epoch.
func DuePolicies(ctx context.Context, log *landscape.Reader, p *plan.Plan, id string) ([]landscape.PolicyResult, error) {
	run, err := log.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	standing, err := log.Policies(ctx, id)
	if err != nil {
		return nil, err
	}
	var due []plan.Policy
	for i, policy := range p.Policies {
		if i < len(standing) && standing[i].Due(run.Epoch) {
			due = append(due, policy)
		}
	}
	return Policies(ctx, log, due, run)
}

// Policies evaluates policies of a run, all of whose rows are in its sinks. The figures of each are those of the records, so the result is the same
// whenever it is asked for. A policy without a value is an error, and does not pass.
func Policies(ctx context.Context, log *landscape.Reader, policies []plan.Policy, run landscape.Run) ([]landscape.PolicyResult, error) {
	values, err := figuresFor(ctx, log, policies, run)
	if err != nil {
		return nil, err
	}
	results := make([]landscape.PolicyResult, len(policies))
	for i, policy := range policies {
		results[i] = values.evaluate(policy)
		results[i].Run = run.ID
	}
	return results, nil
}

// figures are the values that policies ask for.
type figures struct {
	own    map[string]int64
	before []map[string]int64 // of complete runs before this one, the latest first
}

// figuresFor counts what the policies ask for, of the run and of as many runs before it as they need.
func figuresFor(ctx context.Context, log *landscape.Reader, policies []plan.Policy, run landscape.Run) (f figures, err error) {
	if len(policies) == 0 {
		return f, nil
	}
	codes, last := false, 0
	for _, policy := range policies {
		for _, name := range policy.Assertion.Figures() {
			n, of, ok := expr.Median(name)
			if !ok {
				of = name
			}
			codes, last = codes || strings.HasPrefix(of, plan.OfError+"."), max(last, n)
		}
	}
	if f.own, err = log.Figures(ctx, run.ID, codes); err != nil || last == 0 {
		return f, err
	}
	before, err := log.CompleteBefore(ctx, run.RunHead, last)
	for _, other := range before {
		counts, err := log.Figures(ctx, other.ID, codes)
		if err != nil {
			return f, fmt.Errorf("figures of run %s: %w", other.ID, err)
		}
		f.before = append(f.before, counts)
	}
	return f, err
}

func (f figures) evaluate(policy plan.Policy) landscape.PolicyResult {
	names := policy.Assertion.Figures()
	values, asked := make([]row.Value, len(names)), map[string]json.RawMessage{}
	for i, name := range names {
		values[i] = f.value(name)
		asked[name] = row.AppendJSONValue(nil, values[i])
	}
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err) // numbers and null are JSON
	}
	result := landscape.PolicyResult{Policy: policy.Name, Figures: string(text)}
	shown := policy.Assertion.Shown(values)
	switch ok, err := policy.Assertion.Holds(values); {
	case err != nil:
		result.Result, result.Detail = landscape.PolicyError, shown+" has no value: "+err.Error()
	case ok:
		result.Result, result.Detail = landscape.PolicyPassed, shown+" is true"
	default:
		result.Result, result.Detail = landscape.PolicyFailed, shown+" is false"
	}
	return result
}

// value returns the value of a figure, or of a median; null if it is not known, which no policy passes by accident.
func (f figures) value(name string) row.Value {
	if n, figure, ok := expr.Median(name); ok {
		return f.median(n, figure)
	}
	count, ok := countOf(f.own, name)
	if !ok {
		return row.NullValue()
	}
	return row.IntValue(count)
}

// countOf returns a figure of a run. Where there was nothing to count, edges and codes are 0.
func countOf(counts map[string]int64, name string) (count int64, ok bool) {
	count, ok = counts[name]
	return count, ok || strings.HasPrefix(name, plan.OfError+".") || strings.HasPrefix(name, plan.OfEdge+".")
}

// median returns the median of a figure over the last n runs; null if there are not so many, or one of them has another graph.
func (f figures) median(n int, figure string) row.Value {
	if len(f.before) < n {
		return row.NullValue()
	}
	values := make([]float64, n)
	for i, counts := range f.before[:n] {
		count, ok := countOf(counts, figure)
		if !ok {
			return row.NullValue()
		}
		values[i] = float64(count)
	}
	slices.Sort(values)
	return row.FloatValue((values[(n-1)/2] + values[n/2]) / 2)
}
