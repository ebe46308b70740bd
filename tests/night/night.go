package main

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	if len(n.tonight) == 0 {
		return fmt.Errorf("nothing was tried: the shortest unit takes about %s: give -for more", n.shortest())
	}
	n.settle(all)
	return n.save()
}

// shortest is how long the unit takes that takes least.
func (n *night) shortest() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, c := range n.campaigns {
		for _, u := range c.units {
			least = min(least, n.expected(u))
		}
	}
	return least.Round(time.Second)
}

// runAll tries everything that did not pass at this commit.
func (n *night) runAll(ctx context.Context) error {
	var all []unit
	for _, c := range n.campaigns {
		all = append(all, c.units...)
	}
	todo := n.undone(all, n.commit)
	fmt.Printf("%d of %d units passed at %s\n", len(all)-len(todo), len(all), n.commit)
	for at := 0; at < len(todo) && ctx.Err() == nil; at++ {
		if err := n.try(ctx, todo[at]); err != nil {
			return err
		}
	}
	return nil
}

// try tries a unit, and notes how it ended, unless somebody ended this program.
func (n *night) try(ctx context.Context, u unit) error {
	fmt.Printf("%s  %-7s %7s  %s\n", time.Now().Format(time.TimeOnly), "runs", "", u.key())
	round := n.Units[u.key()].Round
	a := n.attempt(ctx, u, round)
	if ctx.Err() != nil && a.result == failed {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil
		}
		a.result, a.why = cut, nil
	}
	if a.why != nil {
		fmt.Println(a.why)
	}
	n.tonight[u.key()] = a.result
	n.note(u, a.result, a.took, n.commit, time.Now())
	fmt.Printf("%s  %-7s %7s  %s\n", time.Now().Format(time.TimeOnly), a.result, a.took.Round(time.Second/10), u.key())
	if a.result == failed {
		f := failure{u, u.repeat(round), a.log}
		n.failures = append(n.failures, f)
		f.print(os.Stdout)
	}
	return n.save()
}

// attempt is what a unit showed.
type attempt struct {
	result result
	took   time.Duration // without what was built for it
	log    string        // file with what it printed, if it failed
	why    error         // why its command was not run, or showed nothing
}

// attempt builds what a unit uses, and runs it.
func (n *night) attempt(ctx context.Context, u unit, round uint64) attempt {
	if err := n.prepare(ctx, u.campaign); err != nil {
		return attempt{result: failed, why: err}
	}
	command, err := n.command(ctx, u, round)
	if err != nil {
		return attempt{result: failed, why: err}
	}
	started := time.Now()
	r, log, err := n.perform(ctx, u, command)
	return attempt{r, time.Since(started), log, err}
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
