package graphs

import (
	"errors"
	"fmt"
	"sync"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// programs compiles the expressions of a document. Documents with the same declared fields share what is compiled.
type programs struct {
	fields []expr.Field // that sources declare
	params map[string]row.Value
	same   string // differs for other fields or parameters
}

// compiled holds everything that was compiled, by the fields, the parameters and the text.
var compiled sync.Map

func newPrograms(doc *pipeline.Document) *programs {
	p := &programs{params: doc.Params}
	known := map[string]bool{}
	for _, source := range doc.Pipeline.Sources {
		for _, field := range source.Value.Schema.Fields {
			if !known[field.Name] {
				known[field.Name] = true
				p.fields = append(p.fields, expr.Field{Name: field.Name, Kind: field.Value.Kind(), Optional: true})
			}
		}
	}
	p.same = fmt.Sprintf("%v %v ", p.fields, p.params)
	return p
}

// once returns what was compiled for the text before, or compiles it.
func once[T any](same, text string, compile func() (T, error)) T {
	if known, found := compiled.Load(same + text); found {
		return known.(T)
	}
	made, err := compile()
	if err != nil {
		panic(fmt.Sprintf("graphs: %s: %v", text, err))
	}
	compiled.Store(same+text, made)
	return made
}

func (p *programs) env() *expr.Env {
	return once(p.same, "env:", func() (*expr.Env, error) { return expr.NewEnv(p.fields, true, p.params) })
}

// eval returns the value of an expression for a row. A value that is not what is wanted refuses the row.
func (p *programs) eval(text string, want expr.Want, r row.Row) (row.Value, *Refusal) {
	program := once(p.same, want.String()+":"+text, func() (*expr.Program, error) { return p.env().Compile(text, want) })
	value, err := program.Eval(r)
	return value, refusalOf(err, "")
}

func (p *programs) batch(text string) *expr.BatchProgram {
	return once(p.same, "batch:"+text, func() (*expr.BatchProgram, error) { return p.env().CompileBatch(text, expr.Any) })
}

func refusalOf(err error, field string) *Refusal {
	var failed *expr.EvalError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return &Refusal{failed.Code, field}
	}
	panic(err)
}
