package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/tests/bench/served"
)

// The long runs beside which shorter ones are measured: one with little to compute for each row, and one with much.
const (
	long = `name: long
params: {to: {type: string, default: out/long.jsonl}}
sources: {in: {csv: {path: long.csv}, schema: {fields: {id: int, customer: string, city: string, total: decimal, note: string}}}}
steps:
  - {name: judge, set: STEPS}
sinks: {out: {jsonl: {path: "${param:to}", overwrite: true}}}
`
	light = `{large: row.total > 50}`
	heavy = `{` +
		`a: "row.note.split(' ').map(x, x + row.customer).join(',')", ` +
		`b: "row.note.split(' ').map(x, x + row.city + row.customer).join(',')", ` +
		`c: "row.customer.split('').map(x, x + row.city).join('-')", ` +
		`d: "row.note.split('').map(x, x + row.city).join('-')", ` +
		`e: "row.note.split('').map(x, x + x + row.city).join('+')"}`
)

// A middling run has a chunk of its own, and an activity for each thing that is done with it.
const middlingRows = 10_000

// mostTime is how long runs are measured that take too long.
const mostTime = 20 * time.Second

// table writes rows of a customer's orders.
func table(rows int) string {
	var in strings.Builder
	in.WriteString("id,customer,city,total,note\n")
	for i := range rows {
		fmt.Fprintf(&in, "%d,customer %d,%s,%d.50,note on order %d\n", i, i%997, []string{"Bergen", "Porto", "Graz"}[i%3], i%1000, i)
	}
	return in.String()
}

// besideLight has runs beside one that has many rows.
func besideLight(ctx context.Context, b *bench) error { return beside(ctx, b, light, 6_000_000, 1) }

// besideHeavy has runs beside one that has much to compute for each of its rows.
func besideHeavy(ctx context.Context, b *bench) error { return beside(ctx, b, heavy, 2_000_000, 1) }

// besideMany has runs beside fifty of these, which begin at once: more than a process does things for at a time.
func besideMany(ctx context.Context, b *bench) error { return beside(ctx, b, heavy, 60_000, 50) }

// beside measures runs of ten and of ten thousand rows, first alone and then beside long ones.
func beside(ctx context.Context, b *bench, steps string, rows, runs int) error {
	middling := strings.NewReplacer("small", "middling", "in.csv", "middling.csv").Replace(served.Small)
	for name, text := range map[string]string{
		"small.yaml": served.Small, "in.csv": served.SmallInput(smallRows), "long.yaml": strings.ReplaceAll(long, "STEPS", steps), "long.csv": table(rows),
		"middling.yaml": strings.ReplaceAll(middling, "total: decimal", "city: string, total: decimal, note: string"),
		"middling.csv":  strings.Replace(table(middlingRows), "customer", "name", 1),
	} {
		if err := b.write(name, text); err != nil {
			return err
		}
	}
	server, err := served.Start(ctx, b.binary, b.folder)
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := each(ctx, b, server, "alone"); err != nil {
		return err
	}
	beside := make([]string, runs)
	for i := range beside {
		name := fmt.Sprintf("long-%d", i)
		if beside[i], err = server.Begin(ctx, "long", name, map[string]string{"to": "out/" + name + ".jsonl"}); err != nil {
			return err
		}
	}
	time.Sleep(3 * time.Second) // until they keep the process busy
	if err := each(ctx, b, server, "beside"); err != nil {
		return err
	}
	status, err := server.Status(ctx, beside[runs-1])
	if err == nil && status != "running" {
		err = errors.New("the long run is " + status + " before the others were measured: it needs more rows")
	}
	return err
}

// each measures runs of both sizes one after the other.
func each(ctx context.Context, b *bench, server *served.Server, when string) error {
	for _, of := range []struct {
		pipeline string
		runs     int
	}{{"small", 100}, {"middling", 20}} {
		var took []time.Duration
		for began := time.Now(); len(took) < of.runs && time.Since(began) < mostTime; {
			name := fmt.Sprintf("%s-%s-%d", of.pipeline, when, len(took))
			_, one, err := server.Run(ctx, of.pipeline, name, map[string]string{"to": "out/" + name + ".jsonl"})
			if err != nil {
				return err
			}
			took = append(took, one)
		}
		slices.Sort(took)
		b.tell(of.pipeline+" "+when, float64(took[len(took)/2].Milliseconds()), "ms")
		b.tell(of.pipeline+" "+when+", p99", float64(took[len(took)*99/100].Milliseconds()), "ms")
	}
	return nil
}
