package retain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"waymark/landscape"
	"waymark/pipeline"
)

// Classes are all classes that a period can be given for, in the order in which people read them.
var Classes = []landscape.Class{landscape.SourceClass, landscape.DerivedClass, landscape.DebuggingClass}

// DefaultDebugging is how long events are kept if nothing is said of them.
const DefaultDebugging = 30 * 24 * time.Hour

// forever is the word for a class that a pipeline keeps, though others do not.
const forever = "forever"

// kept stands for forever in a Rules of Periods.
const kept time.Duration = -1

// Periods say how long what is deleted after a time is kept: by class, of all pipelines and of some. They are a flag,
// and a mapping of a settings file:
//
//	retention: {source: 90d, derived: 7d, debugging: 30d,
//	  pipelines: {orders: {source: 400d}, ledger: {source: forever}}}
//
// The zero value was not given: no payload is ever due.
type Periods struct {
	Given     bool
	All       Rules
	Pipelines map[string]Rules // by name; what is not in the Rules of one is as All says
}

// Type names the flag's value for people.
func (*Periods) Type() string { return "periods" }

// String returns the periods as a settings file may have them, and as they are recorded: JSON, in which keys are
// sorted. It is empty if none were given.
func (p *Periods) String() string {
	if !p.Given {
		return ""
	}
	members := map[string]any{}
	for class, text := range texts(p.All) {
		members[class] = text
	}
	if len(p.Pipelines) > 0 {
		pipelines := map[string]map[string]string{}
		for name, rules := range p.Pipelines {
			pipelines[name] = texts(rules)
		}
		members[pipelinesKey] = pipelines
	}
	text, _ := json.Marshal(members) // of words
	return string(text)
}

const pipelinesKey = "pipelines"

func texts(rules Rules) map[string]string {
	by := map[string]string{}
	for class, keep := range rules {
		by[string(class)] = lengthText(keep)
	}
	return by
}

// lengthText writes a period in whole days if it is of some.
func lengthText(keep time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case keep == kept:
		return forever
	case keep%day == 0:
		return fmt.Sprintf("%dd", keep/day)
	default:
		return keep.String()
	}
}

// Digest is the SHA-256 of the text, in hex.
func (p *Periods) Digest() string {
	sum := sha256.Sum256([]byte(p.String()))
	return hex.EncodeToString(sum[:])
}

// Set reads the periods of a text, as String writes it, or as one line of YAML.
func (p *Periods) Set(text string) error {
	tree, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) {
			err = errors.New(at.GetMessage())
		}
		return fmt.Errorf("%.200q: %w", text, err)
	}
	if len(tree.Docs) == 1 {
		if mapping, ok := tree.Docs[0].Body.(*ast.MappingNode); ok {
			_, err := p.SetMapping(mapping)
			return err
		}
	}
	return fmt.Errorf("%.200q: write classes with times, such as {source: 90d, derived: 7d, debugging: 30d}", text)
}

// SetMapping does what settings.Mapping says.
func (p *Periods) SetMapping(mapping *ast.MappingNode) (*token.Token, error) {
	read := Periods{Given: true, All: Rules{}, Pipelines: map[string]Rules{}}
	for _, pair := range mapping.Values {
		key := pair.Key.GetToken()
		if key.Value != pipelinesKey {
			if at, err := read.All.read(pair, pipelinesKey); err != nil {
				return at, err
			}
			continue
		}
		pipelines, ok := pair.Value.(*ast.MappingNode)
		if !ok || len(read.Pipelines) > 0 {
			return key, fmt.Errorf("%s: write names with classes, once, such as {orders: {source: 400d}}", pipelinesKey)
		}
		if at, err := read.readPipelines(pipelines); err != nil {
			return at, err
		}
	}
	*p = read
	return nil, nil //nolint:nilnil // there is no mistake, and so no place of one
}

