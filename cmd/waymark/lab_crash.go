//go:build failpoints

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/internal/program"
	"waymark/tests/crash/lab"
)

func (a *app) labCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "lab", Short: "Try a pipeline under conditions that nobody wants", Args: cobra.NoArgs}
	cmd.AddCommand(a.crashCommand())
	return cmd
}

func (a *app) crashCommand() *cobra.Command {
	var o crashOptions
	cmd := &cobra.Command{
		Use:   "crash FILE",
		Short: "Kill a pipeline at every moment, resume it, and compare",
		Long: `Runs the pipeline in FILE undisturbed and notes every moment at which something is made durable. Then kills a run at
each of these moments, and resumes it; and kills a run and its recovery, and resumes that. Each time it compares outputs,
record and stored payloads with those of the undisturbed run. All of it happens in copies of the document's folder, which is
only read: leave large files out of it.

Ends with code 1 if anything was lost, duplicated, torn or different; what was left then is kept.`,
		Args: exactlyOne("document"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), program.Signals()...)
			defer stop()
			options, err := a.labOptions(cmd, args[0], o)
			if err != nil {
				return err
			}
			report, stopped := lab.Run(ctx, options)
			if report == nil {
				return stopped
			}
			if err := a.printReport(report, o.report); err != nil {
				return err
			}
			switch {
			case stopped != nil:
				return exitError{exitInterrupted, errors.New("stopped before everything was tried")}
			case report.Failed() > 0:
				return exitError{exitFailed, nil}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	paramFlag(cmd, &o.params)
	flags.StringVar(&o.singles, "singles", "all", "at how many moments to kill a run: a `number`, spread over all names, or all")
	flags.StringVar(&o.pairs, "pairs", "0", "at how many pairs of moments to kill a run and its recovery: a `number`, or all")
	flags.IntVar(&o.jobs, "jobs", runtime.NumCPU()+1, "how many runs go on side by side")
	flags.Uint64Var(&o.seed, "seed", 0, "`number` that chooses moments and pairs (default: another one each time)")
	flags.StringVar(&o.only, "only", "", "this `moment` alone, or this pair: NAME@N or NAME@N,NAME@N")
	flags.StringVar(&o.fault, "fault", lab.Kill, "`what` happens at the moments: kill, error:ENOSPC, error:EIO, short or delay:200ms")
	flags.StringVar(&o.scratch, "scratch", "", "`folder` for the copies, which must not exist (default: one in memory, if there is room)")
	flags.StringVar(&o.report, "report", "", "`file` for everything as JSON")
	flags.BoolVar(&o.keep, "keep", false, "leave the copies behind")
	return cmd
}

// crashOptions are the flags as given.
type crashOptions struct {
	params                                       []string
	singles, pairs, only, fault, scratch, report string
	jobs                                         int
	seed                                         uint64
	keep                                         bool
}

func (a *app) labOptions(cmd *cobra.Command, file string, given crashOptions) (lab.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return lab.Options{}, err
	}
	o := lab.Options{
		Binary: self, Pipeline: file, Scratch: given.scratch, Jobs: given.jobs, Seed: given.seed, Fault: given.fault, Keep: given.keep, Progress: a.crashProgress(),
	}
	if !cmd.Flags().Changed("seed") {
		o.Seed = rand.Uint64()
	}
	for _, param := range given.params {
		o.Params = append(o.Params, "--param", param)
	}
	for _, folder := range a.allowPaths {
		o.Flags = append(o.Flags, "--allow-path", folder)
	}
	for _, network := range a.allowNetworks {
		o.Flags = append(o.Flags, "--allow-network", network.String())
	}
	if a.documentProfile != "" {
		o.Flags = append(o.Flags, "--document-profile", a.documentProfile)
	}
	if a.secretsDir != "" {
		o.Flags = append(o.Flags, "--secrets-dir", a.secretsDir)
	}
	var wrong [2]error
	o.Singles, wrong[0] = howMany("--singles", given.singles)
	o.Pairs, wrong[1] = howMany("--pairs", given.pairs)
	if err := errors.Join(wrong[:]...); err != nil {
		return o, err
	}
	if given.only != "" {
		o.Only, err = moments(given.only)
	}
	return o, err
}

// howMany reads a number or all.
func howMany(flag, word string) (int, error) {
	if word == "all" {
		return lab.All, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return 0, wrongUsef("%s %q: write a number, or all", flag, word)
	}
	return n, nil
}

func moments(words string) ([]lab.Moment, error) {
	var found []lab.Moment
	for word := range strings.SplitSeq(words, ",") {
		m, err := lab.ParseMoment(word)
		if err != nil {
			return nil, wrongUsef("--only %w", err)
		}
		found = append(found, m)
	}
	if len(found) > 2 {
		return nil, wrongUsef("--only takes one moment, or two")
	}
	return found, nil
}

// crashInterval is how often a line tells how far the laboratory is.
const crashInterval = 10 * time.Second

func (a *app) crashProgress() func(lab.Tally) {
	begun, told := time.Now(), time.Now()
	return func(t lab.Tally) {
		if now := time.Now(); now.Sub(told) >= crashInterval {
			told = now
			a.note("%.0f s: %d moments, %d pairs, %d failed", now.Sub(begun).Seconds(), t.Singles, t.Pairs, t.Failed)
		}
	}
}

// printReport shows the matrix, and writes the whole report to the file, if there is one.
func (a *app) printReport(report *lab.Report, path string) (err error) {
	if path != "" {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteJSON(file), file.Close()); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return a.print(report, func(w io.Writer) error { return report.WriteMatrix(w) })
}
