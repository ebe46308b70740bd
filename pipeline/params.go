package pipeline

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"waymark/pipeline/row"
)

// paramName is stricter than the names of nodes: an expression says param.NAME.
var paramName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// paramText is the text of a parameter as references see it; it is not ok if the parameter has no valid value.
type paramText struct {
	text string
	ok   bool
}

// resolveParams finds the values of the parameters before anything else is decoded, as any text may refer to them.
// Problems of the declarations are left to decode and checkParams, which come to them in their place.
func (l *loader) resolveParams(root *node) {
	l.doc.Params = map[string]row.Value{}
	declared := root.child("params", -1)
	if declared == nil {
		return
	}
	var params Map[Param]
	quiet := &loader{doc: &Document{}, noted: map[Reference]bool{}}
	quiet.decode("params", declared, reflect.ValueOf(&params).Elem(), fieldRule{})
	l.slots = quiet.slots
	for _, param := range params {
		text, given := l.paramText(param)
		value, err := parseParam(param.Value, text)
		if !given || err != nil {
			value = row.Value{} // expressions may name it nevertheless
		}
		l.params[param.Name] = paramText{text, given && err == nil}
		l.doc.Params[param.Name] = value
	}
}

// paramText returns the text that is in force, and false if there is none.
func (l *loader) paramText(param Named[Param]) (string, bool) {
	if text, given := l.env.Params[param.Name]; given {
		return text, true
	}
	if _, refers := l.slots[defaultPath(param.Name)]; refers || param.Value.Default == nil {
		return "", false
	}
	return *param.Value.Default, true
}

// errUnknownType stands for a type that decode has reported already.
var errUnknownType = errors.New("unknown type")

func parseParam(param Param, text string) (row.Value, error) {
	kind, ok := kindWords[param.Type]
	if !ok {
		return row.Value{}, errUnknownType
	}
	return row.Parse(kind, text)
}

// checkParams reports what is wrong with declarations, defaults and given values.
func (l *loader) checkParams() {
	for _, param := range l.doc.Pipeline.Params {
		l.checkParam(Key("params", param.Name), param)
	}
	for _, name := range slices.Sorted(maps.Keys(l.env.Params)) {
		if _, declared := l.params[name]; !declared {
			l.reportGiven(givenParam(name), "params", "no parameter named %s%s", quote(name), suggestion(name, l.doc.Pipeline.Params.names()))
		}
	}
}

// checkSlotless reports parameters that need a slot while the run names none. It comes after checkDocument: a slot would not cure a default that has
// another problem, and where a schedule has one, nobody can say which slots there are.
func (l *loader) checkSlotless() {
	for _, param := range l.slotless {
		path := defaultPath(param)
		if slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Path == path || strings.HasPrefix(p.Path, "schedules") }) {
			continue
		}
		if name := l.ungiven(path); name != "" {
			l.reportGiven(givenParam(param), path, "the parameter %q takes its value from ${slot:%s}, which no schedule of the document has: add for_each: {%[2]s: [VALUE]} to a schedule, or give the parameter", param, name)
			continue
		}
		l.reportGiven(NoSlot, path, "the parameter %q takes its value from a slot, and the run names none: give the parameter, or name a slot", param)
	}
}

// givenParam is where the value of a parameter is in the input of a run.
func givenParam(name string) string {
	return "/params/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (l *loader) checkParam(path string, param Named[Param]) {
	if !paramName.MatchString(param.Name) {
		l.report(path, "%s is not a name for a parameter: use a to z, 0 to 9 and _, at most 63 characters, a letter first", quote(param.Name))
	} else if SecretName(param.Name) {
		l.report(path, "%s looks like the name of a secret, and the values of parameters are recorded: write ${secret:NAME} where it is used; what is no secret takes another name", quote(param.Name))
	}
	_, refers := l.slots[Key(path, "default")]
	if text := param.Value.Default; text != nil && !refers {
		if _, err := parseParam(param.Value, *text); err != nil && !errors.Is(err, errUnknownType) {
			l.report(Key(path, "default"), "%s", err)
		}
	}
	text, given := l.env.Params[param.Name]
	switch {
	case given:
	case refers:
		l.slotless = append(l.slotless, param.Name)
	case l.doc.find(Key(path, "default")) == nil:
		l.reportGiven(givenParam(param.Name), path, "the parameter %q has no value: give one for the run, or declare a default", param.Name)
	}
	if given {
		if _, err := parseParam(param.Value, text); err != nil && !errors.Is(err, errUnknownType) {
			l.reportGiven(givenParam(param.Name), path, "the value given for the run: %s", err)
		}
	}
}
