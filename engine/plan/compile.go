package plan

import (
	"cmp"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/plugin"
)

// Plugins makes the sources, sinks and tables that documents name.
type Plugins interface {
	// Source makes the source. An error says what is wrong with the specification, in one sentence.
	Source(name string, spec pipeline.Source) (plugin.Source, error)
	// Sink makes the sink. An error says what is wrong with the specification, in one sentence.
	Sink(name string, spec pipeline.Sink) (plugin.Sink, error)
	// Table reads the table of the lookup with this name. An error says what is wrong with the specification or the table,
	// in one sentence.
	Table(name string, spec pipeline.Lookup) (*plugin.Table, error)
}

// Default limits of a chunk: large enough that Temporal's cost for a chunk is small beside the rows' own, small enough
// that a window of chunks stays well under 100 MB. Measured with `make bench`.
const (
	DefaultChunkRows  = 32_768
	DefaultChunkBytes = 8 << 20
)

// Compile compiles a document. The error is pipeline.Problems with everything that is wrong, in document order: what Load
// found, and what is wrong besides in the graph, its types and expressions. Nothing that merely follows from another
// problem is among them. Nothing is written, and nothing but the tables of lookups is read.
func Compile(doc *pipeline.Document, plugins Plugins) (*Plan, error) {
	c := &compiler{
		plan: &Plan{Document: doc, Chunk: limits(doc.Pipeline.Chunk)}, doubt: newDoubts(doc), problems: slices.Clone(doc.Problems),
		index: map[string]int{}, hashes: map[int]int{}, branches: map[string]branchAt{}, coalesced: map[int]int{},
	}
	c.doc = c.doubt.distinct(doc)
	c.addSources(plugins)
	c.addSteps(plugins)
	c.addSinks(plugins)
	c.connect()
	c.holdCoalesces()
	c.followContexts()
	if len(c.problems) == 0 {
		c.addLanes()
		c.limitRows()
	}
	c.typeCheck()
	c.checkTotals()
	c.checkPolicies()
	if len(c.problems) > 0 {
		c.problems.Sort()
		return nil, c.problems.Limited()
	}
	return c.plan, nil
}

func limits(chunk pipeline.Chunk) plugin.Limits {
	return plugin.Limits{
		Rows:  cmp.Or(chunk.Rows, DefaultChunkRows),
		Bytes: int(cmp.Or(chunk.Bytes, DefaultChunkBytes)),
	}
}

type compiler struct {
	doc       *pipeline.Document
	plan      *Plan
	index     map[string]int      // name → position in plan.Nodes
	hashes    map[int]int         // origin → how many a row of it has at most
	branches  map[string]branchAt // name of a branch → where it begins
	coalesced map[int]int         // fork → the coalesce over its branches
	incoming  [][]flow            // by node: what its edges carry, in the order of the edges' beginnings
	doubt     doubts
	problems  pipeline.Problems
}

// branchAt is the route of a fork that a branch is.
type branchAt struct{ fork, route int }

func (c *compiler) problem(path, format string, args ...any) {
	c.problems = append(c.problems, c.doc.Problem(path, format, args...))
}

// pluginProblem reports what a plugin says of its entry. A plugin may begin with the entry's path, which is said once, and with
// the option in it that is at fault, which is where the problem is.
func (c *compiler) pluginProblem(path string, err error) {
	message := strings.TrimPrefix(err.Error(), path+": ")
	option, rest, found := strings.Cut(message, ": ")
	if at := path + "." + option; found && c.doc.Has(at) {
		path, message = at, rest
	}
	c.problem(path, "%s", message)
}

func (c *compiler) add(node Node) {
	node.Next = None
	c.index[node.Name] = len(c.plan.Nodes)
	c.plan.Nodes = append(c.plan.Nodes, node)
}

func (c *compiler) addSources(plugins Plugins) {
	for _, entry := range c.doc.Pipeline.Sources {
		path := pipeline.Key("sources", entry.Name)
		source := c.source(plugins, path, entry)
		spec := entry.Value
		operation := format(spec.CSV != nil, spec.Postgres != nil, spec.Parquet != nil, spec.JSON != nil)
		if spec.Webhook != nil {
			operation = "webhook"
		}
		node := Node{Name: entry.Name, Kind: Source, Operation: operation, Path: path, Source: source, Key: spec.Key}
		for _, field := range spec.Schema.Fields {
			if field.Value.Unique {
				node.Unique = append(node.Unique, field.Name)
			}
		}
		c.add(node)
	}
}

// source makes the source, or returns nil after a problem.
func (c *compiler) source(plugins Plugins, path string, entry pipeline.Named[pipeline.Source]) plugin.Source {
	spec, given, sound := entry.Value, true, c.doc.Sound(path)
	if !sound {
		spec, given = pathOfSource(c.doc, path, spec)
	}
	if !given {
		return nil
	}
	source, err := plugins.Source(entry.Name, spec)
	if err != nil {
		c.pluginProblem(path, err)
	}
	if err != nil || !sound {
		return nil
	}
	return source
}

// sink makes the sink, or returns nil after a problem.
func (c *compiler) sink(plugins Plugins, path string, entry pipeline.Named[pipeline.Sink]) plugin.Sink {
	spec, given, sound := entry.Value, true, c.doc.Sound(path)
	if !sound {
		spec, given = pathOfSink(c.doc, path, spec)
	}
	if !given {
		return nil
	}
	sink, err := plugins.Sink(entry.Name, spec)
	if err != nil {
		c.pluginProblem(path, err)
	}
	if err != nil || !sound {
		return nil
	}
	return sink
}

