package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/pflag"

	"waymark/pipeline"
)

// Mapping is the value of a flag that a settings file has as a mapping. On the command line and in the environment it
// is one text.
type Mapping interface {
	pflag.Value
	// SetMapping sets the value to what a mapping says. The error is about what is at the token.
	SetMapping(mapping *ast.MappingNode) (at *token.Token, err error)
}

// setting is one value of a settings file, with its place.
type setting struct {
	file    string
	place   string // file:line:column
	values  []string
	mapping *ast.MappingNode // in the place of values; nil if it is none
}

func (s setting) apply(flag *pflag.Flag) error {
	if s.mapping != nil {
		value, ok := flag.Value.(Mapping)
		if !ok {
			return fmt.Errorf("%s: %s expects a text, true or false, or a list of texts", s.place, flag.Name)
		}
		if at, err := value.SetMapping(s.mapping); err != nil {
			return fmt.Errorf("%s: %s: %w", place(s.file, at), flag.Name, err)
		}
		return nil
	}
	if err := assign(flag, s.values); err != nil {
		return fmt.Errorf("%s: %w", s.place, err)
	}
	return nil
}

// parse reads a settings file: a YAML mapping of the known names to a text, a bool, a list of texts, or the mapping
// that some of them have. Anything else is an error that names its place.
func parse(file string, data []byte, known []string) (map[string]setting, error) {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	settings := map[string]setting{}
	for _, document := range tree.Docs {
		if document.Body == nil {
			continue
		}
		mapping, ok := document.Body.(*ast.MappingNode)
		if !ok {
			return nil, fmt.Errorf("%s: expects keys with values, one for each option", place(file, document.Body.GetToken()))
		}
		for _, pair := range mapping.Values {
			if err := addSetting(settings, file, pair, known); err != nil {
				return nil, err
			}
		}
	}
	return settings, nil
}

// syntaxError puts the place before what the YAML library says.
func syntaxError(file string, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fmt.Errorf("%s: %s", place(file, at.GetToken()), at.GetMessage())
	}
	return fmt.Errorf("%s: %w", file, err)
}

func addSetting(settings map[string]setting, file string, pair *ast.MappingValueNode, known []string) error {
	key := pair.Key.GetToken()
	at := place(file, key)
	if !slices.Contains(known, key.Value) {
		return fmt.Errorf("%s: unknown setting %q%s", at, key.Value, meant(key.Value, known))
	}
	if _, twice := settings[key.Value]; twice {
		return fmt.Errorf("%s: %q is here twice", at, key.Value)
	}
	mapping, _ := pair.Value.(*ast.MappingNode)
	values, ok := texts(pair.Value)
	if !ok && mapping == nil {
		return fmt.Errorf("%s: %s expects a text, true or false, or a list of texts", at, key.Value)
	}
	settings[key.Value] = setting{file, at, values, mapping}
	return nil
}

// texts returns the text of a scalar, or the texts of a list of scalars.
func texts(node ast.Node) ([]string, bool) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		text, ok := scalar(node)
		return []string{text}, ok
	}
	values := []string{}
	for _, item := range list.Values {
		text, ok := scalar(item)
		if !ok {
			return nil, false
		}
		values = append(values, text)
	}
	return values, true
}

func scalar(node ast.Node) (string, bool) {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return node.GetToken().Value, true
	}
	return "", false
}

func place(file string, at *token.Token) string {
	return fmt.Sprintf("%s:%d:%d", file, at.Position.Line, at.Position.Column)
}

// meant returns ` (did you mean "state"?)` for the nearest of the words, or all of them.
func meant(word string, words []string) string {
	if nearest := pipeline.Nearest(word, words); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return " (there are: " + strings.Join(words, ", ") + ")"
}
