package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// overdue is for how many days a unit may not have been tried.
const overdue = 30

// count is a line of the report.
type count struct {
	units, passed, failed, other, day, week, month, good int
	whole                                                time.Duration // that all of its units take
}

func (n *night) count(c campaign) (sum count) {
	for _, u := range c.units {
		sum.units++
		sum.whole += n.expected(u)
		switch n.tonight[u.key()] {
		case "":
		case passed:
			sum.passed++
		case failed:
			sum.failed++
		default:
			sum.other++
		}
		for _, within := range []struct {
			days int
			sum  *int
		}{{1, &sum.day}, {7, &sum.week}, {overdue, &sum.month}} {
			if n.covered(u, n.begun.AddDate(0, 0, -within.days)) {
				*within.sum++
			}
		}
		if o := n.Units[u.key()]; o.Commit == n.commit && o.Result == passed {
			sum.good++
		}
	}
	return sum
}

// report prints what was covered, what is overdue, and what failed.
func (n *night) report(w io.Writer, budget time.Duration) {
	fmt.Fprintf(w, "\ncommit %s\n\n", n.commit)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "\tnow\t\t\t\ttried within\t\t\t\tpassed at\tin all\t")
	fmt.Fprintln(tab, "campaign\tpassed\tfailed\tother\tunits\t1 day\t7 days\t30 days\toverdue\tthis commit\tabout\t")
	var all count
	for _, c := range n.campaigns {
		sum := n.count(c)
		sum.print(tab, c.name)
		all.add(sum)
	}
	all.print(tab, "all")
	_ = tab.Flush()
	fmt.Fprintf(w, "\nother: skipped, or cut by the end of the night. overdue: not tried in %d days.\n", overdue)
	fmt.Fprintf(w, "All take about %s", all.whole.Round(time.Minute))
	switch nights := all.whole.Seconds() / budget.Seconds(); {
	case budget == 0:
	case nights <= 1:
		fmt.Fprint(w, ": one such night")
	default:
		fmt.Fprintf(w, ": %.0f such nights", math.Ceil(nights))
	}
	fmt.Fprintln(w, ".")
	n.skips(w)
	for _, f := range n.failures {
		f.print(w)
	}
	n.older(w)
}

func (c *count) add(other count) {
	c.units += other.units
	c.passed += other.passed
	c.failed += other.failed
	c.other += other.other
	c.day += other.day
	c.week += other.week
	c.month += other.month
	c.good += other.good
	c.whole += other.whole
}

func (c *count) print(w io.Writer, name string) {
	percent := func(n int) string { return fmt.Sprintf("%d %%", 100*n/c.units) }
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t\n", name, c.passed, c.failed, c.other, c.units,
		percent(c.day), percent(c.week), percent(c.month), c.units-c.month, percent(c.good), c.whole.Round(time.Second))
}

// skips names the units that were skipped now: what they need is not installed, or they are for people.
func (n *night) skips(w io.Writer) {
	for _, key := range slices.Sorted(maps.Keys(n.tonight)) {
		if n.tonight[key] == skipped {
			fmt.Fprintf(w, "skipped: %s: %s says why\n", key, n.log(key))
		}
	}
}

// older names the units that failed before, and were not tried now.
func (n *night) older(w io.Writer) {
	for _, c := range n.campaigns {
		for _, u := range c.units {
			if o := n.Units[u.key()]; o.Result == failed && n.tonight[u.key()] == "" {
				on := o.Last.Format(time.DateOnly)
				fmt.Fprintf(w, "\nfailed on %s at %s: %s\n    %s\n", on, o.Commit, u.key(), u.repeat(o.Round))
				log := n.log(u.key())
				if _, err := os.Stat(log); err == nil {
					fmt.Fprintf(w, "    all of it: %s\n", log)
				}
			}
		}
	}
}

// shown is how many of the last lines of a log are printed.
const shown = 25

func (f failure) print(w io.Writer) {
	fmt.Fprintf(w, "\nfailed: %s\n    %s\n", f.unit.key(), f.repeat)
	if f.log == "" {
		return
	}
	text, err := os.ReadFile(f.log)
	if err != nil {
		return
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines[max(0, len(lines)-shown):] {
		fmt.Fprintf(w, "    | %.200s\n", line)
	}
	fmt.Fprintf(w, "    all of it: %s\n", f.log)
}
