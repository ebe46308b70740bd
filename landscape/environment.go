package landscape

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Environment is the values that an environment has for what documents refer to, until the next one. They are no secrets: everybody who may read
// the record sees them.
type Environment struct {
	Name  string `db:"environment,key"`
	Seq   int64  `db:"seq,key"` // from 1; set by Log
	Vars  string `db:"vars"`    // JSON object: name to value, all of them
	Actor string `db:"actor"`
	Why   string `db:"why"`
	At    Micros `db:"at_us"` // set by Log
}

// Table returns environments.
func (Environment) Table() string { return "environments" }

// Values returns the values by name; it is empty, not nil, if there is none.
func (e Environment) Values() (map[string]string, error) {
	values := map[string]string{}
	if e.Vars == "" {
		return values, nil
	}
	if err := json.Unmarshal([]byte(e.Vars), &values); err != nil {
		return nil, fmt.Errorf("%s: the values on record: %w", e, err)
	}
	return values, nil
}

// String names the values, such as prod#12; "" if the environment has none.
func (e Environment) String() string {
	if e.Seq == 0 {
		return ""
	}
	return fmt.Sprintf("%s#%d", e.Name, e.Seq)
}

// Label names the environment if it has no values, and else those.
func (e Environment) Label() string { return cmp.Or(e.String(), e.Name) }

// SetEnvironment gives an environment values, and takes those away that unset names. by has the Name, Actor and Why. It returns the values that the
// environment has by then, and whether that are others than before: if not, nothing is recorded.
func (l *Log) SetEnvironment(ctx context.Context, by Environment, set map[string]string, unset []string) (now Environment, changed bool, err error) {
	err = settle(by.Table(), func() error {
		last, err := l.LastEnvironment(ctx, by.Name)
		if err != nil {
			return err
		}
		before, err := last.Values()
		if err != nil {
			return err
		}
		values := maps.Clone(before)
		maps.Copy(values, set)
		maps.DeleteFunc(values, func(name, _ string) bool { return slices.Contains(unset, name) })
		if changed = !maps.Equal(values, before); !changed {
			now = last
			return nil
		}
		text, err := json.Marshal(values)
		if err != nil {
			return err
		}
		now = by
		now.Seq, now.Vars, now.At = last.Seq+1, string(text), l.now()
		return l.plain.Commit(ctx, Tx{Insert: []Record{now}})
	})
	if err != nil {
		return Environment{}, false, fmt.Errorf("environment %s: %w", by.Name, err)
	}
	return now, changed, nil
}

// LastEnvironment returns the values that an environment has; one without any has the Seq 0.
func (r *Reader) LastEnvironment(ctx context.Context, name string) (Environment, error) {
	last, err := lastOf[Environment](ctx, r.from, name)
	if err != nil || last == nil {
		return Environment{Name: name}, err
	}
	return *last, nil
}

// Environment returns the values that an environment had: the seq-th. With the seq 0 it returns that there are none. The error wraps ErrNotFound if
// there were no such.
func (r *Reader) Environment(ctx context.Context, name string, seq int64) (Environment, error) {
	if seq == 0 {
		return Environment{Name: name}, nil
	}
	return get[Environment](ctx, r.from, name, seq)
}

// EnvironmentChanges returns what values an environment had, the first first; nil if it never had any.
func (r *Reader) EnvironmentChanges(ctx context.Context, name string) ([]Environment, error) {
	return Select[Environment](ctx, r.from, name)
}

// Environments returns the values of every environment that has some, or in which a pipeline is deployed, by name; nil if there is none.
func (r *Reader) Environments(ctx context.Context) ([]Environment, error) {
	last := map[string]Environment{}
	deployed := each(ctx, r.from, nil, func(d Deployment) bool {
		last[d.Environment] = Environment{Name: d.Environment}
		return true
	})
	valued := each(ctx, r.from, nil, func(e Environment) bool {
		last[e.Name] = e
		return true
	})
	if err := errors.Join(deployed, valued); err != nil {
		return nil, err
	}
	var list []Environment
	for _, name := range slices.Sorted(maps.Keys(last)) {
		list = append(list, last[name])
	}
	return list, nil
}
