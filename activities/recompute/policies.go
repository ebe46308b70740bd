package recompute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	return evaluate(ctx, log, p.SignOffs, due, run)
}

// Policies evaluates the policies of a run, all of whose rows are in its sinks. The figures of each are those of the records, so the result is the same
// whenever it is asked for, in the same epoch of the run. A policy without a value is an error, and does not pass.
func Policies(ctx context.Context, log *landscape.Reader, p *plan.Plan, run landscape.Run) ([]landscape.PolicyResult, error) {
	return evaluate(ctx, log, p.SignOffs, p.Policies, run)
}

// evaluate evaluates some policies of a run that must be signed off in these roles.
func evaluate(ctx context.Context, log *landscape.Reader, roles []string, policies []plan.Policy, run landscape.Run) ([]landscape.PolicyResult, error) {
	values, err := figuresFor(ctx, log, roles, policies, run)
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
	own    measured
	before []measured // complete runs before this one, the latest first
}

// measured is what a run comes to.
type measured struct {
	counts     map[string]int64
	sums       map[string]string // decimals; nil if no policy asks for one, or the run has none
	unreadable int64
}

// wanted says what policies ask for.
type wanted struct {
	codes bool // how many rows were refused with each code
	sums  bool
	roles []string // in which runs must be signed off
	last  int      // over how many runs
}

func wantedBy(roles []string, policies []plan.Policy) wanted {
	w := wanted{roles: roles}
	for _, policy := range policies {
		for _, name := range policy.Assertion.Figures() {
			n, of, ok := expr.Median(name)
			if !ok {
				of = name
			}
			w.codes = w.codes || strings.HasPrefix(of, plan.OfError+".")
			w.sums = w.sums || isSum(of)
			w.last = max(w.last, n)
		}
	}
	return w
}

func isSum(name string) bool { return strings.HasPrefix(name, plan.OfSum+".") }

// figuresFor counts what the policies ask for, of the run and of as many runs before it as they need.
func figuresFor(ctx context.Context, log *landscape.Reader, roles []string, policies []plan.Policy, run landscape.Run) (f figures, err error) {
	if len(policies) == 0 {
		return f, nil
	}
	w := wantedBy(roles, policies)
	if f.own, err = measure(ctx, log, run.RunHead, w); err != nil || w.last == 0 {
		return f, err
	}
	before, err := log.CompleteBefore(ctx, run.RunHead, w.last)
	for _, other := range before {
		m, err := measure(ctx, log, other, w)
		if err != nil {
			return f, fmt.Errorf("figures of run %s: %w", other.ID, err)
		}
		f.before = append(f.before, m)
	}
	return f, err
}

func measure(ctx context.Context, log *landscape.Reader, run landscape.RunHead, w wanted) (m measured, err error) {
	if m.counts, err = log.Figures(ctx, run.ID, w.codes); err != nil {
		return m, err
	}
	signed, err := SignOffs(ctx, log, run.ID, w.roles, run.Epoch, nil)
	for _, role := range w.roles {
		m.counts[plan.OfSign+"."+role] = signed[role]
	}
	if err != nil || !w.sums {
		return m, err
	}
	totals, err := log.Totals(ctx, run.ID)
	if totals != nil {
		m.sums, m.unreadable = totals.Figures(), totals.Unreadable
	}
	return m, err
}

func (f figures) evaluate(policy plan.Policy) landscape.PolicyResult {
	names := policy.Assertion.Figures()
	values, asked := make([]row.Value, len(names)), map[string]json.RawMessage{}
	var unknown error
	for i, name := range names {
		values[i] = f.value(name)
		asked[name] = row.AppendJSONValue(nil, values[i])
		if _, _, median := expr.Median(name); values[i].IsNull() && !median {
			unknown = fmt.Errorf("%s is not recorded", name)
		}
	}
	if f.hides(names) {
		unknown = fmt.Errorf("unreadable amounts: %d; say how many there may be, as in %s == 0", f.own.unreadable, plan.Unreadable)
	}
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err) // numbers and null are JSON
	}
	result := landscape.PolicyResult{Policy: policy.Name, Figures: string(text)}
	shown := policy.Assertion.Shown(values)
	ok, err := policy.Assertion.Holds(values)
	switch err := cmp.Or(unknown, err); {
	case err != nil:
		result.Result, result.Detail = landscape.PolicyError, shown+" has no value: "+err.Error()
	case policy.Role != "" && ok:
		result.Result, result.Detail = landscape.PolicyPassed, "the run is signed off as "+policy.Role
	case ok:
		result.Result, result.Detail = landscape.PolicyPassed, shown+" is true"
	case policy.Role != "":
		result.Result, result.Detail = landscape.PolicyFailed, "the run is not signed off as "+policy.Role
	default:
		result.Result, result.Detail = landscape.PolicyFailed, shown+" is false"
	}
	return result
}

// hides reports whether sums among the names leave out amounts that cannot be read, and nothing is asked about those: such sums prove nothing.
func (f figures) hides(names []string) bool {
	return f.own.unreadable > 0 && slices.ContainsFunc(names, isSum) && !slices.Contains(names, plan.Unreadable)
}

// value returns the value of a figure, or of a median; null if it is not known, which no policy passes by accident.
func (f figures) value(name string) row.Value {
	if n, figure, ok := expr.Median(name); ok {
		return f.median(n, figure)
	}
	if isSum(name) && name != plan.Unreadable {
		return f.own.sum(name)
	}
	count, ok := f.own.count(name)
	if !ok {
		return row.NullValue()
	}
	return row.IntValue(count)
}

// count returns a count of a run. Where there was nothing to count, edges and codes are 0.
func (m measured) count(name string) (count int64, ok bool) {
	if name == plan.Unreadable {
		return m.unreadable, m.sums != nil || m.counts[plan.OfRun+".tokens"] == 0
	}
	count, ok = m.counts[name]
	return count, ok || strings.HasPrefix(name, plan.OfError+".") || strings.HasPrefix(name, plan.OfEdge+".")
}

// sum returns a sum as a decimal: 0 where no row came, and null if it should be recorded and is not.
func (m measured) sum(name string) row.Value {
	text, ok := m.sums[name]
	place := strings.Split(name, ".")[1]
	if !ok && m.counts[figureOf(place)+".rows_in"]+m.counts[figureOf(place)+".created"] == 0 && (m.sums != nil || m.counts[plan.OfRun+".tokens"] == 0) {
		text = "0"
	}
	sum, err := row.Parse(row.Decimal, text)
	if err != nil {
		return row.NullValue()
	}
	return sum
}

func figureOf(node string) string { return plan.OfNode + "." + node }

// median returns the median of a figure over the last n runs; null if there are not so many, or one of them has another graph, or sums from which
// amounts are missing.
func (f figures) median(n int, figure string) row.Value {
	if len(f.before) < n {
		return row.NullValue()
	}
	values := make([]float64, n)
	for i, m := range f.before[:n] {
		value, ok := m.float(figure)
		if !ok {
			return row.NullValue()
		}
		values[i] = value
	}
	slices.Sort(values)
	return row.FloatValue((values[(n-1)/2] + values[n/2]) / 2)
}

func (m measured) float(figure string) (float64, bool) {
	if isSum(figure) && figure != plan.Unreadable {
		value, err := strconv.ParseFloat(m.sum(figure).Text(), 64)
		return value, err == nil && m.unreadable == 0
	}
	count, ok := m.count(figure)
	return float64(count), ok
}
