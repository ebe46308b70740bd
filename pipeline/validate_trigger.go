package pipeline

import "slices"

// checkTriggers reports what is wrong with triggers.
func (l *loader) checkTriggers(p *Pipeline) {
	first := map[string]string{}
	for _, trigger := range p.Triggers {
		path := Key("triggers", trigger.Name)
		if other, twice := first[trigger.Value.Source]; twice {
			l.report(Key(path, "source"), "the source %s has the trigger %q already, and each file would be in a run of both: delete one of them", quote(trigger.Value.Source), other)
		} else if trigger.Value.Source != "" {
			first[trigger.Value.Source] = trigger.Name
		}
		l.checkName(path, trigger.Name)
		l.checkTriggerSource(Key(path, "source"), p, trigger.Value)
		l.checkUpstream(path, p, trigger.Value)
		l.checkHTTPTrigger(path, trigger.Value)
		l.checkRowTrigger(path, trigger.Value)
		l.checkTriggerParams(path, p, trigger.Value)
	}
}

// refuse reports keys that are given and do not belong there.
func (l *loader) refuse(path string, given map[string]bool, message string) {
	for key, is := range given {
		if is {
			l.report(Key(path, key), "%s", message)
		}
	}
}

// checkUpstream reports a trigger that begins runs after those of its own pipeline, or that waits for what is complete.
func (l *loader) checkUpstream(path string, p *Pipeline, t ArrivalTrigger) {
	if t.After == nil {
		return
	}
	if at := Key(Key(path, "after"), "pipeline"); t.After.Pipeline == p.Name && p.Name != "" {
		l.report(at, "each run of %s would begin another one, without end: name another pipeline", quote(p.Name))
	}
	if t.HTTP != nil {
		l.report(Key(path, "after"), "what other services post comes from no pipeline: delete after, or http")
	}
	if t.Quiet != 0 {
		l.report(Key(path, "quiet"), "what a run published is complete: delete quiet, or after")
	}
}

// checkTriggerSource reports a source at which no files can arrive.
func (l *loader) checkTriggerSource(at string, p *Pipeline, t ArrivalTrigger) {
	name := t.Source
	if !l.sound(at) || name == "" {
		return
	}
	source, there := p.Sources.Get(name)
	if !there {
		l.report(at, "no source named %s%s", quote(name), suggestion(name, p.Sources.names()))
		return
	}
	path, known := source.filePath()
	switch {
	case t.HTTP != nil && source.Webhook == nil:
		l.report(at, "the source %s does not read what is posted: make it a webhook source, or delete http", quote(name))
	case t.HTTP != nil:
	case t.Rows != nil && source.Postgres == nil:
		l.report(at, "the source %s reads no table: make it a postgres source, or delete rows", quote(name))
	case t.Rows != nil && source.Postgres.Query != "":
		l.report(at, "the source %s reads a query, and rows arrive at a table: give it a table", quote(name))
	case t.Rows != nil:
	case source.Webhook != nil:
		l.report(at, "the source %s reads what other services post: add http: {verify: standard, secret: \"${secret:NAME}\"} to its trigger", quote(name))
	case !known:
		l.report(at, "the source %s reads a database, where no files arrive: add rows: {by: [COLUMN, KEY]} to the trigger, name a source that reads files, or use schedules", quote(name))
	case path == Stdio || Scheme(path) != "" && Scheme(path) != SchemeS3:
		l.report(at, "the source %s reads %s, where no files arrive: its path must be that of files, or s3://BUCKET/KEY, mostly with a pattern such as *.csv", quote(name), quote(path))
	}
}

// filePath returns the path of the files of a source, and whether it reads files.
func (s Source) filePath() (path string, known bool) {
	if s.Parquet != nil {
		return s.Parquet.Path, true
	}
	if _, files := s.files(""); files != nil {
		return files.Path, true
	}
	return "", false
}

// checkTriggerParams reports parameters that do not fit or have no value in the runs of a trigger, and one that cannot have the id of the run.
func (l *loader) checkTriggerParams(path string, p *Pipeline, t ArrivalTrigger) {
	param, declared := p.Params.Get(t.RunID)
	at := Key(path, "run_id")
	_, given := t.Params.Get(t.RunID)
	switch {
	case t.RunID == "" || !l.sound(at):
	case !declared:
		l.report(at, "no parameter named %s%s", quote(t.RunID), suggestion(t.RunID, p.Params.names()))
	case param.Type != "string":
		l.report(at, "the parameter %s is of type %s, and the id of a run is a string", quote(t.RunID), param.Type)
	case given:
		l.report(at, "the parameter %s has a value in params already: delete one of the two", quote(t.RunID))
	}
	has := func(name string) bool {
		_, given := t.Params.Get(name)
		return given || name == t.RunID
	}
	l.checkScheduleParams(path, t.Params, slices.DeleteFunc(l.required(), has))
	for _, param := range p.Params {
		if _, refers := l.slots[defaultPath(param.Name)]; refers && !has(param.Name) {
			l.report(path, "runs that a trigger begins are about no slot, to which the default of the parameter %q refers: add params: {%[1]s: VALUE}", param.Name)
		}
	}
}