// format is the word for the format of a source or sink that has these; jsonl if it has none of them.
func format(csv, postgres, parquet, json bool) string {
	switch {
	case csv:
		return "csv"
	case postgres:
		return "postgres"
	case parquet:
		return "parquet"
	case json:
		return "json"
	}
	return "jsonl"
}

func (c *compiler) addSteps(plugins Plugins) {
	steps := c.doc.Pipeline.Steps
	for i := range steps {
		node := Node{Name: steps[i].Name, Kind: Step, Operation: operation(c.doc, i), Path: stepPath(i), Spec: &steps[i]}
		for k, branch := range steps[i].Fork {
			c.branches[branch] = branchAt{len(c.plan.Nodes), k}
			node.Routes = append(node.Routes, Route{Label: branch, To: Target{Node: None}})
		}
		if node.Operation == Lookup && c.doc.Sound(node.Path+".lookup") {
			node.Table = c.table(plugins, &steps[i], node.Path+".lookup")
		}
		c.add(node)
	}
}

func (c *compiler) table(plugins Plugins, step *pipeline.Step, path string) *plugin.Table {
	table, err := plugins.Table(step.Name, *step.Lookup)
	if err != nil {
		c.pluginProblem(path, err)
	}
	return table
}

var operations = pipeline.Operations()

// operation returns the operation of a step, or "" after a problem that leaves open which it is.
func operation(doc *pipeline.Document, step int) string {
	found := ""
	for _, word := range operations {
		switch {
		case !doc.Has(pipeline.Key(stepPath(step), word)):
		case found != "":
			return ""
		default:
			found = word
		}
	}
	return found
}

func (c *compiler) addSinks(plugins Plugins) {
	for _, entry := range c.doc.Pipeline.Sinks {
		path := pipeline.Key("sinks", entry.Name)
		sink := c.sink(plugins, path, entry)
		operation := format(entry.Value.CSV != nil, entry.Value.Postgres != nil, entry.Value.Parquet != nil, false)
		c.add(Node{Name: entry.Name, Kind: Sink, Operation: operation, Path: path, Sink: sink})
	}
}

// typeCheck walks the nodes in order, so that the rows that arrive at a node are known before the node is.
func (c *compiler) typeCheck() {
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		switch node.Kind {
		case Source:
			node.Out = c.sourceSchema(node)
		case Step:
			c.checkStep(i)
		case Sink:
			c.checkSink(i)
		}
		c.deliver(node)
	}
}

// sourceSchema returns the rows of a source: as its plugin says or, after a problem, as far as the document tells.
func (c *compiler) sourceSchema(node *Node) Schema {
	if node.Source == nil {
		return c.declaredSchema(node)
	}
	declared, open := node.Source.Fields()
	schema := Schema{Open: open}
	for _, field := range declared {
		schema.Fields = append(schema.Fields, expr.Field{Name: field.Name, Kind: field.Value.Kind(), Optional: field.Value.Optional})
	}
	return schema
}

// declaredSchema returns the rows of a source that has a problem.
func (c *compiler) declaredSchema(node *Node) Schema {
	spec, _ := c.doc.Pipeline.Sources.Get(node.Name)
	path := node.Path + ".schema"
	fixed := spec.Schema.InForce() == pipeline.ModeFixed
	schema := Schema{Open: !fixed, unknown: !c.doc.SoundItself(node.Path) || !c.doc.SoundItself(path) || !c.doc.SoundItself(path+".fields")}
	for _, field := range spec.Schema.Fields {
		if c.doc.Sound(pipeline.Key(path+".fields", field.Name)) {
			schema.Fields = append(schema.Fields, expr.Field{Name: field.Name, Kind: field.Value.Kind(), Optional: field.Value.Optional})
		} else {
			schema.Fields = append(schema.Fields, doubtful(field.Name))
		}
	}
	schema.Open = schema.Open || schema.unknown
	return schema
}

// deliver notes the node's rows at every node that its edges lead to.
func (c *compiler) deliver(node *Node) {
	for _, next := range node.successors() {
		c.plan.Nodes[next].Inputs = append(c.plan.Nodes[next].Inputs, node.Out)
	}
}

// incomingRows describes the rows that reach a node. The error says how those of its edges contradict each other.
func (c *compiler) incomingRows(i int) (Schema, error) {
	node := &c.plan.Nodes[i]
	merged, err := merge(node.Inputs)
	if err == nil && (c.doubt.inputs[i] || len(node.Inputs) == 0 && !node.Errors) {
		return unknownRows(), nil
	}
	return merged, err
}

func (c *compiler) checkSink(i int) {
	node := &c.plan.Nodes[i]
	merged, err := c.incomingRows(i)
	if err != nil {
		merged = Schema{Open: true} // a sink that needs to know its columns rejects this and says the cure
	}
	node.Out = merged
	c.checkDisclosed(node)
	_, typed := node.Sink.(plugin.Typed)
	if node.Sink == nil || !node.Errors && (merged.unknown || typed && merged.hasDoubts()) {
		return
	}
	if _, err := node.Encoder(); err != nil {
		c.pluginProblem(node.Path, err)
	}
}
