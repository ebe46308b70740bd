package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/token"

	"waymark/pipeline/row"
)

// Environment is what the world outside of a document contributes to it.
type Environment struct {
	// Params are the texts of the parameters that were given for this run.
	Params map[string]string
	// Values are those of the environment in which the document is deployed, by name. They come before the variables of Env, which needs no
	// permission then, and everybody may see them. ValuesOf names them for the record, such as prod#12, or the environment if it has none; it is
	// empty for a document that is deployed in none.
	Values   map[string]string
	ValuesOf string
	// Env returns the environment variable and whether it is set. Nil means that none is set.
	Env func(name string) (string, bool)
	// MayRead reports whether the document may have the environment variable. Nil means that it may have all.
	MayRead func(name string) bool
	// Secret returns the value that a secret has for the pipeline. Its error names the cure and never holds a value.
	// Nil means that there is none.
	Secret func(pipeline, name string) (string, error)
	// FingerprintKey is the key of the fingerprints of environment values and secrets. It may be empty only if the
	// document refers to neither.
	FingerprintKey []byte
}

// Load reads a document strictly: UTF-8 YAML of at most 1 MiB, one document, no anchors, tags, merge keys or tabs, only
// known keys, and no value that another YAML reader could take for something else. The error is Problems and holds every
// problem that could be found; file is the name in them. Texts of the document may hold references:
//
//	${NAME}          the value of the environment, or else the environment variable
//	${secret:NAME}   the secret
//	${param:NAME}    the text of the parameter; as a whole value it may also fill a number or a bool
//	${slot:date}     in defaults of parameters alone: the slot that the run is about, for LoadTimetable
//	$${              a literal ${
//
// They are replaced after the YAML is read, in single texts, and never in keys, names or expressions. A value that comes
// in by a reference is never read as YAML and never looked through for references. Load checks what can be known from the
// document alone; package plan checks the graph and the expressions.
//
// With problems the document is returned as well if its text is YAML and the problems are few enough to be shown: as far
// as it could be read, with the problems in it. It serves plan.Compile, which finds what else is wrong, and nothing else.
//
// Load does not keep data. It never panics, and its time and memory are bounded for any data.
func Load(file string, data []byte, env Environment) (*Document, error) {
	doc := &Document{File: file, Source: bytes.Clone(data), Digest: digest(data)}
	l := &loader{env: env, doc: doc, params: map[string]paramText{}, noted: map[Reference]bool{}}
	root := l.parse()
	if root == nil {
		return nil, l.sorted()
	}
	l.doc.root = root
	l.resolveParams(root)
	l.decode("", root, reflect.ValueOf(&l.doc.Pipeline).Elem(), fieldRule{})
	l.checkParams()
	l.checkDocument()
	l.checkSlotless()
	switch {
	case l.dropped > 0:
		return nil, l.sorted()
	case len(l.problems) > 0:
		l.doc.Problems = l.sorted()
		return l.doc, l.doc.Problems
	}
	return l.doc, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// loader holds what one call of Load has found so far.
type loader struct {
	env      Environment
	doc      *Document
	sends    bool                 // the text that is expanded goes to a host: a secret may be in it
	form     string               // what a text must be that is no mapping; empty for a document
	params   map[string]paramText // every declared parameter
	slots    map[string][]span    // by path, the defaults that refer to a slot
	slotless []string             // parameters without a value, whose defaults refer to a slot
	misfits  map[string]bool      // the paths of those that were reported because they do not fit their parameters
	noted    map[Reference]bool   // what is in doc.References, without fingerprints
	expanded int                  // bytes that references brought in
	problems Problems
	dropped  int // problems beyond maxProblems
}

// maxProblems is how many problems are kept: nobody reads more, and hostile text could make millions.
const maxProblems = 200

// report notes a problem at the path.
func (l *loader) report(path, format string, args ...any) {
	if l.room() {
		l.problems = append(l.problems, l.doc.Problem(path, format, args...))
	}
}

// reportGiven notes a problem of what was given for the run: input is where that is in its input.
func (l *loader) reportGiven(input, path, format string, args ...any) {
	if l.room() {
		problem := l.doc.Problem(path, format, args...)
		problem.Input = input
		l.problems = append(l.problems, problem)
	}
}

// reportAt notes a problem at a place of its own, about nothing that came in by a reference.
func (l *loader) reportAt(line, column int, path, format string, args ...any) {
	if l.room() {
		problem := Problem{File: l.doc.File, Line: max(line, 1), Column: max(column, 1), Path: path, Message: fmt.Sprintf(format, args...)}
		l.problems = append(l.problems, problem)
	}
}

func (l *loader) reportToken(at *token.Token, path, format string, args ...any) {
	l.reportAt(at.Position.Line, at.Position.Column, path, format, args...)
}

// room reports whether one more problem is kept, and counts it if not.
func (l *loader) room() bool {
	if len(l.problems) < maxProblems {
		return true
	}
	l.dropped++
	return false
}

func (l *loader) sorted() Problems {
	l.problems.Sort()
	return l.problems.withDropped(l.dropped)
}

// Document is a pipeline document as Load read it.
//
// Pipeline and Params hold the values in force: Pipeline with the values of secrets in it, so it must not be stored or
// printed. Source, References and Params may be. A Document is safe for concurrent use as long as nobody changes it.
type Document struct {
	File       string               // as given to Load
	Source     []byte               // the document as read, with its references unreplaced
	Digest     string               // SHA-256 of Source, 64 lower-case hex digits
	Pipeline   Pipeline             // the document with its references replaced
	Params     map[string]row.Value // every declared parameter; given for the run, or the default; null after a problem with it
	References []Reference          // what the document refers to, each once, in the order of the document's keys
	Problems   Problems             // nil for a document that may be run

	root     *node
	hidden   []hiddenValue // values of minRedacted bytes and more
	hiddenAt []hiddenAt    // shorter ones, with every place

	secretsAt []hiddenAt           // every secret, with every place
	expanded  map[string]expansion // by path, of texts with references

	unknownKeys []string // paths of mappings that have some
	unresolved  []string // paths of texts with references to parameters that have no valid value, no more than maxProblems
	varies      []string // paths of texts that refer to a parameter
}
