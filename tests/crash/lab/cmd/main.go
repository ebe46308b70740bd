// Command cmd is the crash laboratory: it kills a pipeline at every moment at which something becomes durable, resumes it, and compares
// what is there then with an undisturbed run. docs/crash.md says how to use it; `make crash-quick` does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"waymark/internal/program"
	"waymark/tests/crash/lab"
)

// Exit codes, as those of waymark.
const (
	exitFailed      = 1 // something was lost, duplicated, torn or different; what was left is kept
	exitWrongUse    = 2
	exitInterrupted = 130
)

func main() {
	os.Exit(program.Main("lab", os.Stderr, func() int { return run(os.Args[1:], os.Stdout, os.Stderr) }))
}

func run(args []string, stdout, stderr io.Writer) int {
	options, reportFile, err := read(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "lab:", err)
		return exitWrongUse
	}
	options.Progress = progress(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), program.Signals()...)
	defer stop()
	report, stopped := lab.Run(ctx, options)
	if report == nil {
		fmt.Fprintln(stderr, "lab:", stopped)
		return exitFailed
	}
	if err := show(report, reportFile, stdout); err != nil {
		fmt.Fprintln(stderr, "lab:", err)
		return exitFailed
	}
	switch {
	case stopped != nil:
		fmt.Fprintln(stderr, "lab: stopped before everything was tried")
		return exitInterrupted
	case report.Failed() > 0:
		return exitFailed
	}
	return 0
}

// read reads the command line.
func read(args []string, stderr io.Writer) (o lab.Options, report string, err error) {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o = lab.Options{Singles: lab.All}
	flags.StringVar(&o.Binary, "waymark", "bin/waymark-lab",
		"the `program` to kill: a build of waymark with armed failpoints: docs/crash.md")
	flags.Func("singles", "at how many moments to kill a run: a `number`, spread over all names, or all (default all)", howMany(&o.Singles))
	flags.Func("pairs", "at how many pairs of moments to kill a run and its recovery: a `number`, or all (default 0)", howMany(&o.Pairs))
	flags.Func("only", "this `moment` alone, or this pair: NAME@N or NAME@N,NAME@N", func(words string) (err error) {
		o.Only, err = moments(words)
		return err
	})
	only := "only moments of one of several `parts`, such as 3/20, and recoveries from crashes at these"
	flags.Func("part", only, func(words string) (err error) {
		o.Part, err = lab.ParsePart(words)
		return err
	})
	flags.IntVar(&o.Jobs, "jobs", runtime.NumCPU()+1, "how many runs go on side by side")
	flags.Uint64Var(&o.Seed, "seed", rand.Uint64(), "`number` that chooses moments and pairs: without it, another one each time")
	flags.BoolVar(&o.Split, "split", false, "split the runs, as those of large inputs are")
	flags.StringVar(&o.Fault, "fault", lab.Kill, "`what` happens at the moments: kill, error:ENOSPC, error:EIO, short or delay:200ms")
	flags.StringVar(&o.Scratch, "scratch", "", "`folder` for the copies, which must not exist: without it, one in memory, if there is room")
	flags.BoolVar(&o.Keep, "keep", false, "leave the copies behind")
	flags.StringVar(&report, "report", "", "`file` for everything as JSON")
	flags.Func("param", "a `NAME=VALUE` of the document; may come again", func(value string) error {
		o.Params = append(o.Params, "--param", value)
		return nil
	})
	flags.Func("global", "a `flag` of every waymark command, such as --allow-path=/data; may come again", func(value string) error {
		o.Flags = append(o.Flags, value)
		return nil
	})
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "Usage: lab [flags] FILE\n\nKills the pipeline in FILE at every moment, resumes it, and compares. It works in copies of the document's folder,\nwhich is only read: leave large files out of it.\n\nFlags:")
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return o, "", err
	}
	if err == nil && flags.NArg() != 1 {
		err = errors.New("name one document, behind the flags: lab -pairs 10 pipeline.yaml")
	}
	o.Pipeline = flags.Arg(0)
	return o, report, err
}

// howMany reads a number or all.
func howMany(into *int) func(string) error {
	return func(word string) error {
		if word == "all" {
			*into = lab.All
			return nil
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return errors.New("write a number, or all")
		}
		*into = n
		return nil
	}
}

func moments(words string) ([]lab.Moment, error) {
	var found []lab.Moment
	for word := range strings.SplitSeq(words, ",") {
		m, err := lab.ParseMoment(word)
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	if len(found) > 2 {
		return nil, errors.New("takes one moment, or two")
	}
	return found, nil
}

// interval is how often a line tells how far the laboratory is.
const interval = 10 * time.Second

func progress(stderr io.Writer) func(lab.Tally) {
	begun, told := time.Now(), time.Now()
	return func(t lab.Tally) {
		if now := time.Now(); now.Sub(told) >= interval {
			told = now
			fmt.Fprintf(stderr, "%.0f s: %d moments, %d pairs, %d failed\n", now.Sub(begun).Seconds(), t.Singles, t.Pairs, t.Failed)
		}
	}
}

// show prints the matrix, and writes the whole report to the file, if there is one.
func show(report *lab.Report, path string, stdout io.Writer) error {
	if path != "" {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteJSON(file), file.Close()); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return report.WriteMatrix(stdout)
}
