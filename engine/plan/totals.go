package plan

import (
	"fmt"
	"maps"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// Total is an amount that is added up wherever rows go.
type Total struct {
	Name       string
	Expression string
}

// TotalDescription describes a total.
type TotalDescription struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Reading says how the amount of a total is known of the rows that leave a node. The zero Reading says that it is what it was when they came.
type Reading struct {
	Program *expr.Program // reads it from the row; its fields have other names there if steps renamed them
	Fields  []string      // the names of the program's fields in the row, in their order
	None    bool          // rows that leave the node have no amount
}

// Changes reports whether the amount of a row may be another one than before.
func (r *Reading) Changes() bool { return r.Program != nil || r.None }

// tracked is what is known of the fields of a total in the rows at one place.
type tracked struct {
	names map[string]string // field → its name there; "" if the rows do not have it
	known bool              // all rows there have an amount
}

// checkTotals finds out for each node how the totals of the document are read there.
func (c *compiler) checkTotals() {
	for t, entry := range c.doc.Pipeline.Totals {
		path := pipeline.Key("totals", entry.Name)
		c.plan.Totals = append(c.plan.Totals, Total{entry.Name, entry.Value})
		for i := range c.plan.Nodes {
			c.plan.Nodes[i].Totals = append(c.plan.Nodes[i].Totals, Reading{})
		}
		before := len(c.problems)
		states := make([]tracked, len(c.plan.Nodes))
		for _, i := range c.plan.Sources() {
			if c.legible(path, entry.Value) {
				states[i] = c.readSource(&c.plan.Nodes[i], t, path)
			}
		}
		if before == 0 && len(c.problems) == 0 {
			c.follow(t, states)
		}
	}
}

// readSource compiles a total over the rows of a source.
func (c *compiler) readSource(node *Node, t int, path string) tracked {
	if node.Out.hasDoubts() {
		return tracked{}
	}
	env := c.env(node.Out, path)
	if env == nil {
		return tracked{}
	}
	program, err := env.Compile(c.plan.Totals[t].Expression, expr.Any)
	if err == nil {
		err = summable(program, node.Name)
	}
	if err != nil {
		of := ""
		if len(c.plan.Sources()) > 1 {
			of = fmt.Sprintf("over the rows of %q: ", node.Name)
		}
		c.problem(path, "%s%v", of, err)
		return tracked{}
	}
	state := tracked{map[string]string{}, true}
	for _, field := range program.Fields() {
		state.names[field] = field
	}
	node.Totals[t] = Reading{Program: program, Fields: program.Fields()}
	return state
}

// summable refuses an expression whose values cannot be added up exactly.
func summable(program *expr.Program, source string) error {
	switch kind := program.Kind(); {
	case program.Dynamic():
		return fmt.Errorf("its type is not known before rows are read: declare the fields that it reads in the schema of %q, or convert with decimal(…)", source)
	case kind == row.Int || kind == row.Decimal:
		return nil
	case kind == row.Float:
		return fmt.Errorf("it gives float, and what is added up is decimal: " +
			"declare the field as decimal, or convert with decimal(…)")
	default:
		return fmt.Errorf("it gives %s, and must give int or decimal", kind)
	}
}

// follow follows the fields of a total from the sources, whose states are known, through the graph.
func (c *compiler) follow(t int, states []tracked) {
	ins, known := make([]tracked, len(states)), map[string]bool{pipeline.Quarantine: true, pipeline.Discard: true}
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		if node.Kind != Source {
			ins[i] = c.meet(t, i, ins, states)
			node.Totals[t], states[i] = c.leave(t, node, ins[i])
		}
		known[node.Name] = states[i].known
		for _, word := range node.endings() {
			known[word] = known[word] && refusedKnown(node, ins[i], states[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if known[name] {
			c.plan.sums = append(c.plan.sums, figure(OfSum, name, c.plan.Totals[t].Name))
		}
	}
}

// endings are the words for the places where rows end at the node.
func (n *Node) endings() []string {
	words := []string{n.OnError.Word}
	switch n.Kind {
	case Sink:
		words[0] = pipeline.Quarantine // of rows that its target refuses
	case Step:
		words = append(words, pipeline.Discard)
	}
	return words
}

// refusedKnown reports whether all rows that the node refuses or drops have an amount.
func refusedKnown(node *Node, in, out tracked) bool {
	if node.Kind == Source || node.Coalescing != nil {
		return out.known
	}
	return in.known
}

// meet returns what is known of the rows that reach a node.
func (c *compiler) meet(t, i int, ins, outs []tracked) tracked {
	node := &c.plan.Nodes[i]
	met := tracked{map[string]string{}, true}
	for j := range i {
		from := &c.plan.Nodes[j]
		if slices.Contains(from.successors(), i) {
			met.known = met.known && outs[j].known
			c.join(t, node, met.names, outs[j].names)
		}
		if from.OnError.Node == i {
			met.known = met.known && refusedKnown(from, ins[j], outs[j])
		}
	}
	return met
}

// join adds the names that fields have by one edge.
func (c *compiler) join(t int, node *Node, names, other map[string]string) {
	for _, field := range slices.Sorted(maps.Keys(other)) {
		name, there := names[field], other[field]
		switch {
		case name == "":
			names[field] = there
		case there == "" || there == name || node.Kind == Sink:
		case node.Coalescing != nil && node.Out.find(field) != None:
			names[field] = field
		default:
			c.problem(node.Path, "%q gets the field %q of the total %q as %q by one way and as %q by another: rename it alike before rows meet",
				node.Name, field, c.plan.Totals[t].Name, name, there)
		}
	}
}

// leave returns how the total is read of rows that leave a node, and what is known of them.
func (c *compiler) leave(t int, node *Node, in tracked) (Reading, tracked) {
	out := tracked{maps.Clone(in.names), in.known}
	isNew := node.Barrier || node.Coalescing != nil
	changed := out.change(node)
	if !isNew && !changed {
		return Reading{}, out
	}
	reading, err := c.readAt(t, node, out.names)
	switch {
	case err == nil:
		out.known = true
		return reading, out
	case !isNew && node.Operation == Cast: // the number is the same
		return Reading{}, out
	}
	out.known = false
	return Reading{None: true}, out
}

// change follows the fields through a step, and reports whether the step gives one of them another value.
func (s *tracked) change(node *Node) (changed bool) {
	switch node.Operation {
	case Set:
		return s.set(names(node.Spec.Set)...)
	case Cast:
		return s.set(names(node.Spec.Cast)...)
	case Lookup:
		return s.set(names(node.Spec.Lookup.Add)...)
	case Aggregate:
		return s.set(names(node.Spec.Aggregate.Compute)...)
	case Expand:
		return s.set(node.Spec.Expand.Field, node.Spec.Expand.As, node.Spec.Expand.Index)
	case Rename:
		return s.rename(node.Spec.Rename)
	case Select:
		s.keep(func(name string) bool { return slices.Contains(node.Spec.Select, name) })
	case Drop:
		s.keep(func(name string) bool { return !slices.Contains(node.Spec.Drop, name) })
	}
	return false
}

func names[T any](entries pipeline.Map[T]) []string {
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name)
	}
	return all
}

// set notes that fields get values.
func (s *tracked) set(given ...string) (changed bool) {
	for field, name := range s.names {
		if name == "" {
			name = field
		}
		if slices.Contains(given, name) {
			s.names[field], changed = name, true
		}
	}
	return changed
}

func (s *tracked) rename(renames pipeline.Map[string]) (changed bool) {
	for field, name := range s.names {
		if to, ok := renames.Get(name); ok {
			s.names[field] = to
		} else if name == "" && slices.ContainsFunc(renames, func(r pipeline.Named[string]) bool { return r.Value == field }) {
			s.names[field], changed = field, true
		}
	}
	return changed
}

// keep notes that the rows lose fields.
func (s *tracked) keep(stays func(name string) bool) {
	for field, name := range s.names {
		if !stays(name) {
			s.names[field] = ""
		}
	}
}

// readAt compiles the total over the rows that leave a node, whose fields have these names there.
func (c *compiler) readAt(t int, node *Node, names map[string]string) (Reading, error) {
	var fields []expr.Field
	for field, name := range names {
		if (node.Barrier || node.Coalescing != nil) && node.Out.find(name) == None {
			name = field // of a new row
		}
		if i := node.Out.find(name); i != None {
			declared := node.Out.Fields[i]
			names[field], declared.Name = name, field
			fields = append(fields, declared)
		} else {
			names[field] = ""
		}
	}
	env, err := expr.NewEnv(fields, false, c.doc.Params)
	if err != nil {
		return Reading{}, err
	}
	program, err := env.Compile(c.plan.Totals[t].Expression, expr.Any)
	if err == nil {
		err = summable(program, node.Name)
	}
	if err != nil {
		return Reading{}, err
	}
	reading := Reading{Program: program}
	for _, field := range program.Fields() {
		reading.Fields = append(reading.Fields, names[field])
	}
	return reading, nil
}

func (p *Plan) describeTotals() []TotalDescription {
	var described []TotalDescription
	for _, total := range p.Totals {
		described = append(described, TotalDescription(total))
	}
	return described
}
