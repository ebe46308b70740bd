package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/pipeline"
)

// People write inputs by hand. What is wrong with one is found while it is decoded and said by the workflow, as the
// reason for which it fails: an error of the decoding would not be told in words everywhere.

// faults is what is wrong with an object that somebody wrote.
type faults struct {
	values []fault  // that are not what their keys want
	keys   []fault  // that mean nothing
	empty  []string // paths of the keys that have an empty text
}

// more notes that there is a second input, as with --input twice: who gives one means something by it, and Temporal's SDK drops what a
// function has no place for.
func (f *faults) more(second converter.RawValue) {
	if second.Payload() != nil {
		f.values = append(f.values, fault{"", codeInvalid, "there is a second input: write one object with all keys"})
	}
}

// fault is one thing that is wrong.
type fault struct {
	pointer string // JSON Pointer
	code    string
	text    string
}

// Codes of faults. Programs read them; never rename one.
const (
	codeType      = "wrong_type"
	codeUnknown   = "unknown_key"
	codeDuplicate = "duplicate_key"
	codeMissing   = "missing"
	codeInvalid   = "invalid"
)

// at returns the JSON Pointer of a path such as retry.beside; one of the whole object is empty.
func at(path string) (pointer string) {
	if path == "" {
		return ""
	}
	for key := range strings.SplitSeq(path, ".") {
		pointer += activities.Pointer(key)
	}
	return pointer
}

// form is what people may write.
type form struct {
	name, example string
	keys          string // the others are written by commands
}

var (
	inputForm   = form{"input", `{"pipeline": "NAME"}`, "pipeline, environment, params, for, schedule, run, key, why, files"}
	commandForm = form{"order", `{"actor": "NAME", "why": "TEXT"}`, "actor, why, and for cancel as and final"}
)

// maxInputBytes bounds an input. Temporal takes 2 MiB, and the input travels on with the reason why it is refused:
// where that is too much, Temporal terminates the workflow, and no one learns why.
const maxInputBytes = 1 << 20

// UnmarshalJSON reads an input. It keeps what is wrong with the input of a run that is to begin, and gives errors only
// for what a run handed on to itself.
func (in *RunInput) UnmarshalJSON(text []byte) error {
	type plain RunInput
	var handed struct {
		State *json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(text, &handed); err == nil && handed.State != nil {
		return json.Unmarshal(text, (*plain)(in)) // a newer worker may have written it, with keys that this one does not know
	}
	*in = RunInput{}
	if len(text) > maxInputBytes {
		says := fmt.Sprintf("the input has %d bytes: write at most %d, and put data into files",
			len(text), maxInputBytes)
		in.faults.values = []fault{{"", codeInvalid, says}}
		return nil
	}
	return in.faults.read(inputForm, "", text, reflect.ValueOf(in).Elem())
}

// read reads the object into a struct and notes what is wrong with it. path is that of the object in what was written.
func (f *faults) read(as form, path string, text []byte, into reflect.Value) error {
	keys := json.NewDecoder(bytes.NewReader(text))
	switch begin, err := keys.Token(); {
	case err != nil:
		return err
	case begin == nil: // null is nothing
		return nil
	case begin != json.Delim('{') && path == "":
		f.values = append(f.values, fault{"", codeType, fmt.Sprintf("the %s is no object: write %s", as.name, as.example)})
		return nil
	case begin != json.Delim('{'):
		f.values = append(f.values, fault{at(path), codeType, fmt.Sprintf("the %s's %s is no object", as.name, path)})
		return nil
	}
	fields, given := fieldsOf(into.Type()), map[string]bool{}
	for keys.More() {
		key, err := keys.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := keys.Decode(&value); err != nil {
			return err
		}
		name, _ := key.(string)
		if given[name] {
			f.keys = append(f.keys, fault{at(path) + activities.Pointer(name), codeDuplicate, fmt.Sprintf("the %s has %s twice", as.name, pathOf(path, name))})
		}
		given[name] = true
		if err := f.readKey(as, path, name, value, into, fields); err != nil {
			return err
		}
	}
	return nil
}

// readKey reads the value of a key of the object at path.
func (f *faults) readKey(as form, above, name string, value []byte, into reflect.Value, fields []field) error {
	path := pathOf(above, name)
	for _, known := range fields {
		if known.key != name {
			continue
		}
		place := into.FieldByIndex(known.index)
		if place.Kind() == reflect.Pointer && place.Type().Elem().Kind() == reflect.Struct && string(value) != "null" {
			place.Set(reflect.New(place.Type().Elem()))
			return f.read(as, path, value, place.Elem())
		}
		if err := json.Unmarshal(value, place.Addr().Interface()); err != nil {
			f.values = append(f.values, fault{at(path), codeType, as.misfit(path, err)})
		}
		if string(value) == `""` {
			f.empty = append(f.empty, path)
		}
		return nil
	}
	f.keys = append(f.keys, fault{at(above) + activities.Pointer(name), codeUnknown, fmt.Sprintf("the %s has the unknown key %.64q%s", as.name, path, as.known(name, fields))})
	return nil
}

// A field is what a key is read into.
type field struct {
	key   string
	index []int
}

// fieldsOf returns the fields of a struct that have keys.
func fieldsOf(of reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(of) {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && key != "-" {
			fields = append(fields, field{key, f.Index})
		}
	}
	return fields
}

func pathOf(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// known says what an unknown key may have been meant to be.
func (as form) known(name string, fields []field) string {
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	if nearest := pipeline.Nearest(name, keys); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return "; it may have " + as.keys
}

// misfit says that a value is not what its key wants. The value itself is not repeated.
func (as form) misfit(path string, err error) string {
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return fmt.Sprintf("the %s's %.64s: %v", as.name, path, err)
	}
	if mismatch.Field != "" {
		path += "." + mismatch.Field
	}
	word, _, _ := strings.Cut(mismatch.Value, " ") // numbers are told with their digits
	return fmt.Sprintf("the %s's %.64s must be %s, and is of the type %s", as.name, path, wanted(mismatch.Type), word)
}

func wanted(of reflect.Type) string {
	switch of.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a whole number"
	}
}

