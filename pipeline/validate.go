package pipeline

import (
	"regexp"
	"slices"
)

// nodeName is how pipelines, sources, steps, branches and sinks are named, so that a name is safe in paths, queries and pages.
var nodeName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// reserved are the words that stand in routes and policies where a name could.
var reserved = []string{Continue, Discard, Quarantine, Fail}

// checkDocument reports what the types and tags cannot say. An empty text was refused before, or left out, and is passed.
func (l *loader) checkDocument() {
	p := &l.doc.Pipeline
	if p.Name != "" {
		l.checkName("name", p.Name)
	}
	l.checkNames(p)
	for _, source := range p.Sources {
		l.checkSource(Key("sources", source.Name), source.Value)
		if source.Value.Webhook != nil {
			l.checkWebhookSource(Key(Key("sources", source.Name), "webhook"), *source.Value.Webhook)
		}
	}
	l.checkInput(p)
	for i, step := range p.Steps {
		l.checkStep(Item("steps", i), step)
	}
	for _, sink := range p.Sinks {
		if at, target := fileTargetOf(sink); sink.Value.Parquet != nil {
			l.checkParquetSink(at, sink.Value.Parquet)
		} else if target != nil {
			l.checkTarget(at, *target)
		}
		if csv := sink.Value.CSV; csv != nil {
			l.checkDelimiter(Key(Key(Key("sinks", sink.Name), "csv"), "delimiter"), csv.Delimiter, "tab")
		}
		if postgres := sink.Value.Postgres; postgres != nil {
			l.checkPostgresSink(Key(Key("sinks", sink.Name), "postgres"), postgres)
		}
	}
	l.checkTargets(p)
	l.checkSchedules(p)
	l.checkTriggers(p)
	l.checkConcurrency(p)
	l.checkPolicies(p)
	l.checkRequirements(p)
	l.checkAttest(p)
	l.checkRetention(p)
	for _, total := range p.Totals {
		l.checkName(Key("totals", total.Name), total.Name)
	}
}

func (l *loader) checkName(path, name string) {
	if err := CheckName(name); err != nil {
		l.report(path, "%s is not a name: %s", quote(name), err)
	} else if slices.Contains(reserved, name) {
		l.report(path, "%q is a word of routes and policies, not a name: choose another", name)
	}
}

// checkNames reports bad names of sources, steps, branches and sinks, and names that are taken: they share one name space.
func (l *loader) checkNames(p *Pipeline) {
	taken := map[string]string{}
	check := func(kind, path, name string) {
		l.checkName(path, name)
		if other, is := taken[name]; is {
			l.report(path, "the name %q is taken by a %s: sources, steps, branches and sinks share one name space", name, other)
		}
		taken[name] = kind
	}
	for _, source := range p.Sources {
		check("source", Key("sources", source.Name), source.Name)
	}
	for i, step := range p.Steps {
		path := Item("steps", i)
		if step.Name != "" {
			check("step", Key(path, "name"), step.Name)
		}
		for j, branch := range step.Fork {
			at := Item(Key(path, "fork"), j)
			if l.isText(at, branch) && !slices.Contains(step.Fork[:j], branch) {
				check("branch", at, branch)
			}
		}
	}
	for _, sink := range p.Sinks {
		check("sink", Key("sinks", sink.Name), sink.Name)
	}
}

// isText reports whether the text is the one at the path, and not "" for one that was refused.
func (l *loader) isText(path, text string) bool {
	n := l.doc.find(path)
	return text != "" || n != nil && n.kind == scalarNode && n.text == ""
}
