package pipeline

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// nodeName is how pipelines, sources, steps and sinks are named, so that a name is safe in paths, queries and pages.
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
	}
	for i, step := range p.Steps {
		l.checkStep(Item("steps", i), step)
	}
	for _, sink := range p.Sinks {
		if csv := sink.Value.CSV; csv != nil {
			l.checkDelimiter(Key(Key(Key("sinks", sink.Name), "csv"), "delimiter"), csv.Delimiter, "tab")
		}
	}
	l.checkTargets(p)
}

func (l *loader) checkName(path, name string) {
	if !nodeName.MatchString(name) {
		l.report(path, "%s is not a name: use a to z, 0 to 9, _ and -, at most 63 characters, a letter or digit first", quote(name))
	} else if slices.Contains(reserved, name) {
		l.report(path, "%q is a word of routes and policies, not a name: choose another", name)
	}
}

// checkNames reports bad names of sources, steps and sinks, and names that are taken: they share one name space.
func (l *loader) checkNames(p *Pipeline) {
	taken := map[string]string{}
	check := func(kind, path, name string) {
		if name == "" && kind == "step" {
			return
		}
		l.checkName(path, name)
		if other, is := taken[name]; is {
			l.report(path, "the name %q is taken by a %s: sources, steps and sinks share one name space", name, other)
		}
		taken[name] = kind
	}
	for _, source := range p.Sources {
		check("source", Key("sources", source.Name), source.Name)
	}
	for i, step := range p.Steps {
		check("step", Key(Item("steps", i), "name"), step.Name)
	}
	for _, sink := range p.Sinks {
		check("sink", Key("sinks", sink.Name), sink.Name)
	}
}

func (l *loader) checkStep(path string, step Step) {
	given := func(key string) bool { return l.doc.find(Key(path, key)) != nil }
	switch {
	case given("gate") && !given("routes"):
		l.report(path, "a gate needs routes, such as routes: {\"true\": continue, \"false\": discard}")
	case given("routes") && !given("gate"):
		l.report(Key(path, "routes"), "routes belong to a gate: add gate with the expression for the label, or delete routes")
	}
	olds := map[string]string{}
	for _, rename := range step.Rename {
		at := Key(Key(path, "rename"), rename.Name)
		if old, twice := olds[rename.Value]; twice && rename.Value != "" {
			l.report(at, "%s and %s are both renamed to %s", quote(old), quote(rename.Name), quote(rename.Value))
		}
		if rename.Value == rename.Name {
			l.report(at, "%s is renamed to itself", quote(rename.Name))
		}
		olds[rename.Value] = rename.Name
	}
}

// checkTargets reports sinks that would write to one place, or to where a source reads. Places are compared as a file
// system without upper and lower case would.
func (l *loader) checkTargets(p *Pipeline) {
	type owner struct{ sink, target string }
	taken := map[string]owner{}
	for _, sink := range p.Sinks {
		at, target := targetOf(sink)
		if target == "" {
			continue
		}
		place := samePlace(target)
		if other, is := taken[place]; is {
			l.report(at, "the sinks %q and %q write to the same path%s", other.sink, sink.Name, caseNote(other.target, target))
		}
		taken[place] = owner{sink.Name, target}
		for _, source := range p.Sources {
			if reads(source.Value, place) {
				l.report(at, "the sink would write to what source %q reads", source.Name)
			}
		}
	}
}

// caseNote says why two targets are one place if nobody can see it from their letters.
func caseNote(a, b string) string {
	if path.Clean(a) == path.Clean(b) {
		return ""
	}
	return ": they differ in upper and lower case only, and some file systems do not tell these apart"
}

// targetOf returns the path that the sink writes to, or "", and where the document says so.
func targetOf(sink Named[Sink]) (at, target string) {
	at = Key("sinks", sink.Name)
	switch {
	case sink.Value.CSV != nil:
		return Key(Key(at, "csv"), "path"), sink.Value.CSV.Path
	case sink.Value.JSONL != nil:
		return Key(Key(at, "jsonl"), "path"), sink.Value.JSONL.Path
	default:
		return at, ""
	}
}

func samePlace(target string) string { return strings.ToLower(path.Clean(target)) }

// reads reports whether the path or glob of the source covers the place.
func reads(source Source, place string) bool {
	pattern := ""
	switch {
	case source.CSV != nil:
		pattern = source.CSV.Path
	case source.JSONL != nil:
		pattern = source.JSONL.Path
	}
	if pattern == "" {
		return false
	}
	covers, err := path.Match(samePlace(pattern), place)
	return samePlace(pattern) == place || err == nil && covers
}
