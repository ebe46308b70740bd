package expr

import "waymark/pipeline/row"

// BatchProgram is a compiled expression over the rows of a batch, such as sum(row.cost) / count(). It is immutable and
// safe for concurrent use. Who has the rows evaluates the aggregate functions of Calls; Eval does the rest.
type BatchProgram struct {
	calls   []Call
	shape   *row.Shape // one field for each call
	outside *Program   // the expression, in which these fields stand for the calls
}

// Calls returns the distinct aggregate calls in order of appearance: calls of the same function with the same text as
// argument are one. The slice belongs to the program; do not change it.
func (p *BatchProgram) Calls() []Call { return p.calls }

// Kind returns the kind of the values that Eval returns, as Program.Kind does.
func (p *BatchProgram) Kind() row.Kind { return p.outside.Kind() }

// Nullable reports whether Eval may return null, given that a batch has at least one row.
func (p *BatchProgram) Nullable() bool { return p.outside.Nullable() }

// Dynamic reports whether the kind of the result is known only when the rows are there.
func (p *BatchProgram) Dynamic() bool { return p.outside.Dynamic() }

// Eval returns the value of the expression, given the results of its calls: one for each of Calls, in that order, of the
// kind that the call states. It may share memory with them. The error is an *EvalError.
func (p *BatchProgram) Eval(results []row.Value) (row.Value, error) {
	return p.outside.Eval(row.Row{Shape: p.shape, Values: results})
}

// Explain returns the sub-expressions with their values, the aggregate functions among them, given the results of these as for Eval.
// Order and limits are those of Program.Explain.
func (p *BatchProgram) Explain(results []row.Value) []Part {
	return p.outside.Explain(row.Row{Shape: p.shape, Values: results})
}

// CompileBatch compiles an expression over the rows of a batch. The arguments of its aggregate functions see the fields
// and parameters of e; outside of them, there is no row. The error is a *CompileError: a mistake in the source.
func (e *Env) CompileBatch(source string, want Want) (*BatchProgram, error) {
	parsed, err := e.parse(source)
	if err != nil {
		return nil, err
	}
	b := newBatchCompiler(e, source, parsed.NativeRep())
	if err := b.takeCalls(); err != nil {
		return nil, err
	}
	results, err := newEnv(resultsName, b.results, true, e.params)
	if err != nil {
		return nil, err
	}
	outside, err := results.compile(source, parsed, want)
	if err != nil {
		return nil, err
	}
	return &BatchProgram{calls: b.calls, shape: row.NewShape(b.names), outside: outside}, nil
}
