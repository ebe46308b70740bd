package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// RetiredError says that a pipeline is retired: until somebody restores it, no run of it starts in the environment, and no version becomes current.
type RetiredError struct {
	Deployment // by which it was retired
}

// Error says who retired it, when and why.
func (e *RetiredError) Error() string {
	return fmt.Sprintf("pipeline %s is retired in %s since %s by %s: %s", e.Pipeline, e.Environment, e.At.Time().UTC().Format(time.DateTime+"Z"), e.Actor, e.Why)
}

// VersionError says that a version of a pipeline does not exist, or was never current in an environment. It wraps ErrNotFound.
type VersionError struct {
	Pipeline    string
	Version     int64
	Exists      bool
	Environment string
	Current     int64 // the version that is current there
}

// Error names the version that is current.
func (e *VersionError) Error() string {
	if !e.Exists {
		return fmt.Sprintf("pipeline %s has no version %d; its current one is %d", e.Pipeline, e.Version, e.Current)
	}
	return fmt.Sprintf("version %d of pipeline %s was never deployed in %s; the current one there is %d", e.Version, e.Pipeline, e.Environment, e.Current)
}

// Unwrap returns ErrNotFound.
func (e *VersionError) Unwrap() error { return ErrNotFound }

// NotDeployedError says that no pipeline with the name is deployed in an environment. It wraps ErrNotFound.
type NotDeployedError struct{ Environment, Pipeline string }

// Error names both.
func (e *NotDeployedError) Error() string {
	return fmt.Sprintf("no pipeline %q is deployed in %s", e.Pipeline, e.Environment)
}

// Unwrap returns ErrNotFound.
func (e *NotDeployedError) Unwrap() error { return ErrNotFound }

// ErrNothingBefore says that no other version of a pipeline was current before the current one.
var ErrNothingBefore = errors.New("no other version was current before")

var environmentName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckEnvironment says what is wrong with the name of an environment; nil if it can be one.
func CheckEnvironment(name string) error {
	if environmentName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%.64q is not the name of an environment: write up to 63 of a to z, 0 to 9, _ and -", name)
}

// Redeployed says what became of an order about a deployed pipeline.
type Redeployed struct {
	Deployment      // the last one by now
	Changed    bool // the order made it; else what it asked for was so already
}

// Promote makes a version current in an environment that is, or was, current in another one: that of order, or the one that is current in from if
// that is 0. order has the Environment, Pipeline, Actor and Why. The error is a *VersionError if the version never was current in from, or wraps ErrNotFound if none was; it is a *RetiredError if the
// pipeline is retired in either. fits, if it is not nil, may refuse the version, with an error of its own.
func (l *Log) Promote(ctx context.Context, from string, order Deployment, fits func(version int64) error) (Redeployed, error) {
	order.Action = Promote
	return l.redeploy(ctx, order, func(last Deployment, _ []Deployment) (int64, error) {
		if last.Retired() {
			return 0, &RetiredError{last}
		}
		return l.fitting(ctx, from, order.Pipeline, order.Version, fits)
	})
}

// Rollback makes an older version current again: that of order, or the one before the current one if that is 0. A second rollback goes one version
// further back. order has the Environment, Pipeline, Actor and Why. The error is a *VersionError if the version was never current there, wraps
// ErrNothingBefore if there is none before, and ErrNotFound if no version is deployed there; it is a *RetiredError if the pipeline is retired. fits is that of Promote.
func (l *Log) Rollback(ctx context.Context, order Deployment, fits func(version int64) error) (Redeployed, error) {
	order.Action = Rollback
	return l.redeploy(ctx, order, func(last Deployment, history []Deployment) (int64, error) {
		version := cmp.Or(order.Version, before(history))
		if version == 0 && history != nil && !last.Retired() {
			return 0, ErrNothingBefore
		}
		return l.fitting(ctx, order.Environment, order.Pipeline, version, fits)
	})
}

// fitting returns the version that runs of a pipeline in an environment may be of, if fits does not refuse it.
func (l *Log) fitting(ctx context.Context, environment, name string, version int64, fits func(version int64) error) (int64, error) {
	found, err := l.Startable(ctx, environment, name, version)
	if err == nil && fits != nil {
		err = fits(found.Version)
	}
	return found.Version, err
}

// Retire ends that runs of a pipeline start in an environment. order has the Environment, Pipeline, Actor and Why. The error wraps ErrNotFound if it
// is not deployed there.
func (l *Log) Retire(ctx context.Context, order Deployment) (Redeployed, error) {
	order.Action = Retire
	return l.redeploy(ctx, order, isDeployed)
}

// Restore undoes Retire. Its errors are those of Retire.
func (l *Log) Restore(ctx context.Context, order Deployment) (Redeployed, error) {
	order.Action = Restore
	return l.redeploy(ctx, order, isDeployed)
}

// isDeployed returns the version that stays current.
func isDeployed(last Deployment, history []Deployment) (int64, error) {
	if history == nil {
		return 0, ErrNotFound
	}
	return last.Version, nil
}

// redeploy records an order, unless what it asks for is so already. version decides which version the order is about, by the deployments there were,
// the last of which it gets too; that is the zero one if there was none.
func (l *Log) redeploy(ctx context.Context, order Deployment, version func(last Deployment, history []Deployment) (int64, error)) (Redeployed, error) {
	var done Redeployed
	err := settle(order.Table(), func() error {
		history, err := l.Deployments(ctx, order.Environment, order.Pipeline)
		if err != nil {
			return err
		}
		last, next := Deployment{}, order
		if len(history) > 0 {
			last = history[len(history)-1]
			next.Seq, next.Before = last.Seq+1, last.Version
		}
		if next.Version, err = version(last, history); err != nil {
			return err
		}
		if last.Version == next.Version && last.Retired() == next.Retired() {
			done = Redeployed{Deployment: last}
			return nil
		}
		next.At = l.now()
		done = Redeployed{next, true}
		return l.plain.Commit(ctx, Tx{Insert: []Record{next, next.event()}})
	})
	if err != nil {
		return Redeployed{}, fmt.Errorf("%s %s: %w", order.Action, order.Pipeline, err)
	}
	return done, nil
}

// before returns the version to which a rollback without a number goes: the one that was current before the current one became so, whatever was
// rolled back since. It is 0 if there is none.
func before(history []Deployment) int64 {
	var current []int64 // the last is current; a rollback takes off what came after
	for _, d := range history {
		if d.Version == d.Before {
			continue // retired or restored
		}
		if d.Action == Rollback {
			current = backTo(d.Version, current)
		}
		current = append(current, d.Version)
	}
	if len(current) < 2 {
		return 0
	}
	return current[len(current)-2]
}

// backTo returns the versions before the last time that this one was current; all if it is not among them.
func backTo(version int64, current []int64) []int64 {
	for i := len(current) - 1; i >= 0; i-- {
		if current[i] == version {
			return current[:i]
		}
	}
	return current
}
