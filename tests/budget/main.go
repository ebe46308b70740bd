// Command budget runs `go test` and prints what it cost: the CPU time of the whole, and the packages whose tests took
// most of it.
//
//	go run ./tests/budget -most 650 go test ./...
//
// It fails if the command fails, or if the command took more CPU time than -most allows. A fixed amount of work before
// the command, after it, and before the tests of each package measures how fast the machine is at that hour, and -most
// is scaled by it: the same tests took 1,988 s on one day and 1,116 s on another.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// records names, for the processes of tests, the file into which they write what they cost.
const records = "WAYMARK_BUDGET_RECORDS"

// endAtOnce is the argument with which calibrate starts this program.
const endAtOnce = "end-at-once"

func main() {
	if len(os.Args) == 2 && os.Args[1] == endAtOnce {
		return
	}
	if file := os.Getenv(records); file != "" {
		os.Exit(wrapped(file, os.Args[1:]))
	}
	most := flag.Float64("most", 0, "seconds of CPU time that the tests may take, on the machine of reference; 0: any")
	dearest := flag.Int("dearest", 10, "how many packages to print")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, flag.Args(), *most, *dearest); err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(1)
	}
}

// measure runs a command that begins with `go test`, and prints what it cost.
func measure(ctx context.Context, command []string, most float64, dearest int) error {
	if len(command) < 2 || command[0] != "go" || command[1] != "test" {
		return errors.New("write the command whose cost is measured, such as \"go test ./...\"")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "waymark-budget-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := file.Close(); err != nil {
		return err
	}
	before := calibrate(rounds)
	started := time.Now()
	test := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-exec", self}, command[2:])...)
	test.Env = append(os.Environ(), records+"="+file.Name())
	test.Stdin, test.Stdout, test.Stderr = os.Stdin, os.Stdout, os.Stderr
	failed := test.Run()
	took := time.Since(started)
	costs, err := read(file.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	scale := speed(costs, before, calibrate(rounds))
	total := cpu(test.ProcessState)
	report(costs, total, took, scale, dearest)
	if failed != nil {
		return fmt.Errorf("go test: %w", failed)
	}
	if used := total.Seconds() / scale; most > 0 && used > most {
		return fmt.Errorf("the tests took %.0f s of CPU time, as the machine of reference counts, and may take %.0f: "+
			"see CONTRIBUTING.md, What tests may cost", used, most)
	}
	return nil
}

// speed returns how many times as long as the machine of reference this one takes, on the average of all that was
// measured.
func speed(costs []cost, rounds ...float64) float64 {
	for _, c := range costs {
		rounds = append(rounds, c.Round)
	}
	sum := 0.0
	for _, r := range rounds {
		sum += r
	}
	return sum / float64(len(rounds)) / reference
}

// report prints the sums and the dearest packages.
func report(costs []cost, total, took time.Duration, scale float64, dearest int) {
	slices.SortFunc(costs, func(a, b cost) int { return int(b.CPU - a.CPU) })
	tests := time.Duration(0)
	for _, c := range costs {
		tests += c.CPU
	}
	fmt.Printf("\n%.0f s of CPU time in %.0f s: %.0f s in the tests of %d packages, %.0f s in building them\n",
		total.Seconds(), took.Seconds(), tests.Seconds(), len(costs), (total - tests).Seconds())
	fmt.Printf("this machine takes %.2f times as long as the one of reference: %.0f s there\n\n",
		scale, total.Seconds()/scale)
	fmt.Printf("%8s %8s  %s\n", "CPU s", "s", "dearest packages")
	for _, c := range costs[:min(dearest, len(costs))] {
		fmt.Printf("%8.1f %8.1f  %s\n", c.CPU.Seconds(), c.Took.Seconds(), c.Package)
	}
}

// cpu returns the CPU time of a process that ended, and of those of its descendants that were waited for.
func cpu(state *os.ProcessState) time.Duration {
	if state == nil {
		return 0
	}
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return state.UserTime() + state.SystemTime()
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
