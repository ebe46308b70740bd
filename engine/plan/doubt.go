package plan

import (
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// doubts are what problems leave open, so that nothing is reported which follows from them, and all that does not. What is
// found to be there counts whatever is missing: two ways that must not meet, a field of the wrong type. That something is
// missing is said only where everything is known.
type doubts struct {
	names     bool              // not all names are known: one that is not found may be among them
	edges     bool              // not all edges are known: what nothing reaches, or what leads nowhere, may be connected
	defaults  bool              // steps are missing: rows do not go by themselves from each node to the next
	misnamed  bool              // a route or policy leads to a node that is not known
	params    bool              // not all parameters are known
	ambiguous map[string]bool   // names of several nodes
	called    map[string]string // place of a step that goes by it → the name that its author gave it, "" if none
	inputs    map[int]bool      // nodes to which rows may come that are not known
}

// newDoubts looks at what Load has found.
func newDoubts(doc *pipeline.Document) doubts {
	d := doubts{ambiguous: map[string]bool{}, called: map[string]string{}, inputs: map[int]bool{}}
	if len(doc.Problems) == 0 {
		return d
	}
	root := !doc.SoundItself("") // an unknown key may be any of the missing ones
	d.params = !doc.SoundItself("params") || root && !doc.Has("params")
	d.defaults = !doc.SoundItself("steps") || root && !doc.Has("steps") || !doc.Has("sources")
	d.names = d.defaults || !doc.SoundItself("sources") || !doc.SoundItself("sinks") || !doc.Has("sinks")
	d.edges = d.names
	for _, path := range []string{"sources", "sinks"} {
		for _, name := range namesIn(doc, path) {
			d.edges = d.edges || !doc.SoundItself(pipeline.Key(path, name))
			d.misnamed = d.misnamed || !doc.Sound(pipeline.Key(path, name)+".on_invalid")
		}
	}
	for i := range doc.Pipeline.Steps {
		d.addStep(doc, i)
	}
	d.edges = d.edges || d.misnamed
	return d
}

func namesIn(doc *pipeline.Document, path string) []string {
	var names []string
	if path == "sources" {
		for _, entry := range doc.Pipeline.Sources {
			names = append(names, entry.Name)
		}
		return names
	}
	for _, entry := range doc.Pipeline.Sinks {
		names = append(names, entry.Name)
	}
	return names
}

func (d *doubts) addStep(doc *pipeline.Document, i int) {
	step, path := &doc.Pipeline.Steps[i], stepPath(i)
	d.names = d.names || step.Name == "" || operation(doc, i) == "" && doc.HasUnknownKey(path) || !branchesKnown(doc, i)
	d.misnamed = d.misnamed || !doc.SoundItself(path) || !doc.Sound(path+".routes") || !doc.Sound(path+".on_error")
	d.edges = d.edges || d.names || !doc.Sound(path+".from") || !doc.Sound(path+".coalesce")
}

// branchesKnown reports whether the names of the step's branches are known: one that is listed twice is.
func branchesKnown(doc *pipeline.Document, i int) bool {
	fork, branches := stepPath(i)+".fork", doc.Pipeline.Steps[i].Fork
	if !doc.SoundItself(fork) {
		return false
	}
	for k, branch := range branches {
		if !doc.Sound(pipeline.Item(fork, k)) && !slices.Contains(branches[:k], branch) {
			return false
		}
	}
	return true
}

// once returns the branches without those that are listed before.
func once(branches []string) []string {
	var kept []string
	for _, branch := range branches {
		if !slices.Contains(kept, branch) {
			kept = append(kept, branch)
		}
	}
	return kept
}

// distinct returns the document with names that tell its nodes apart: a step without a name, or with one that is taken, is
// called by its place; a branch that is listed twice is one. A sink with the name of a source is left out. The names at
// fault are noted.
func (d *doubts) distinct(doc *pipeline.Document) *pipeline.Document {
	if len(doc.Problems) == 0 {
		return doc
	}
	changed := *doc
	changed.Pipeline.Steps = slices.Clone(doc.Pipeline.Steps)
	for i := range changed.Pipeline.Steps {
		fork := &changed.Pipeline.Steps[i].Fork
		if all := len(*fork); all > 0 {
			*fork = once(*fork)
			d.edges = d.edges || len(*fork) < all
		}
	}
	count := map[string]int{}
	for _, name := range slices.Concat(namesIn(doc, "sources"), namesIn(doc, "sinks"), stepNames(&changed)) {
		count[name]++
	}
	for i := range changed.Pipeline.Steps {
		step := &changed.Pipeline.Steps[i]
		step.Fork = slices.DeleteFunc(slices.Clone(step.Fork), func(branch string) bool { return branch == "" || count[branch] > 1 })
		if step.Name == "" || count[step.Name] > 1 {
			d.called[stepPath(i)] = step.Name
			step.Name = stepPath(i)
		}
	}
	changed.Pipeline.Sinks = slices.DeleteFunc(slices.Clone(doc.Pipeline.Sinks), func(sink pipeline.Named[pipeline.Sink]) bool {
		_, taken := doc.Pipeline.Sources.Get(sink.Name)
		return taken
	})
	for name, times := range count {
		d.ambiguous[name] = times > 1
		d.edges = d.edges || times > 1
	}
	return &changed
}

// stepNames returns the names of steps and branches.
func stepNames(doc *pipeline.Document) []string {
	var names []string
	for _, step := range doc.Pipeline.Steps {
		names = append(append(names, step.Name), step.Fork...)
	}
	return names
}

// unclear reports whether it is open which node a name means, or whether there is one.
func (c *compiler) unclear(name string) bool {
	_, known := c.index[name]
	_, isBranch := c.branches[name]
	return name == "" || c.doubt.ambiguous[name] || c.doubt.names && !known && !isBranch
}

// doubtRows notes that rows may come to the node that are not known.
func (c *compiler) doubtRows(name string) {
	c.doubt.edges = true
	if i, known := c.index[name]; known {
		c.doubt.inputs[i] = true
	}
}

// unknownRows stands for rows of which nothing is known after a problem.
func unknownRows() Schema { return Schema{Open: true, unknown: true} }

// doubtful returns a field of which only the name is known after a problem.
func doubtful(name string) expr.Field { return expr.Field{Name: name, Kind: row.Null, Optional: true} }

// hasDoubts reports whether not all kinds of the fields are known.
func (s Schema) hasDoubts() bool {
	return s.unknown || slices.ContainsFunc(s.Fields, func(f expr.Field) bool { return f.Kind == row.Null })
}

// pathOfSource returns the source with its path alone, which is looked at if the rest has problems, and whether it has one.
func pathOfSource(doc *pipeline.Document, path string, spec pipeline.Source) (pipeline.Source, bool) {
	switch {
	case spec.CSV != nil && soundPath(doc, path+".csv"):
		return pipeline.Source{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: spec.CSV.Path}}}, true
	case spec.JSONL != nil && soundPath(doc, path+".jsonl"):
		return pipeline.Source{JSONL: &pipeline.JSONLSource{Files: pipeline.Files{Path: spec.JSONL.Path}}}, true
	case spec.JSON != nil && soundPath(doc, path+".json"):
		return pipeline.Source{JSON: &pipeline.JSONSource{Files: pipeline.Files{Path: spec.JSON.Path}}}, true
	}
	return pipeline.Source{}, false
}

// pathOfSink does the same for a sink.
func pathOfSink(doc *pipeline.Document, path string, spec pipeline.Sink) (pipeline.Sink, bool) {
	switch {
	case spec.CSV != nil && soundPath(doc, path+".csv"):
		return pipeline.Sink{CSV: &pipeline.CSVSink{FileTarget: pipeline.FileTarget{Path: spec.CSV.Path}}}, true
	case spec.JSONL != nil && soundPath(doc, path+".jsonl"):
		return pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: pipeline.FileTarget{Path: spec.JSONL.Path}}}, true
	}
	return pipeline.Sink{}, false
}

// soundPath reports whether the entry has a path of this host that Load took.
func soundPath(doc *pipeline.Document, format string) bool {
	return doc.Has(format+".path") && doc.Sound(format+".path") && !doc.Has(format+".s3") && !doc.Has(format+".http")
}