// validate returns why a run does not begin with the input; nil if it does. It comes before everything else, so that
// nothing is written or recorded for a run that is rejected.
func (in *RunInput) validate(ctx workflow.Context) error {
	if in.State != nil {
		return in.validateState(ctx)
	}
	if len(in.faults.values) > 0 {
		return invalid(slices.Concat(in.faults.values, in.faults.keys))
	}
	wrong := slices.Concat(
		in.faults.keys, in.emptied(), in.overlong(), in.misnamed(), in.miskeyed(), in.misplaced(ctx))
	if len(wrong) == 0 {
		return nil
	}
	return invalid(wrong)
}

// validateState rejects a state that no execution handed on. One that was handed on to an earlier attempt, or to
// another time of a cron schedule, is dropped: the record says how far the run is now.
func (in *RunInput) validateState(ctx workflow.Context) error {
	info := workflow.GetInfo(ctx)
	handed := info.ContinuedExecutionRunID != ""
	if err := in.State.Check(); handed && err != nil {
		says := "the input has a state that no run handed on to itself: " + err.Error()
		return invalid([]fault{{"/state", codeInvalid, says}})
	}
	if handed && info.Attempt <= 1 && info.CronSchedule == "" {
		return nil
	}
	if !handed {
		return invalid([]fault{{"/state", codeInvalid, "the input has a state, which only a run hands on to itself when its history gets long: it was copied from one; " +
			"waymark resume continues with a run, and the input without state and run begins another one"}})
	}
	in.State = nil
	return nil
}

// misplaced says that a run is not to be resumed by a workflow of this name: beside that of the run it would be a
// second one.
func (in *RunInput) misplaced(ctx workflow.Context) []fault {
	if id := WorkflowID(in.Run); in.Resume != nil && in.Run != "" && workflow.GetInfo(ctx).WorkflowExecution.ID != id {
		return []fault{{"/resume", codeInvalid, fmt.Sprintf("the input's resume is for the workflow %s, and this is another one: waymark resume continues with a run", id)}}
	}
	return nil
}

