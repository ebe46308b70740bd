package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// night is one use of this program.
type night struct {
	*state
	*runner
	campaigns []campaign
	begun     time.Time
	commit    string
	tonight   map[string]result // by key of the unit
	failures  []failure
	prepared  map[string]error // by campaign
}

// failure is a unit that failed, and how to repeat that.
type failure struct {
	unit   unit
	repeat string
	log    string // file with what it printed
}

// list makes the list of all units.
func (n *night) list(ctx context.Context, text string) error {
	t, err := look(".")
	if err != nil {
		return err
	}
	mutants, err := names(ctx, "go", "run", "./tests/mutants", "-list")
	if err != nil {
		return err
	}
	n.prepared = map[string]error{}
	for _, c := range table(t, mutants) {
		if c.units = only(c.units, text); len(c.units) > 0 {
			n.campaigns = append(n.campaigns, c)
		}
	}
	if len(n.campaigns) == 0 {
		return fmt.Errorf("no unit is called %q", text)
	}
	return nil
}

// runFor tries units until the time is over.
func (n *night) runFor(ctx context.Context, budget time.Duration) error {
	end := n.begun.Add(budget)
	within, stop := context.WithDeadline(ctx, end)
	defer stop()
	all := n.purses(n.campaigns, budget)
	for within.Err() == nil {
		u, found := n.next(n.campaigns, all, n.tonight, time.Until(end))
		if !found {
			break
		}
		started := time.Now()
		if err := n.try(within, u); err != nil {
			return err
		}
		all[u.campaign].left -= time.Since(started) // what was built for it as well
	}
	if ctx.Err() != nil {
		return nil // the shares of a night that ended early are owed to none
	}
	n.settle(all)
	return n.save()
}

// runAll tries everything that did not pass at this commit.
func (n *night) runAll(ctx context.Context) error {
	var all []unit
	for _, c := range n.campaigns {
		all = append(all, c.units...)
	}
	todo := n.undone(all, n.commit)
	fmt.Printf("%d of %d units passed at %s\n", len(all)-len(todo), len(all), n.commit)
	for _, u := range todo {
		if ctx.Err() != nil {
			break
		}
		if err := n.try(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// try tries a unit, and notes how it ended, unless somebody ended this program.
func (n *night) try(ctx context.Context, u unit) error {
	fmt.Printf("%s  %-7s %7s  %s\n", time.Now().Format(time.TimeOnly), "runs", "", u.key())
	round := n.Units[u.key()].Round
	started, r, log := time.Now(), failed, ""
	err := n.prepare(ctx, u.campaign)
	if err == nil {
		started = time.Now()
		r, log, err = n.perform(ctx, u, round)
	}
	took := time.Since(started)
	if ctx.Err() != nil && r == failed {
		if context.Cause(ctx) != context.DeadlineExceeded {
			return nil
		}
		r, err = cut, nil
	}
	if err != nil {
		fmt.Println(err)
	}
	n.tonight[u.key()] = r
	n.note(u, r, took, n.commit, time.Now())
	fmt.Printf("%s  %-7s %7s  %s\n", time.Now().Format(time.TimeOnly), r, took.Round(time.Second/10), u.key())
	if r == failed {
		f := failure{u, u.repeat(round), log}
		n.failures = append(n.failures, f)
		f.print(os.Stdout)
	}
	return n.save()
}

// prepare builds what the units of a campaign use, before the first of them.
func (n *night) prepare(ctx context.Context, name string) error {
	if err, done := n.prepared[name]; done {
		return err
	}
	at := slices.IndexFunc(n.campaigns, func(c campaign) bool { return c.name == name })
	command := n.campaigns[at].prepare
	if command == nil {
		return nil
	}
	_, err := names(ctx, command...)
	if ctx.Err() == nil {
		n.prepared[name] = err
	}
	return err
}

func (n *night) failed() bool { return len(n.failures) > 0 }
