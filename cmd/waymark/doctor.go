package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) doctorCommand() *cobra.Command {
	var fix bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this setup can execute runs, and say how to fix what is wrong",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			look := a.options().Doctor
			if fix {
				if a.options().Cluster == nil {
					return &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: "--fix is for a cluster: say which with --temporal"}
				}
				look = a.options().Repair
			}
			return a.printChecks(look(cmd.Context()), "")
		},
	}
	command.Flags().BoolVar(&fix, "fix", false, "register the search attributes that the cluster's namespace is missing")
	command.AddCommand(a.doctorRunCommand(), a.doctorOutputCommand(), a.doctorRowCommand())
	return command
}

func (a *app) doctorRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run RUN",
		Short: "Look for what is wrong with a run, and say what to do next",
		Long: `Looks at everything that can be wrong with a run, and changes nothing: how it ended and why, refused rows, each output, every payload that it needs, its
seal and its entry in the log, the schema of the landscape, and other runs that read the same. Each line says what was looked at, what was found, and the
next command. Exit code 1 if something is wrong.

It reads all records and payloads of the run, and computes no step again: waymark verify does.

` + runArgument,
		Example: `  waymark doctor run last
  waymark doctor run 0198c1 --json`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diagnosis(cmd.Context(), func(home *local.Home) (landscape.Run, []client.Check, error) {
				run, err := home.Find(cmd.Context(), args[0])
				return run, nil, err
			})
		},
	}
}

func (a *app) doctorOutputCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "output TARGET",
		Aliases: []string{"artifact"},
		Short:   "Look for what is wrong with an output, and with the run that published it last",
		Long: `Compares what is at a target now with what runs published there, as waymark outputs does, and looks at the run that published there last, or writes there now,
as waymark doctor run does. Exit code 1 if something is wrong.

TARGET is a path, s3://BUCKET/PREFIX, postgres://HOST/DATABASE/SCHEMA.TABLE, or the name of a table.`,
		Example: `  waymark doctor output out/review.csv`,
		Args:    exactlyOne("target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diagnosis(cmd.Context(), func(home *local.Home) (landscape.Run, []client.Check, error) {
				outputs, err := home.Outputs(cmd.Context(), args[0], 1)
				if err != nil {
					return landscape.Run{}, nil, err
				}
				run, err := home.Find(cmd.Context(), outputs.LastRun())
				return run, []client.Check{outputs.Check()}, err
			})
		},
	}
}

// diagnosis prints what is found of the run that find returns, after what find found.
func (a *app) diagnosis(ctx context.Context, find func(*local.Home) (landscape.Run, []client.Check, error)) error {
	o := a.options()
	o.Existing, o.Unchanged = true, true // the schema is looked at as well
	return a.with(ctx, o, func(home *local.Home) error {
		run, checks, err := find(home)
		if err != nil {
			return err
		}
		found, err := home.Diagnose(ctx, run)
		if err != nil {
			return err
		}
		return a.printChecks(append(checks, found...), run.ID)
	})
}

// printChecks prints checks with their cures, and fails if one of them does. run, if not empty, is the run that they are about.
func (a *app) printChecks(found []client.Check, run string) error {
	code := exitDone
	checks := client.CheckTexts(found, run, cures)
	var lines [][]string
	for _, c := range checks {
		if c.State == client.Unhealthy {
			code = exitFailed
		}
		lines = append(lines, []string{string(c.State), c.Name, c.Detail, c.Cure})
	}
	return endWith(code, printList(a, checks, func(w io.Writer) error { return text.Table(w, lines...) }))
}
