package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// steps has one run each of 200,000 rows of 10 columns through ever more steps, of which each sets a field: what they
// cost in all, and what memory they take. The fields' names are in no order, so that one comes before others in a row's
// canonical form as often as after them.
func steps(ctx context.Context, b *bench) error {
	if err := b.write("in.csv", stepsInput()); err != nil {
		return err
	}
	for _, n := range []int{2, 10, 50, 150} {
		if err := b.write("steps.yaml", stepsDocument(n)); err != nil {
			return err
		}
		if err := os.RemoveAll(b.folder + "/.waymark"); err != nil {
			return err
		}
		used, err := b.command(ctx, "run", "steps.yaml")
		if err != nil {
			return err
		}
		b.tell(fmt.Sprintf("%d steps, CPU", n), used.cpu, "s")
		b.tell(fmt.Sprintf("%d steps, memory", n), used.memory, "MB")
		if n != 50 {
			continue
		}
		if used, err = b.command(ctx, "verify", "last"); err != nil {
			return err
		}
		b.tell(fmt.Sprintf("%d steps, CPU of verify", n), used.cpu, "s")
	}
	return nil
}

func stepsInput() string {
	var in strings.Builder
	in.WriteString("id,customer,city,kind,amount,quantity,price,ordered,paid,note\n")
	for i := range 200_000 {
		fmt.Fprintf(&in, "%d,customer-%06d,Springfield,%s,%d,%d,%d.25,2024-%02d-%02d,%t,some words about order %d\n",
			i, i*7919%200_000, []string{"web", "shop", "phone"}[i%3], i*31%5000, i%9, i%300, i%12+1, i%28+1, i%2 == 0, i)
	}
	return in.String()
}

func stepsDocument(n int) string {
	var doc strings.Builder
	doc.WriteString(`name: steps
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, customer: string, city: string, kind: string, amount: int, quantity: int, price: decimal, ordered: date, paid: bool, note: string}}
steps:
`)
	for i := range n {
		fmt.Fprintf(&doc, "  - {name: s%d, set: {%c%d: row.amount + %d}}\n", i, 'a'+i*7%26, i, i)
	}
	doc.WriteString("sinks: {all: {jsonl: {path: out.jsonl, overwrite: true}}}\n")
	return doc.String()
}

// used is what a command took from begin to end.
type used struct {
	cpu    float64 // seconds
	memory float64 // MB, at most at once
}

// command has the binary execute a command in the folder.
func (b *bench) command(ctx context.Context, args ...string) (used, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.folder, &said, &said
	if err := cmd.Run(); err != nil {
		return used{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	ended := cmd.ProcessState
	usage := ended.SysUsage().(*syscall.Rusage)
	return used{(ended.UserTime() + ended.SystemTime()).Seconds(), float64(usage.Maxrss) / 1024}, nil
}
