package plan

import (
	"cmp"
	"strings"

	"waymark/expr"
	"waymark/pipeline"
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
	Table(name string, spec pipeline.Lookup) (*Table, error)
}

// Default limits of a chunk: large enough that Temporal's cost for a chunk is small beside the rows' own, small enough
// that a window of chunks stays well under 100 MB. Measured with `make bench`.
const (
	DefaultChunkRows  = 32_768
	DefaultChunkBytes = 8 << 20
)

// Compile compiles a document. The error is pipeline.Problems with everything that is wrong, in document order. Nothing
// is written, and nothing but the tables of lookups is read.
func Compile(doc *pipeline.Document, plugins Plugins) (*Plan, error) {
	c := &compiler{
		doc: doc, plan: &Plan{Document: doc, Chunk: limits(doc.Pipeline.Chunk)},
		index: map[string]int{}, branches: map[string]branchAt{}, joined: map[int]int{},
	}
	c.addSources(plugins)
	c.addSteps(plugins)
	c.addSinks(plugins)
	for _, pass := range []func(){c.connect, c.holdCoalesces, c.followContexts, c.addLanes, c.typeCheck} {
		if pass(); len(c.problems) > 0 {
			break // what follows would only repeat it
		}
	}
	if len(c.problems) > 0 {
		c.problems.Sort()
		return nil, c.problems
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
	doc      *pipeline.Document
	plan     *Plan
	index    map[string]int      // name → position in plan.Nodes
	branches map[string]branchAt // name of a branch → where it begins
	joined   map[int]int         // fork → the coalesce over its branches
	incoming [][]flow            // by node: what its edges carry, in the order of the edges' beginnings
	misnamed bool                // a route or policy names a sink or step that is not there
	problems pipeline.Problems
}

// branchAt is the route of a fork that a branch is.
type branchAt struct{ fork, route int }

func (c *compiler) problem(path, format string, args ...any) {
	c.problems = append(c.problems, c.doc.Problem(path, format, args...))
}

// pluginProblem reports what a plugin says of its entry. A plugin may begin with the entry's path, which is said once.
func (c *compiler) pluginProblem(path string, err error) {
	c.problem(path, "%s", strings.TrimPrefix(err.Error(), path+": "))
}

func (c *compiler) add(node Node) {
	node.Next = None
	c.index[node.Name] = len(c.plan.Nodes)
	c.plan.Nodes = append(c.plan.Nodes, node)
}

func (c *compiler) addSources(plugins Plugins) {
	for _, entry := range c.doc.Pipeline.Sources {
		path := pipeline.Key("sources", entry.Name)
		source, err := plugins.Source(entry.Name, entry.Value)
		if err != nil {
			c.pluginProblem(path, err)
		}
		node := Node{Name: entry.Name, Kind: Source, Operation: sourceFormat(entry.Value), Path: path, Source: source, Key: entry.Value.Key}
		for _, field := range entry.Value.Schema.Fields {
			if field.Value.Unique {
				node.Unique = append(node.Unique, field.Name)
			}
		}
		c.add(node)
	}
}

func sourceFormat(spec pipeline.Source) string {
	switch {
	case spec.CSV != nil:
		return "csv"
	case spec.Postgres != nil:
		return "postgres"
	case spec.Parquet != nil:
		return "parquet"
	}
	return "jsonl"
}

func sinkFormat(spec pipeline.Sink) string {
	switch {
	case spec.CSV != nil:
		return "csv"
	case spec.Postgres != nil:
		return "postgres"
	case spec.Parquet != nil:
		return "parquet"
	}
	return "jsonl"
}

func (c *compiler) addSteps(plugins Plugins) {
	steps := c.doc.Pipeline.Steps
	for i := range steps {
		node := Node{Name: steps[i].Name, Kind: Step, Operation: operation(&steps[i]), Path: stepPath(i), Spec: &steps[i]}
		for k, branch := range steps[i].Fork {
			c.branches[branch] = branchAt{len(c.plan.Nodes), k}
			node.Routes = append(node.Routes, Route{Label: branch, To: Target{Node: None}})
		}
		if steps[i].Lookup != nil {
			node.Table = c.table(plugins, &steps[i], node.Path+".lookup")
		}
		c.add(node)
	}
}

func (c *compiler) table(plugins Plugins, step *pipeline.Step, path string) *Table {
	table, err := plugins.Table(step.Name, *step.Lookup)
	if err != nil {
		c.pluginProblem(path, err)
	}
	return table
}

func operation(step *pipeline.Step) string {
	for _, op := range []struct {
		name  string
		given bool
	}{
		{Set, step.Set != nil}, {Rename, step.Rename != nil}, {Select, step.Select != nil}, {Drop, step.Drop != nil},
		{Cast, step.Cast != nil}, {Filter, step.Filter != ""}, {Sample, step.Sample != nil}, {Gate, step.Gate != ""},
		{Fork, step.Fork != nil}, {Coalesce, step.Coalesce != nil}, {Aggregate, step.Aggregate != nil},
		{Sort, step.Sort != nil}, {Expand, step.Expand != nil}, {Deduplicate, step.Deduplicate != nil},
	} {
		if op.given {
			return op.name
		}
	}
	return Lookup
}

func (c *compiler) addSinks(plugins Plugins) {
	for _, entry := range c.doc.Pipeline.Sinks {
		path := pipeline.Key("sinks", entry.Name)
		sink, err := plugins.Sink(entry.Name, entry.Value)
		if err != nil {
			c.pluginProblem(path, err)
		}
		c.add(Node{Name: entry.Name, Kind: Sink, Operation: sinkFormat(entry.Value), Path: path, Sink: sink})
	}
}

// typeCheck walks the nodes in order, so that the rows that arrive at a node are known before the node is.
func (c *compiler) typeCheck() {
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		switch node.Kind {
		case Source:
			node.Out = sourceSchema(node.Source)
		case Step:
			c.checkStep(i)
		case Sink:
			c.checkSink(node)
		}
		if len(c.problems) > 0 && node.Kind == Step {
			return // what follows would only repeat it
		}
		c.deliver(node)
	}
}

func sourceSchema(source plugin.Source) Schema {
	declared, open := source.Fields()
	schema := Schema{Open: open}
	for _, field := range declared {
		schema.Fields = append(schema.Fields, expr.Field{Name: field.Name, Kind: field.Value.Kind(), Optional: field.Value.Optional})
	}
	return schema
}

// deliver notes the node's rows at every node that its edges lead to.
func (c *compiler) deliver(node *Node) {
	for _, next := range node.successors() {
		c.plan.Nodes[next].Inputs = append(c.plan.Nodes[next].Inputs, node.Out)
	}
}

func (c *compiler) checkSink(node *Node) {
	merged, err := merge(node.Inputs)
	if err != nil {
		merged = Schema{Open: true} // a sink that needs to know its columns refuses this and says the cure
	}
	node.Out = merged
	if _, err := node.Encoder(); err != nil {
		c.pluginProblem(node.Path, err)
	}
}
