package plan

import (
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// checkStep compiles the node's expressions against the rows that arrive and works out the rows that leave.
func (c *compiler) checkStep(i int) {
	node := &c.plan.Nodes[i]
	if node.Operation == Coalesce {
		c.checkCoalesce(i)
		return
	}
	in, err := c.incomingRows(i)
	if err != nil {
		c.problem(node.Path, "the rows that reach %q differ: %v; cast them alike before they meet", node.Name, err)
		in = unknownRows()
	}
	node.Out = in
	if !c.checkable(node) {
		node.Out = unknownRows()
	} else if check, ok := checks[node.Operation]; ok {
		check(c, node, in)
	}
}

// checkable reports whether all that the operation is checked by could be read. Expressions, and the fields of a list, are each looked
// at on their own.
func (c *compiler) checkable(node *Node) bool {
	switch path := pipeline.Key(node.Path, node.Operation); node.Operation {
	case "":
		return false
	case Set, Filter, Gate, Fork, Select, Drop:
		return c.doc.SoundItself(path)
	case Aggregate:
		return node.Spec.Aggregate != nil && c.doc.SoundItself(path)
	default:
		return c.doc.Sound(path)
	}
}

// checks are the checks of operations that name fields or change rows. They find node.Out as the rows came.
var checks = map[string]func(*compiler, *Node, Schema){
	Set: (*compiler).checkSet, Rename: (*compiler).checkRename, Select: (*compiler).checkSelect, Drop: (*compiler).checkDrop,
	Cast: (*compiler).checkCast, Filter: (*compiler).checkFilter, Gate: (*compiler).checkGate, Sample: (*compiler).checkSample,
	Lookup: (*compiler).checkLookup, Aggregate: (*compiler).checkAggregate, Sort: (*compiler).checkSort,
	Expand: (*compiler).checkExpand, Deduplicate: (*compiler).checkDeduplicate,
}

// env returns what expressions over these rows may name, or nil after a problem.
func (c *compiler) env(in Schema, path string) *expr.Env {
	env, err := expr.NewEnv(in.Fields, in.Open, c.doc.Params)
	c.exprProblem(path, err)
	return env
}

// legible reports whether the expression could be read, and all that it may name is known or is known to be open.
func (c *compiler) legible(path, text string) bool {
	return text != "" && c.doc.Sound(path) && (!c.doubt.params || !strings.Contains(text, "param"))
}

// compile compiles an expression over one row, and adds it to the node's. It returns nil after a problem.
func (c *compiler) compile(node *Node, in Schema, path, text string, want expr.Want) *expr.Program {
	if !c.legible(path, text) {
		return nil
	}
	env := c.env(in, path)
	if env == nil {
		return nil
	}
	program, err := env.Compile(text, want)
	c.exprProblem(path, err)
	node.Exprs = append(node.Exprs, program)
	return program
}

func (c *compiler) exprProblem(path string, err error) {
	if err != nil {
		c.problem(path, "%v", err)
	}
}

func (c *compiler) checkFilter(node *Node, in Schema) {
	node.Text = node.Spec.Filter
	c.compile(node, in, node.Path+".filter", node.Text, expr.Bool)
}

func (c *compiler) checkSample(node *Node, in Schema) {
	c.fields(in, node.Spec.Sample.By, node.Path+".sample.by")
}

func (c *compiler) checkSet(node *Node, in Schema) {
	out := in.clone()
	for _, entry := range node.Spec.Set {
		program := c.compile(node, in, pipeline.Key(node.Path+".set", entry.Name), entry.Value, expr.Any)
		if program == nil || in.hasDoubts() && program.Dynamic() {
			out.put(doubtful(entry.Name))
			continue
		}
		out.put(fieldOf(entry.Name, program))
	}
	node.Out = out
}

// result is what is known of the values of an expression, over one row or over a batch.
type result interface {
	Kind() row.Kind
	Nullable() bool
	Dynamic() bool
}

// fieldOf describes the field that an expression fills. A result whose type is known only row by row is typed as json,
// which expressions see as dynamic.
func fieldOf(name string, program result) expr.Field {
	if program.Dynamic() {
		return untyped(name)
	}
	return expr.Field{Name: name, Kind: program.Kind(), Optional: program.Nullable(), Untyped: program.Kind() == row.JSON}
}

// untyped describes a field whose type nothing declares.
func untyped(name string) expr.Field {
	return expr.Field{Name: name, Kind: row.JSON, Optional: true, Untyped: true}
}

func (c *compiler) checkRename(node *Node, in Schema) {
	out := in.clone()
	for _, entry := range node.Spec.Rename {
		path := pipeline.Key(node.Path+".rename", entry.Name)
		if i := c.field(in, entry.Name, path); i != None {
			out.Fields[i].Name = entry.Value
		} else if !in.Open {
			out.Fields = append(out.Fields, doubtful(entry.Value))
		}
	}
	for i, field := range out.Fields {
		if slices.ContainsFunc(out.Fields[:i], func(f expr.Field) bool { return f.Name == field.Name }) {
			c.problem(node.Path+".rename", "two fields would be named %q", field.Name)
			out.unknown, out.Open = true, true
		}
	}
	node.Out = out
}

func (c *compiler) checkSelect(node *Node, in Schema) {
	node.Out = Schema{Fields: c.fields(in, node.Spec.Select, node.Path+".select")}
	if len(node.Out.Fields) < len(node.Spec.Select) {
		node.Out.unknown, node.Out.Open = true, true
	}
}

func (c *compiler) checkDrop(node *Node, in Schema) {
	c.fields(in, node.Spec.Drop, node.Path+".drop")
	kept := slices.DeleteFunc(slices.Clone(in.Fields), func(f expr.Field) bool { return slices.Contains(node.Spec.Drop, f.Name) })
	if len(kept) == 0 && !in.Open && c.doc.Sound(node.Path+".drop") {
		c.problem(node.Path+".drop", "this drops every field; a row needs at least one")
	}
	node.Out = in
	node.Out.Fields = kept
}

func (c *compiler) checkCast(node *Node, in Schema) {
	out := in.clone()
	for _, entry := range node.Spec.Cast {
		kind := pipeline.Field{Type: entry.Value}.Kind()
		path := pipeline.Key(node.Path+".cast", entry.Name)
		i := c.field(in, entry.Name, path)
		if i == None {
			continue
		}
		if from := in.Fields[i].Kind; from != row.Null && !row.CanCast(from, kind) {
			c.problem(path, "a field of type %s is never cast to %s: cast it to string, or compute the value with set", from, kind)
		}
		out.Fields[i].Kind = kind
	}
	node.Out = out
}

func (c *compiler) checkGate(node *Node, in Schema) {
	node.Text = node.Spec.Gate
	want := expr.BoolOrString
	labels := routeLabels(node)
	if !slices.ContainsFunc(labels, func(label string) bool { return label != "true" && label != "false" }) {
		want = expr.Bool
	}
	program := c.compile(node, in, node.Path+".gate", node.Text, want)
	if program == nil || !c.doc.Sound(node.Path+".routes") || !c.doc.Has(node.Path+".routes") || program.Dynamic() || program.Kind() != row.Bool {
		return
	}
	for _, label := range []string{"true", "false"} {
		if !slices.Contains(labels, label) && !slices.Contains(labels, DefaultLabel) {
			c.problem(node.Path+".routes", "the gate can be %s, and no route says where such rows go; add `\"%s\": continue`, a sink, a later step or discard", label, label)
		}
	}
	for _, label := range labels {
		if label != "true" && label != "false" && label != DefaultLabel {
			c.problem(pipeline.Key(node.Path+".routes", label), "the gate is true or false and never %q", label)
		}
	}
}

func routeLabels(node *Node) []string {
	labels := make([]string, len(node.Routes))
	for i, route := range node.Routes {
		labels[i] = route.Label
	}
	return labels
}
