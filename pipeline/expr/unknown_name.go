package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/pipeline"
)

func (e *Env) unknownField(name string) string {
	names := make([]string, len(e.fields))
	for i, f := range e.fields {
		names[i] = f.Name
	}
	return fmt.Sprintf("the %s has no field %q%s", e.variable, name, suggest(name, names, "its fields"))
}

// unknownName explains an undeclared name.
func (e *Env) unknownName(name string, at position) string {
	if param, ok := strings.CutPrefix(name, paramName+"."); ok {
		return fmt.Sprintf("no parameter is named %q%s", param, suggest(param, slices.Sorted(maps.Keys(e.params)), "the parameters"))
	}
	if at.function {
		return e.unknownFunction(name)
	}
	if name == paramName {
		return `"param" is used with the name of a declared parameter: param.NAME`
	}
	if _, isField := e.field(name); isField {
		return fmt.Sprintf("unknown name %q: write %s.%[1]s for the field", name, e.variable)
	}
	if _, isParam := e.params[name]; isParam {
		return fmt.Sprintf("unknown name %q: write param.%[1]s for the parameter", name)
	}
	return fmt.Sprintf("unknown name %q: an expression sees %s and param.NAME; texts stand in quotes", name, e.sees())
}

func (e *Env) unknownFunction(name string) string {
	if isAggregate(name) {
		return e.misplacedAggregate(name)
	}
	return missingFunction(name, e.functions(), "")
}

// missingFunction explains a name that none of the known functions has, and ends with the cure if none is near.
func missingFunction(name string, known []string, cure string) string {
	if slices.Contains([]string{"now", "random", "rand", "uuid", "today"}, name) {
		return fmt.Sprintf("there is no function %s(): an expression gives the same value whenever it is evaluated; pass such a value as a parameter", name)
	}
	switch name {
	case "variance", "var":
		return fmt.Sprintf("there is no function %s(): var_samp() is of a sample, var_pop() of a whole population", name)
	case "stddev", "std", "stdev":
		return fmt.Sprintf("there is no function %s(): stddev_samp() is of a sample, stddev_pop() of a whole population", name)
	}
	if near := pipeline.Nearest(name, known); near != "" {
		return fmt.Sprintf("there is no function %s() (did you mean %s()?)", name, near)
	}
	return fmt.Sprintf("there is no function %s()%s", name, cure)
}

// misplacedAggregate explains an aggregate function where there is no batch.
func (e *Env) misplacedAggregate(name string) string {
	if e.variable == batchName {
		return fmt.Sprintf("%s() is an aggregate function: compute it as a field of the aggregate, and test the field", name)
	}
	return fmt.Sprintf("%s() is an aggregate function: it belongs into the compute of an aggregate, and not inside another one", name)
}

// unknownAggregate explains an unknown function in an expression over a batch.
func (e *Env) unknownAggregate(name string) string {
	var aggregates []string
	for _, f := range Funcs() {
		aggregates = append(aggregates, string(f))
	}
	return missingFunction(name, append(e.functions(), aggregates...), "; the aggregate functions are "+strings.Join(aggregates, ", "))
}

// functions returns the names of the functions that are no operators, sorted.
func (e *Env) functions() []string {
	var names []string
	for function := range e.cel.Functions() {
		if isWord(function) {
			names = append(names, function)
		}
	}
	slices.Sort(names)
	return names
}