// named are the keys of an input that name something. A program whose variable is empty by mistake means none of what
// happens without them: an empty key would begin a run for each start.
var named = []string{"pipeline", "environment", "run", "for", "schedule", "key"}

// emptied says which names of the input are empty.
func (in *RunInput) emptied() (wrong []fault) {
	for _, key := range in.faults.empty {
		if slices.Contains(named, key) {
			wrong = append(wrong, fault{at(key), codeInvalid, fmt.Sprintf("the input's %s is empty: give it a value, or leave it out", key)})
		}
	}
	return wrong
}

// maxNameBytes bounds what names something, and maxWhyBytes what says why.
const (
	maxNameBytes = 4 << 10
	maxWhyBytes  = 64 << 10
)

// overlong says which words of the input are longer than anything that they could mean.
func (in *RunInput) overlong() (wrong []fault) {
	for _, word := range []struct {
		key, value string
		most       int
	}{
		{"pipeline", in.Pipeline, maxNameBytes},
		{"environment", in.Environment, maxNameBytes},
		{"for", in.For, maxNameBytes},
		{"schedule", in.ScheduleName, maxNameBytes},
		{"document", in.Document, maxNameBytes},
		{"file", in.File, maxNameBytes},
		{"folder", in.Folder, maxNameBytes},
		{"parent", in.Parent, maxNameBytes},
		{"link", in.Link, maxNameBytes},
		{"why", in.Why, maxWhyBytes},
	} {
		if len(word.value) > word.most {
			says := fmt.Sprintf("the input's %s has %d bytes: write at most %d", word.key, len(word.value), word.most)
			wrong = append(wrong, fault{at(word.key), codeInvalid, says})
		}
	}
	return wrong
}

// maxFilesBytes bounds the name of files. Temporal takes names of queues up to 1000 bytes, and no run would ever get on
// with a longer one.
const maxFilesBytes = 255

// misnamed says what is wrong with the words of the input that will be parts of names. A run that is resumed has its
// id.
func (in *RunInput) misnamed() (wrong []fault) {
	switch {
	case in.Resume != nil && in.Run == "":
		wrong = append(wrong, fault{"/run", codeMissing, "the input says resume, and not which run"})
	case in.Resume == nil && in.Run != "":
		if err := pipeline.CheckRunID(in.Run); err != nil {
			wrong = append(wrong, fault{"/run", codeInvalid, "the input's run: " + err.Error()})
		}
	}
	if in.Resume != nil && len(in.Resume.Files) > maxFilesBytes {
		says := fmt.Sprintf("the input's resume.files: %.64q cannot be the name of any", in.Resume.Files)
		wrong = append(wrong, fault{"/resume/files", codeInvalid, says})
	}
	if len(in.Files) > maxFilesBytes || strings.ContainsFunc(in.Files, unicode.IsControl) {
		wrong = append(wrong, fault{"/files", codeInvalid, fmt.Sprintf("the input's files: %.64q cannot be the name of any: it is part of the name of a queue", in.Files)})
	}
	if in.Retry != nil && in.Retry.Beside != "" && pipeline.CheckRunID(in.Retry.Beside) != nil {
		wrong = append(wrong, fault{"/retry/beside", codeInvalid, fmt.Sprintf("the input's retry.beside: %.64q cannot be part of the names of outputs", in.Retry.Beside)})
	}
	return wrong
}

// maxFaults is how many faults of an input are told.
const maxFaults = 5

// invalid is the error about an input that no retry cures.
func invalid(wrong []fault) error { return faulty(activities.TypeInput, wrong) }

// faulty is the error of a type about what somebody wrote.
func faulty(kind string, wrong []fault) error {
	var texts []string
	var errs []activities.ProblemError
	for i, f := range wrong {
		if i < maxFaults {
			texts = append(texts, f.text)
		}
		errs = append(errs, activities.ProblemError{Pointer: f.pointer, Code: f.code, Detail: f.text})
	}
	if len(wrong) > maxFaults {
		texts = append(texts, fmt.Sprintf("and %d more faults", len(wrong)-maxFaults))
	}
	message := strings.Join(texts, "; ")
	return temporal.NewNonRetryableApplicationError(message, kind, nil, activities.ProblemOf(kind, message, errs...))
}
