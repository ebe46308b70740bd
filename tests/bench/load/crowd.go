package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/tests/bench/served"
)

// smallRows is how many rows each small run has.
const smallRows = 10

// crowd has small runs, of which so many are under way at once as services wait for one.
func crowd(ctx context.Context, b *bench) error {
	if err := b.write("small.yaml", served.Small); err != nil {
		return err
	}
	if err := b.write("in.csv", served.SmallInput(smallRows)); err != nil {
		return err
	}
	server, err := served.Start(ctx, b.binary, b.folder)
	if err != nil {
		return err
	}
	defer server.Stop()
	for _, atOnce := range []int{1, 16, 64, 256} {
		runs := 60
		if atOnce > 1 {
			runs = max(512, 3*atOnce)
		}
		took := make([]time.Duration, runs)
		var all errgroup.Group
		all.SetLimit(atOnce)
		before, began := server.CPU(), time.Now()
		for i := range runs {
			all.Go(func() (err error) {
				name := fmt.Sprintf("%d-%d", atOnce, i)
				_, took[i], err = server.Run(ctx, "small", name, map[string]string{"to": "out/" + name + ".jsonl"})
				return err
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
		seconds := time.Since(began).Seconds()
		slices.Sort(took)
		b.tell(fmt.Sprintf("%d at once", atOnce), float64(runs)/seconds, "runs/s")
		b.tell(fmt.Sprintf("%d at once, p99", atOnce), float64(took[runs*99/100].Milliseconds()), "ms")
		b.tell(fmt.Sprintf("%d at once, CPU", atOnce), 1000*(server.CPU()-before)/float64(runs), "ms/run")
	}
	return nil
}
