// Package attributes has the search attributes by which people find runs in Temporal: what they are called, of which types they are, and
// which of them a namespace has. A namespace need have none of them.
package attributes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
)

// The search attributes of a run. They are in the namespaces of clusters and in people's queries; never rename.
const (
	Pipeline    = "WaymarkPipeline"
	Status      = "WaymarkStatus" // a pipeline.RunStatus, Paused or Refused
	Trigger     = "WaymarkTrigger"
	Environment = "WaymarkEnvironment"
	Tags        = "WaymarkTags" // WORD:VALUE each
	RowsRead    = "WaymarkRowsRead"
	RowsRefused = "WaymarkRowsRefused"
	Slot        = "WaymarkSlot"
)

// Values of Status that are not the status of a recorded run.
const (
	Paused  = "paused"
	Refused = "refused" // no run came of the start
)

// The words with which Tags begin.
const (
	TagVersion  = "version:"  // of the deployed pipeline
	TagDocument = "document:" // SHA-256 of the pipeline document, in hexadecimal
	TagActor    = "actor:"    // who started the run
	TagRun      = "run:"      // its id
)

// Types returns the type of each of the attributes, by name.
func Types() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		Pipeline: enums.INDEXED_VALUE_TYPE_KEYWORD, Status: enums.INDEXED_VALUE_TYPE_KEYWORD,
		Trigger: enums.INDEXED_VALUE_TYPE_KEYWORD, Environment: enums.INDEXED_VALUE_TYPE_KEYWORD,
		Tags:     enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		RowsRead: enums.INDEXED_VALUE_TYPE_INT, RowsRefused: enums.INDEXED_VALUE_TYPE_INT,
		Slot: enums.INDEXED_VALUE_TYPE_DATETIME,
	}
}

// Fault is an attribute that a namespace does not have as it should be.
type Fault struct {
	Name  string
	Wants enums.IndexedValueType
	Has   enums.IndexedValueType // unspecified if the attribute is absent
}

// Error names the attribute, and what is wrong with it.
func (f Fault) Error() string {
	if f.Absent() {
		return fmt.Sprintf("%s (%s) is absent", f.Name, f.Wants)
	}
	return fmt.Sprintf("%s is of the type %s, and not %s", f.Name, f.Has, f.Wants)
}

// Absent reports whether the namespace has no attribute of the name, not even one of another type.
func (f Fault) Absent() bool { return f.Has == enums.INDEXED_VALUE_TYPE_UNSPECIFIED }

// Commands are those of Temporal's own tool that give a namespace the attributes: one that removes those of other types, if there are any,
// and one that registers all.
func Commands(namespace string, faults []Fault) (commands []string) {
	remove, create := "", ""
	for _, f := range faults {
		if !f.Absent() {
			remove += " --name " + f.Name
		}
		create += fmt.Sprintf(" --name %s --type %s", f.Name, f.Wants)
	}
	if remove != "" {
		commands = append(commands, "temporal operator search-attribute remove --namespace "+namespace+remove)
	}
	if create != "" {
		commands = append(commands, "temporal operator search-attribute create --namespace "+namespace+create)
	}
	return commands
}

// Look asks for the attributes of a namespace. It returns those that runs can be given, and what is wrong with the others, both ordered by
// name.
func Look(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string) (usable []string, faults []Fault, err error) {
	answer, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, nil, err
	}
	wanted, has := Types(), answer.GetCustomAttributes()
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if has[name] == wanted[name] {
			usable = append(usable, name)
		} else {
			faults = append(faults, Fault{Name: name, Wants: wanted[name], Has: has[name]})
		}
	}
	return usable, faults, nil
}

// Register registers the attributes that are absent, one by one: where a namespace has no room for more of one type, it may have some for
// another. The error says which could not be registered, and why. An attribute of another type stays as it is.
func Register(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string) error {
	_, faults, err := Look(ctx, operator, namespace)
	for _, f := range faults {
		if !f.Absent() {
			continue
		}
		_, failed := operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: map[string]enums.IndexedValueType{f.Name: f.Wants},
		})
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", f.Name, failed))
		}
	}
	return err
}

// maxValueBytes bounds a value. Databases of Temporal keep 255 characters, and a workflow with a value of more than 2 KiB is terminated.
const maxValueBytes = 200

// Value returns a text as Temporal can keep it: without control characters, and not too long.
func Value(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > maxValueBytes {
		text = strings.ToValidUTF8(text[:maxValueBytes], "")
	}
	return text
}
