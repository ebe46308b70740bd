package plan

import (
	"cmp"
	"strings"

	"waymark/expr"
	"waymark/pipeline"
	"waymark/plugin"
)

// Plugins makes the sources and sinks that documents name.
type Plugins interface {
	// Source makes the source. An error says what is wrong with the specification, in one sentence.
	Source(name string, spec pipeline.Source) (plugin.Source, error)
	// Sink makes the sink. An error says what is wrong with the specification, in one sentence.
	Sink(name string, spec pipeline.Sink) (plugin.Sink, error)
}

// Default limits of a chunk: large enough that Temporal's cost for a chunk is small beside the rows' own, small enough
// that a window of chunks stays well under 100 MB. Measured with `make bench`.
const (
	DefaultChunkRows  = 32_768
	DefaultChunkBytes = 8 << 20
)

// Compile compiles a document. The error is pipeline.Problems with everything that is wrong, in document order; nothing
// is read or written.
func Compile(doc *pipeline.Document, plugins Plugins) (*Plan, error) {
	c := &compiler{doc: doc, plan: &Plan{Document: doc, Chunk: limits(doc.Pipeline.Chunk)}, index: map[string]int{}}
	c.addSources(plugins)
	c.addSteps()
	c.addSinks(plugins)
	c.connect()
	if len(c.problems) == 0 {
		c.typeCheck()
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
	index    map[string]int // name → position in plan.Nodes
	misnamed bool           // a route or policy names a sink or step that is not there
	problems pipeline.Problems
}

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
	for i, entry := range c.doc.Pipeline.Sources {
		path := pipeline.Key("sources", entry.Name)
		if i > 0 {
			c.problem(path, "a pipeline reads one source; remove this one or put its files into the other's glob")
			continue
		}
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
	if spec.CSV != nil {
		return "csv"
	}
	return "jsonl"
}

func sinkFormat(spec pipeline.Sink) string {
	if spec.CSV != nil {
		return "csv"
	}
	return "jsonl"
}

func (c *compiler) addSteps() {
	steps := c.doc.Pipeline.Steps
	for i := range steps {
		c.add(Node{Name: steps[i].Name, Kind: Step, Operation: operation(&steps[i]), Path: stepPath(i), Spec: &steps[i]})
	}
}

func operation(step *pipeline.Step) string {
	switch {
	case step.Set != nil:
		return Set
	case step.Rename != nil:
		return Rename
	case step.Select != nil:
		return Select
	case step.Drop != nil:
		return Drop
	case step.Cast != nil:
		return Cast
	case step.Filter != "":
		return Filter
	default:
		return Gate
	}
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
			c.checkStep(node)
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
	to := func(target int) {
		if target != None {
			c.plan.Nodes[target].Inputs = append(c.plan.Nodes[target].Inputs, node.Out)
		}
	}
	to(node.Next)
	for _, route := range node.Routes {
		if route.To.Node != node.Next {
			to(route.To.Node)
		}
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
