package secrets

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Rule says who gets a secret that is not in the folder of one pipeline, and where it may go.
type Rule struct {
	Pipelines []string // whose documents may use it
	Endpoints []string // to which deliveries of events are signed with it
	Hosts     []string // HOST or HOST:PORT, in lower case; with none it goes nowhere, unless it is an address itself
}

// Rules are the rules of a server, by the names of secrets: the setting `secrets`. As a flag and in the environment
// they are YAML as well.
type Rules map[string]Rule

// example is what a rule looks like.
const example = "CRM: {pipelines: [orders], hosts: [db.example.com]}"

// Set reads rules, in place of those that were there.
func (r *Rules) Set(text string) error {
	tree, err := parser.ParseBytes([]byte(text), 0)
	if err != nil || len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return errors.New("write {" + example + "}")
	}
	mapping, ok := tree.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return errors.New("write {" + example + "}")
	}
	at, err := r.SetMapping(mapping)
	if err != nil {
		return fmt.Errorf("%d:%d: %w", at.Position.Line, at.Position.Column, err)
	}
	return nil
}

// SetMapping reads rules of a settings file, in place of those that were there.
func (r *Rules) SetMapping(mapping *ast.MappingNode) (*token.Token, error) {
	rules := Rules{}
	for _, pair := range mapping.Values {
		name := pair.Key.GetToken()
		if !secretName.MatchString(name.Value) {
			return name, fmt.Errorf("%q is not the name of a secret: it is made of letters, digits, _ and -",
				name.Value)
		}
		if _, twice := rules[name.Value]; twice {
			return name, fmt.Errorf("%s is here twice", name.Value)
		}
		rule, at, err := ruleOf(pair.Value)
		if err != nil {
			return at, fmt.Errorf("%s: %w", name.Value, err)
		}
		rules[name.Value] = rule
	}
	*r = rules
	return nil, nil
}

func ruleOf(node ast.Node) (rule Rule, at *token.Token, err error) {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return rule, node.GetToken(), errors.New("write pipelines and hosts, as in " + example)
	}
	for _, pair := range mapping.Values {
		key := pair.Key.GetToken()
		list, check := &rule.Pipelines, checkOwner
		switch key.Value {
		case "pipelines":
		case "endpoints":
			list = &rule.Endpoints
		case "hosts":
			list, check = &rule.Hosts, checkHost
		default:
			return rule, key, fmt.Errorf("unknown key %q: there are pipelines, endpoints and hosts", key.Value)
		}
		if *list != nil {
			return rule, key, fmt.Errorf("%s is here twice", key.Value)
		}
		if *list, at, err = textsOf(pair.Value, check); err != nil {
			return rule, at, fmt.Errorf("%s: %w", key.Value, err)
		}
	}
	if len(rule.Pipelines)+len(rule.Endpoints) == 0 {
		return rule, mapping.GetToken(), errors.New("it says for nobody: name pipelines or endpoints, as in " + example)
	}
	return rule, nil, nil
}

// textsOf returns the texts of a list, which is not empty.
func textsOf(node ast.Node, check func(string) error) (texts []string, at *token.Token, err error) {
	list, ok := node.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return nil, node.GetToken(), errors.New("write a list, as in " + example)
	}
	for _, item := range list.Values {
		text := ""
		switch item := item.(type) {
		case *ast.StringNode:
			text = item.Value
		case *ast.IntegerNode, *ast.FloatNode:
			text = item.GetToken().Value
		}
		if err := check(text); err != nil {
			return nil, item.GetToken(), err
		}
		if slices.Contains(texts, text) {
			return nil, item.GetToken(), fmt.Errorf("%s is here twice", text)
		}
		texts = append(texts, text)
	}
	return texts, nil, nil
}

// Names of secrets, which are names of files; and of pipelines and endpoints, which are names of folders.
var (
	secretName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	ownerName  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	hostName   = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)
)

func checkOwner(name string) error {
	if !ownerName.MatchString(name) {
		return fmt.Errorf("%q is not a name: write up to 63 of a to z, 0 to 9, _ and -, and no patterns", name)
	}
	return nil
}

func checkHost(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = text, "1"
	}
	_, number := netip.ParseAddr(host)
	n, bad := strconv.Atoi(port)
	if number != nil && !hostName.MatchString(host) || bad != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not a host: write db.example.com, db.example.com:5432 or an address, in lower "+
			"case, without a scheme, a path or patterns", text)
	}
	return nil
}

// String returns the rules as Set takes them.
func (r *Rules) String() string {
	if len(*r) == 0 {
		return ""
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(*r)) {
		texts = append(texts, name+": "+(*r)[name].String())
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// String returns the rule as a settings file has it.
func (r Rule) String() string {
	var texts []string
	for _, list := range []struct {
		key    string
		values []string
	}{{"pipelines", r.Pipelines}, {"endpoints", r.Endpoints}, {"hosts", r.Hosts}} {
		if len(list.values) == 0 {
			continue
		}
		texts = append(texts, list.key+": "+listed(list.values))
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// listed returns values as a settings file may have them.
func listed(values []string) string {
	values = slices.Clone(values)
	for i, value := range values {
		word := slices.Contains([]string{"true", "false", "null"}, value)
		if word || strings.ContainsAny(value, ":[") || !strings.ContainsFunc(value, notNumber) {
			values[i] = strconv.Quote(value)
		}
	}
	return "[" + strings.Join(values, ", ") + "]"
}

func notNumber(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '_' }

// Type names what the flag takes.
func (*Rules) Type() string { return "rules" }

// allows reports whether a rule names a place, HOST:PORT.
func (r Rule) allows(place string) bool {
	host, port, err := net.SplitHostPort(place)
	if err != nil {
		return false
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(r.Hosts, func(allowed string) bool {
		name, only, err := net.SplitHostPort(allowed)
		if err != nil {
			name, only = allowed, port
		}
		return sameHost(name, host) && only == port
	})
}

// sameHost compares names, or addresses by what they mean.
func sameHost(a, b string) bool {
	one, err := netip.ParseAddr(a)
	other, err2 := netip.ParseAddr(b)
	if err == nil && err2 == nil {
		return one == other
	}
	return a == b
}
