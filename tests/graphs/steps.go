package graphs

import (
	"crypto/sha256"
	"errors"
	"math/big"
	"slices"
	"strconv"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// apply is what a step does to one row that it neither copies nor keeps.
func (in *interpreter) apply(step *pipeline.Step, r row.Row) verdict {
	switch {
	case step.Set != nil:
		return in.set(step.Set, r)
	case step.Rename != nil:
		return rename(step.Rename, r)
	case step.Select != nil:
		return selectFields(step.Select, r)
	case step.Drop != nil:
		return dropFields(step.Drop, r)
	case step.Cast != nil:
		return cast(step.Cast, r)
	case step.Filter != "":
		return in.filter(step.Filter, r)
	case step.Sample != nil:
		if refused := missing(step.Sample.By, r); refused != nil {
			return verdict{refused: refused}
		}
		return keepIf(sampled(step.Sample, r), r)
	case step.Deduplicate != nil:
		return in.first(step, r)
	case step.Lookup != nil:
		return in.lookup(step, r)
	case step.Gate != "":
		return in.gate(step, r)
	}
	panic("graphs: the step " + step.Name + " does nothing that is known here")
}

func refusedFor(code, field string) verdict { return verdict{refused: &Refusal{code, field}} }

func keepIf(keep bool, r row.Row) verdict {
	if !keep {
		return verdict{ended: pipeline.FilterDropped}
	}
	return verdict{row: r}
}

// set evaluates every expression against the row as it came.
func (in *interpreter) set(entries pipeline.Map[string], r row.Row) verdict {
	out := fieldsOf(r)
	for _, entry := range entries {
		value, refused := in.programs.eval(entry.Value, expr.Any, r)
		if refused != nil {
			return refusedFor(refused.Code, entry.Name)
		}
		out.put(entry.Name, value)
	}
	return verdict{row: out.row()}
}

func rename(entries pipeline.Map[string], r row.Row) verdict {
	names := slices.Clone(r.Shape.Fields())
	for _, entry := range entries {
		position, found := r.Shape.Index(entry.Name)
		if !found {
			return refusedFor(codeNoSuchField, entry.Name)
		}
		names[position] = entry.Value
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return refusedFor(codeFieldExists, name)
		}
	}
	return verdict{row: row.Row{Shape: row.NewShape(names), Values: r.Values}}
}

func selectFields(names []string, r row.Row) verdict {
	out := newFields()
	for _, name := range names {
		value, found := r.Get(name)
		if !found {
			return refusedFor(codeNoSuchField, name)
		}
		out.put(name, value)
	}
	return verdict{row: out.row()}
}

func dropFields(names []string, r row.Row) verdict {
	out := newFields()
	for i, name := range r.Shape.Fields() {
		if !slices.Contains(names, name) {
			out.put(name, r.Values[i])
		}
	}
	return verdict{row: out.row()}
}

func cast(entries pipeline.Map[string], r row.Row) verdict {
	out := fieldsOf(r)
	for _, entry := range entries {
		value, found := r.Get(entry.Name)
		if !found {
			return refusedFor(codeNoSuchField, entry.Name)
		}
		made, err := row.Cast(value, pipeline.Field{Type: entry.Value}.Kind())
		var failed *row.ConvertError
		if errors.As(err, &failed) {
			return refusedFor(failed.Code, entry.Name)
		}
		out.put(entry.Name, made)
	}
	return verdict{row: out.row()}
}

func (in *interpreter) filter(text string, r row.Row) verdict {
	value, refused := in.programs.eval(text, expr.Bool, r)
	if refused != nil {
		return verdict{refused: refused}
	}
	return keepIf(value.Bool(), r)
}

// sampled reports whether the first 64 bits of the digest, as a share of all, are under the rate.
func sampled(s *pipeline.Sample, r row.Row) bool {
	text := []byte(strconv.Itoa(s.Seed) + "|")
	if len(s.By) == 0 {
		text = row.AppendCanonical(text, r)
	}
	for _, name := range s.By {
		value, _ := r.Get(name)
		text = row.AppendValue(text, value)
	}
	sum := sha256.Sum256(text)
	share := new(big.Rat).SetFrac(new(big.Int).SetBytes(sum[:8]), new(big.Int).Lsh(big.NewInt(1), 64))
	rate, ok := new(big.Rat).SetString(s.Rate)
	return ok && share.Cmp(rate) < 0
}

// first lets the first row of each key of the run pass.
func (in *interpreter) first(step *pipeline.Step, r row.Row) verdict {
	if refused := missing(step.Deduplicate.Key, r); refused != nil {
		return verdict{refused: refused}
	}
	key := step.Name + " " + keyOf(r, step.Deduplicate.Key)
	known := in.seen[key]
	in.seen[key] = true
	return keepIf(!known, r)
}

// lookup looks for the table's row by comparing all.
func (in *interpreter) lookup(step *pipeline.Step, r row.Row) verdict {
	for _, entry := range step.Lookup.On {
		if _, found := r.Get(entry.Name); !found {
			return refusedFor(codeNoSuchField, entry.Name)
		}
	}
	out := fieldsOf(r)
	for _, entry := range step.Lookup.Add {
		out.put(entry.Name, row.NullValue())
	}
	for _, candidate := range in.input.Tables[step.Name] {
		if matches(step.Lookup.On, r, candidate) {
			for _, entry := range step.Lookup.Add {
				value, _ := candidate.Get(entry.Value)
				out.put(entry.Name, value)
			}
			return verdict{row: out.row()}
		}
	}
	if step.Lookup.Missing == "refuse" {
		return refusedFor(codeLookupMissing, step.Lookup.On[0].Name)
	}
	return verdict{row: out.row()}
}

func matches(on pipeline.Map[string], r, candidate row.Row) bool {
	for _, entry := range on {
		wanted, _ := r.Get(entry.Name)
		has, _ := candidate.Get(entry.Value)
		if wanted != has {
			return false
		}
	}
	return true
}

// gate sends the row where the route of its label leads, or the default route.
func (in *interpreter) gate(step *pipeline.Step, r row.Row) verdict {
	value, refused := in.programs.eval(step.Gate, labelOf(step), r)
	if refused != nil {
		return verdict{refused: refused}
	}
	to, found := step.Routes.Get(string(row.AppendText(nil, value)))
	if !found {
		to, found = step.Routes.Get("default")
	}
	switch {
	case !found:
		return refusedFor(codeUnrouted, "")
	case to == pipeline.Discard:
		return verdict{ended: pipeline.GateDiscarded}
	case to == pipeline.Continue:
		return verdict{row: r}
	}
	return verdict{row: r, to: to}
}

// labelOf says what the labels of a gate are: texts as well, unless all its routes are for true and false.
func labelOf(gate *pipeline.Step) expr.Want {
	for _, route := range gate.Routes {
		if route.Name != "true" && route.Name != "false" {
			return expr.BoolOrString
		}
	}
	return expr.Bool
}
