package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/expr"
	"waymark/pipeline"
	"waymark/row"
)

// checkStep compiles the node's expressions against the rows that arrive and works out the rows that leave.
func (c *compiler) checkStep(node *Node) {
	in, err := merge(node.Inputs)
	if err != nil {
		c.problem(node.Path, "the rows that reach %q differ: %v; cast them alike before they meet", node.Name, err)
		return
	}
	node.Out = in
	switch node.Operation {
	case Set:
		c.checkSet(node, in)
	case Rename:
		c.checkRename(node, in)
	case Select:
		c.checkSelect(node, in)
	case Drop:
		c.checkDrop(node, in)
	case Cast:
		c.checkCast(node, in)
	case Filter:
		node.Text = node.Spec.Filter
		c.compile(node, in, node.Path+".filter", node.Text, expr.Bool)
	case Gate:
		c.checkGate(node, in)
	}
}

func (c *compiler) compile(node *Node, in Schema, path, text string, want expr.Want) *expr.Program {
	env, err := expr.NewEnv(in.Fields, in.Open, c.doc.Params)
	if err != nil {
		c.problem(path, "%v", err)
		return nil
	}
	program, err := env.Compile(text, want)
	var bad *expr.CompileError
	switch {
	case errors.As(err, &bad):
		c.problem(path, "%s", bad.Error())
	case err != nil:
		c.problem(path, "%v", err)
	}
	node.Exprs = append(node.Exprs, program)
	return program
}

func (c *compiler) checkSet(node *Node, in Schema) {
	out := Schema{Fields: slices.Clone(in.Fields), Open: in.Open}
	for _, entry := range node.Spec.Set {
		program := c.compile(node, in, pipeline.Key(node.Path+".set", entry.Name), entry.Value, expr.Any)
		if program == nil {
			continue
		}
		out.put(fieldOf(entry.Name, program))
	}
	node.Out = out
}

// fieldOf describes the field that an expression fills. A result whose type is known only row by row is typed as json,
// which expressions see as dynamic.
func fieldOf(name string, program *expr.Program) expr.Field {
	if program.Dynamic() {
		return expr.Field{Name: name, Kind: row.JSON, Optional: true}
	}
	return expr.Field{Name: name, Kind: program.Kind(), Optional: program.Nullable()}
}

func (s *Schema) put(field expr.Field) {
	if i := s.find(field.Name); i != None {
		s.Fields[i] = field
		return
	}
	s.Fields = append(s.Fields, field)
}

func (c *compiler) checkRename(node *Node, in Schema) {
	out := Schema{Fields: slices.Clone(in.Fields), Open: in.Open}
	for _, entry := range node.Spec.Rename {
		path := pipeline.Key(node.Path+".rename", entry.Name)
		i := c.field(in, entry.Name, path)
		if i != None {
			out.Fields[i].Name = entry.Value
		}
	}
	for i, field := range out.Fields {
		if slices.ContainsFunc(out.Fields[:i], func(f expr.Field) bool { return f.Name == field.Name }) {
			c.problem(node.Path+".rename", "two fields would be named %q", field.Name)
		}
	}
	node.Out = out
}

func (c *compiler) checkSelect(node *Node, in Schema) {
	out := Schema{}
	for k, name := range node.Spec.Select {
		i := c.field(in, name, pipeline.Item(node.Path+".select", k))
		switch {
		case i != None:
			out.Fields = append(out.Fields, in.Fields[i])
		case in.Open:
			out.Fields = append(out.Fields, expr.Field{Name: name, Kind: row.JSON, Optional: true})
		}
	}
	node.Out = out
}

func (c *compiler) checkDrop(node *Node, in Schema) {
	for k, name := range node.Spec.Drop {
		c.field(in, name, pipeline.Item(node.Path+".drop", k))
	}
	kept := slices.DeleteFunc(slices.Clone(in.Fields), func(f expr.Field) bool { return slices.Contains(node.Spec.Drop, f.Name) })
	if len(kept) == 0 && !in.Open {
		c.problem(node.Path+".drop", "this drops every field; a row needs at least one")
	}
	node.Out = Schema{Fields: kept, Open: in.Open}
}

func (c *compiler) checkCast(node *Node, in Schema) {
	out := Schema{Fields: slices.Clone(in.Fields), Open: in.Open}
	for _, entry := range node.Spec.Cast {
		kind := pipeline.Field{Type: entry.Value}.Kind()
		path := pipeline.Key(node.Path+".cast", entry.Name)
		i := c.field(in, entry.Name, path)
		if i == None {
			continue
		}
		if from := in.Fields[i].Kind; !row.CanCast(from, kind) {
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
	if program == nil || program.Dynamic() || program.Kind() != row.Bool {
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

// field finds a field by name. It reports a name that no row can have.
func (c *compiler) field(in Schema, name, path string) int {
	i := in.find(name)
	if i != None || in.Open {
		return i
	}
	names := in.Names()
	if nearest := pipeline.Nearest(name, names); nearest != "" {
		c.problem(path, "no field named %q (did you mean %q?)", name, nearest)
	} else {
		c.problem(path, "no field named %q; the rows here have: %s", name, strings.Join(names, ", "))
	}
	return None
}

// merge describes rows that come by several edges: fields that all have keep their kind, and a field that only some have
// makes the result open.
func merge(inputs []Schema) (Schema, error) {
	if len(inputs) == 0 {
		return Schema{}, nil
	}
	merged := Schema{Fields: slices.Clone(inputs[0].Fields), Open: inputs[0].Open}
	for _, input := range inputs[1:] {
		kept := merged.Fields[:0]
		for _, field := range merged.Fields {
			i := input.find(field.Name)
			if i == None {
				merged.Open = true
				continue
			}
			if other := input.Fields[i]; other.Kind != field.Kind {
				return Schema{}, fmt.Errorf("%q is %s by one way and %s by another", field.Name, field.Kind, other.Kind)
			}
			field.Optional = field.Optional || input.Fields[i].Optional
			kept = append(kept, field)
		}
		merged.Open = merged.Open || input.Open || len(input.Fields) > len(kept)
		merged.Fields = kept
	}
	return merged, nil
}
