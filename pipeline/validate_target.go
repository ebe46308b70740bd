package pipeline

import (
	"path"
	"strings"
)

// checkTargets reports sinks that would write to one place, or to where a source or a lookup reads. Places are compared as a file
// system without upper and lower case would.
func (l *loader) checkTargets(p *Pipeline) {
	type owner struct{ sink, target string }
	taken := map[string]owner{}
	for _, sink := range p.Sinks {
		at, target := targetOf(sink)
		if sink.Value.Postgres != nil {
			l.checkTableTarget(p, sink)
		}
		if target == "" {
			continue
		}
		place := samePlace(target)
		if other, is := taken[place]; is {
			l.report(at, "the sinks %q and %q write to the same path%s", other.sink, sink.Name, caseNote(other.target, target))
		}
		taken[place] = owner{sink.Name, target}
		l.checkReaders(p, at, place)
	}
	for _, sink := range p.Sinks {
		at, target := fileTargetOf(sink)
		if target == nil || target.Latest == "" {
			continue
		}
		at, place := Key(at, "latest"), samePlace(target.Latest)
		if other, is := taken[place]; is && other.sink != sink.Name {
			l.report(at, "the sinks %q and %q write to the same path%s", other.sink, sink.Name, caseNote(other.target, target.Latest))
		}
		taken[place] = owner{sink.Name, target.Latest}
		l.checkReaders(p, at, place)
	}
}

// checkReaders reports a sink, whose path is at the path, that would write to where a source or a lookup reads.
func (l *loader) checkReaders(p *Pipeline, at, place string) {
	for _, source := range p.Sources {
		parquet := source.Value.Parquet
		json := source.Value.JSON
		if reads(source.Value.CSV, source.Value.JSONL, place) || json != nil && json.Path != Stdio && covers(json.Path, place) || parquet != nil && covers(parquet.Path, place) {
			l.report(at, "the sink would write to what source %q reads", source.Name)
		}
	}
	for _, step := range p.Steps {
		if step.Lookup != nil && reads(step.Lookup.CSV, step.Lookup.JSONL, place) {
			l.report(at, "the sink would write to what lookup %q reads", step.Name)
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
	at, file := fileTargetOf(sink)
	if file == nil {
		return at, ""
	}
	return Key(at, "path"), file.Path
}

// fileTargetOf returns where a sink of files puts them, and where the document says so; nil for another sink.
func fileTargetOf(sink Named[Sink]) (at string, target *FileTarget) {
	at = Key("sinks", sink.Name)
	switch {
	case sink.Value.CSV != nil:
		return Key(at, "csv"), &sink.Value.CSV.FileTarget
	case sink.Value.JSONL != nil:
		return Key(at, "jsonl"), &sink.Value.JSONL.FileTarget
	case sink.Value.Parquet != nil:
		folder := sink.Value.Parquet.Target()
		return Key(at, "parquet"), &folder
	}
	return at, nil
}

// samePlace is the same text for paths that lead to one place. Keys of objects differ by upper and lower case.
func samePlace(target string) string {
	if Scheme(target) != "" {
		return path.Clean(target)
	}
	return strings.ToLower(path.Clean(target))
}

// reads reports whether the path or glob of what is read covers the place. At most one of the formats is set.
func reads(csv *CSVSource, jsonl *JSONLSource, place string) bool {
	pattern := ""
	switch {
	case csv != nil:
		pattern = csv.Path
	case jsonl != nil:
		pattern = jsonl.Path
	}
	return pattern != "" && pattern != Stdio && covers(pattern, place)
}

// covers reports whether the path or glob matches the place.
func covers(pattern, place string) bool {
	matches, err := path.Match(samePlace(pattern), place)
	return samePlace(pattern) == place || err == nil && matches
}

// checkTableTarget reports a sink that writes into the table of a sink before it, or into one that a source reads. Two ways to write
// where one database is are not seen here: the target itself finds them.
func (l *loader) checkTableTarget(p *Pipeline, sink Named[Sink]) {
	at := Key(Key(Key("sinks", sink.Name), "postgres"), "table")
	table := ParseTableName(sink.Value.Postgres.Table)
	for _, other := range p.Sinks {
		if other.Name == sink.Name {
			break
		}
		if spec := other.Value.Postgres; spec != nil && spec.DSN == sink.Value.Postgres.DSN && ParseTableName(spec.Table) == table {
			l.report(at, "the sinks %q and %q write into the same table", other.Name, sink.Name)
		}
	}
	for _, source := range p.Sources {
		if spec := source.Value.Postgres; spec != nil && spec.Table != "" && spec.DSN == sink.Value.Postgres.DSN && ParseTableName(spec.Table) == table {
			l.report(at, "the sink would write into the table that source %q reads", source.Name)
		}
	}
}
