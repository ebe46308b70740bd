package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/landscape"
	"waymark/pipeline"
)

// Environment is an environment with its values.
type Environment struct {
	Name   string            `json:"environment"`
	Seq    int64             `json:"seq"`    // of the values: from 1; 0 if it never had any
	Values map[string]string `json:"values"` // empty, not nil, if it has none
	Actor  string            `json:"actor,omitempty"`
	Why    string            `json:"why,omitempty"`
	At     Time              `json:"at,omitempty"` // when it got them
}

// ValuesRequest says how to change the values of an environment. Its Why must not be empty.
type ValuesRequest struct {
	By
	Environment string
	Set         map[string]string
	Unset       []string // names of values that it has, or had
}

// EnvironmentChange says what became of a ValuesRequest.
type EnvironmentChange struct {
	Environment
	Changed bool `json:"changed"` // else it had these values already
}

// EnvironmentDiff says how the values of two environments differ.
type EnvironmentDiff struct {
	From    string           `json:"from"` // NAME#SEQ; NAME if it has no values
	To      string           `json:"to"`
	Changes []DocumentChange `json:"changes"` // by name; empty, not nil, if they have the same values
}

// SetEnvironment changes the values of an environment: runs that begin from then on have them. The error is an *Error of kind Invalid if a name or value
// cannot be one, or looks like a secret, for everybody who may read the record sees them; and if a value to be unset was never there.
func (c *Client) SetEnvironment(ctx context.Context, r ValuesRequest) (_ *EnvironmentChange, err error) {
	defer c.edge(ctx, &err)
	if err := r.giveWhy(); err != nil {
		return nil, err
	}
	if err := landscape.CheckEnvironment(r.Environment); err != nil {
		return nil, invalid(err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		if err := checkValue(name, r.Set[name]); err != nil {
			return nil, err
		}
	}
	if err := c.checkUnset(ctx, r); err != nil {
		return nil, err
	}
	by := r.or(c.Actor)
	order := landscape.Environment{Name: r.Environment, Actor: by.Actor, Why: by.Why}
	now, changed, err := c.log.SetEnvironment(ctx, order, r.Set, r.Unset)
	if err != nil {
		return nil, err
	}
	environment, err := environmentOf(now)
	return &EnvironmentChange{environment, changed}, err
}

// checkUnset refuses to take away what was never there.
func (c *Client) checkUnset(ctx context.Context, r ValuesRequest) error {
	last, err := c.log.LastEnvironment(ctx, r.Environment)
	if err != nil {
		return err
	}
	values, err := last.Values()
	for _, name := range r.Unset {
		if _, ok := values[name]; err == nil && !ok && !c.hadValue(ctx, r.Environment, name) {
			err = invalid(fmt.Sprintf("environment %s has no value %q%s", r.Environment, name, meant(name, slices.Sorted(maps.Keys(values)))))
		}
	}
	return err
}

// hadValue reports whether an environment ever had a value of this name.
func (c *Client) hadValue(ctx context.Context, environment, name string) bool {
	changes, err := c.log.EnvironmentChanges(ctx, environment)
	return err == nil && slices.ContainsFunc(changes, func(e landscape.Environment) bool {
		values, err := e.Values()
		_, ok := values[name]
		return err == nil && ok
	})
}

func meant(name string, names []string) string {
	if nearest := pipeline.Nearest(name, names); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return ""
}

// Environment returns an environment: NAME with the values that it has, or NAME#SEQ with those that it had. The error is an *Error of kind NotFound if
// there is none.
func (c *Client) Environment(ctx context.Context, word string) (e Environment, err error) {
	defer c.edge(ctx, &err)
	found, err := c.environment(ctx, word)
	if err != nil {
		return e, err
	}
	return environmentOf(found)
}

func (c *Client) environment(ctx context.Context, word string) (landscape.Environment, error) {
	name, number, old := strings.Cut(word, "#")
	if old {
		seq, err := strconv.ParseInt(number, 10, 64)
		if err != nil || seq < 1 {
			return landscape.Environment{}, invalid(fmt.Sprintf("%.100q names no environment: write NAME, or NAME#SEQ with a number from 1", word))
		}
		found, err := c.log.Environment(ctx, name, seq)
		if errors.Is(err, landscape.ErrNotFound) {
			err = noEnvironment(word, c.place, err)
		}
		return found, err
	}
	known, err := c.log.Environments(ctx)
	for _, e := range known {
		if e.Name == name {
			return e, nil
		}
	}
	if err == nil {
		err = noEnvironment(word, c.place, landscape.ErrNotFound)
	}
	return landscape.Environment{}, err
}

func noEnvironment(word, place string, err error) error {
	message := fmt.Sprintf("no environment %q has values or pipelines in %s", word, place)
	return &Error{Kind: NotFound, Code: EnvironmentNotFound, Message: message, Cure: ListEnvironments, Err: err}
}

// Environments returns the environments that have values, or in which a pipeline is deployed, by name; it is empty, not nil, if there is none.
func (c *Client) Environments(ctx context.Context) (list []Environment, err error) {
	defer c.edge(ctx, &err)
	known, err := c.log.Environments(ctx)
	list = make([]Environment, len(known))
	for i := range known {
		if list[i], err = environmentOf(known[i]); err != nil {
			return nil, err
		}
	}
	return list, err
}

// DiffEnvironments compares the values of two environments, each NAME or NAME#SEQ. The errors are those of Environment.
func (c *Client) DiffEnvironments(ctx context.Context, from, to string) (_ *EnvironmentDiff, err error) {
	defer c.edge(ctx, &err)
	before, err := c.environment(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := c.environment(ctx, to)
	if err != nil {
		return nil, err
	}
	was, err := before.Values()
	if err != nil {
		return nil, err
	}
	is, err := after.Values()
	diff := &EnvironmentDiff{From: before.Label(), To: after.Label(), Changes: []DocumentChange{}}
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, had := was[name]
		now, has := is[name]
		switch {
		case !had:
			diff.Changes = append(diff.Changes, DocumentChange{Path: name, Change: Added, After: now})
		case !has:
			diff.Changes = append(diff.Changes, DocumentChange{Path: name, Change: Removed, Before: old})
		case old != now:
			diff.Changes = append(diff.Changes, DocumentChange{Path: name, Change: Changed, Before: old, After: now})
		}
	}
	return diff, err
}

func environmentOf(e landscape.Environment) (Environment, error) {
	values, err := e.Values()
	return Environment{e.Name, e.Seq, values, e.Actor, e.Why, Time(e.At)}, err
}

// maxValueBytes bounds a value: what is longer belongs into a file.
const maxValueBytes = 4096

var valueName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkValue refuses what cannot be the name or value of an environment, and what looks like a secret.
func checkValue(name, value string) error {
	switch {
	case !valueName.MatchString(name):
		return invalid(fmt.Sprintf("%.64q cannot be the name of a value: write letters, digits and _, and no digit first", name))
	case pipeline.SecretName(name):
		return invalid(fmt.Sprintf("%s looks like the name of a secret, and everybody who reads the record would see its value: "+
			"write ${secret:%[1]s} in the document and give it to the workers; what is no secret takes another name", name))
	case pipeline.HoldsSecret(value):
		return invalid(fmt.Sprintf("the value of %s looks as if there was a secret in it, and everybody who reads the record would see it: "+
			"write ${secret:%[1]s} in the document and give it to the workers", name))
	case len(value) > maxValueBytes:
		return invalid(fmt.Sprintf("the value of %s has %d bytes: at most %d are a value", name, len(value), maxValueBytes))
	case !utf8.ValidString(value) || strings.Contains(value, "\x00"):
		return invalid(fmt.Sprintf("the value of %s is not a text: it has bytes that are not UTF-8, or a NUL", name))
	}
	return nil
}