func (p *Periods) readPipelines(pipelines *ast.MappingNode) (*token.Token, error) {
	for _, pair := range pipelines.Values {
		at := pair.Key.GetToken()
		name := at.Value
		if err := pipeline.CheckName(name); err != nil {
			return at, fmt.Errorf("%.64q cannot be a pipeline: %w", name, err)
		}
		if p.Pipelines[name] != nil {
			return at, fmt.Errorf("%q is here twice", name)
		}
		rules, ok := pair.Value.(*ast.MappingNode)
		if !ok {
			return at, fmt.Errorf("%s: write classes with times, such as {source: 400d}", name)
		}
		p.Pipelines[name] = Rules{}
		for _, rule := range rules.Values {
			if wrong, err := p.Pipelines[name].read(rule); err != nil {
				return wrong, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil, nil //nolint:nilnil // as above
}

// read adds the period of a class. Other words may be in its place too.
func (r Rules) read(pair *ast.MappingValueNode, others ...string) (*token.Token, error) {
	key, value := pair.Key.GetToken(), pair.Value.GetToken()
	class := landscape.Class(key.Value)
	if !slices.Contains(Classes, class) {
		words := make([]string, 0, len(Classes)+len(others))
		for _, known := range Classes {
			words = append(words, string(known))
		}
		words = append(words, others...)
		if nearest := pipeline.Nearest(key.Value, words); nearest != "" {
			return key, fmt.Errorf("unknown class %.64q (did you mean %q?)", key.Value, nearest)
		}
		return key, fmt.Errorf("unknown class %.64q (there are: %s)", key.Value, strings.Join(words, ", "))
	}
	if _, twice := r[class]; twice {
		return key, fmt.Errorf("%q is here twice", class)
	}
	if _, text := pair.Value.(ast.ScalarNode); !text || value.Value == "" {
		return value, fmt.Errorf("%s: write a time such as 90d, or forever", class)
	}
	if value.Value == forever {
		r[class] = kept
		return nil, nil //nolint:nilnil // as above
	}
	if err := r.Set(class, value.Value); err != nil {
		return value, fmt.Errorf("%s: %w", class, err)
	}
	return nil, nil //nolint:nilnil // as above
}

// period returns how long things of a class are kept of a pipeline; false if for ever.
func (p *Periods) period(name string, class landscape.Class) (time.Duration, bool) {
	keep, ok := p.said(name, class)
	if !ok && class == landscape.DebuggingClass {
		keep, ok = DefaultDebugging, true
	}
	return keep, ok && keep != kept
}

// keeps reports whether the periods say in so many words that things of a class are kept forever of a pipeline. Of a
// class of which they say nothing, a document may say how long a purge by hand has to leave it.
func (p *Periods) keeps(name string, class landscape.Class) bool {
	keep, ok := p.said(name, class)
	return ok && keep == kept
}

// said returns what the periods say of a class of a pipeline; false if nothing.
func (p *Periods) said(name string, class landscape.Class) (time.Duration, bool) {
	keep, ok := p.Pipelines[name][class]
	if !ok {
		keep, ok = p.All[class]
	}
	return keep, ok
}

// Of returns the rules for runs of a pipeline whose document says this of their retention: the longer time counts.
func (p *Periods) Of(name string, document map[landscape.Class]time.Duration) Rules {
	rules := Rules{}
	for _, class := range Classes {
		if keep, ends := p.period(name, class); ends {
			rules[class] = max(keep, document[class])
		}
	}
	return rules
}

// Admits refuses a document that would keep something for a shorter time than the periods say: it may only lengthen
// them.
func (p *Periods) Admits(document *pipeline.Document) error {
	var problems pipeline.Problems
	for _, class := range document.Pipeline.Retention.Classes() {
		name, given := document.Pipeline.Name, time.Duration(class.Value)
		keep, ends := p.period(name, landscape.Class(class.Name))
		switch {
		case !p.Given:
		case p.keeps(name, landscape.Class(class.Name)):
			problems = append(problems, document.Problem("retention."+class.Name,
				"%s is shorter than the settings say, which keep this forever and which a document can only lengthen: "+
					"leave it out", lengthText(given)))
		case ends && given < keep:
			problems = append(problems, document.Problem("retention."+class.Name,
				"%s is shorter than the %s of the settings, which a document can only lengthen: "+
					"write at least %[2]s, or leave it out", lengthText(given), lengthText(keep)))
		}
	}
	if problems == nil {
		return nil
	}
	return problems
}

// Shortens says in which words the periods are shorter than earlier ones, in order; nil if they keep everything at
// least as long. Earlier ones that were not given kept payloads for ever.
func (p *Periods) Shortens(earlier *Periods) (shorter []string) {
	names := map[string]bool{"": true}
	for name := range p.Pipelines {
		names[name] = true
	}
	for name := range earlier.Pipelines {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, class := range Classes {
			before, ended := earlier.period(name, class)
			now, ends := p.period(name, class)
			if !ends || ended && now >= before {
				continue
			}
			was := forever
			if ended {
				was = lengthText(before)
			}
			what := string(class)
			if name != "" {
				what = name + "." + what
			}
			shorter = append(shorter, fmt.Sprintf("%s: %s, %s before", what, lengthText(now), was))
		}
	}
	return shorter
}

// Told says the periods for people, such as source 90d, derived 7d; orders: source 400d.
func (p *Periods) Told() string {
	parts := []string{told(p.All)}
	for _, name := range slices.Sorted(maps.Keys(p.Pipelines)) {
		parts = append(parts, name+": "+told(p.Pipelines[name]))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func told(rules Rules) string {
	var parts []string
	for _, class := range Classes {
		if keep, ok := rules[class]; ok {
			parts = append(parts, string(class)+" "+lengthText(keep))
		}
	}
	return strings.Join(parts, ", ")
}

// ReadPeriods reads recorded periods; of nil they are those that were not given.
func ReadPeriods(r *landscape.RetentionPeriods) (*Periods, error) {
	p := &Periods{}
	if r == nil {
		return p, nil
	}
	if err := p.Set(r.Text); err != nil {
		return nil, fmt.Errorf("retention periods %d: %w", r.Seq, err)
	}
	return p, nil
}
