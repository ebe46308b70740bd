package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) envCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Set, show and compare the values of environments",
		Long: `A deployed pipeline reads ${NAME} from the values of its environment, or else from the environment variables of the process that executes the
run. Values are recorded: each run records which ones it started with and keeps them. Don't store secrets here: use ${secret:NAME}.`,
		Args: noArgs,
		RunE: help,
	}
	cmd.AddCommand(a.envSetCommand(), a.envUnsetCommand(), a.envShowCommand(), a.envListCommand(), a.envDiffCommand())
	return cmd
}

func (a *app) envSetCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:     "set ENVIRONMENT NAME=VALUE...",
		Short:   "Set values of an environment",
		Example: `  waymark env set prod REGION=eu-west-1 --why "the shop moved"`,
		Args:    takes(2, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			values, err := parsePairs("value", "NAME=VALUE", args[1:])
			if err != nil {
				return err
			}
			return a.setEnvironment(cmd, client.ValuesRequest{Environment: args[0], Set: values}, why)
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) envUnsetCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "unset ENVIRONMENT NAME...",
		Short: "Remove values from an environment",
		Args:  takes(2, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setEnvironment(cmd, client.ValuesRequest{Environment: args[0], Unset: args[1:]}, why)
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

// setEnvironment changes the values of an environment, and says which it has by then.
func (a *app) setEnvironment(cmd *cobra.Command, r client.ValuesRequest, why string) error {
	if err := whyGiven(why); err != nil {
		return err
	}
	r.By = a.by(why)
	return a.with(cmd.Context(), a.options(), func(home *local.Home) error {
		now, err := home.SetEnvironment(cmd.Context(), r)
		if err != nil {
			return err
		}
		return a.print(now, func(w io.Writer) error {
			if !now.Changed {
				_, err := fmt.Fprintf(w, "%s has these values%s\n", now.Name, already(now.Changed))
				return err
			}
			return writeEnvironment(w, &now.Environment)
		})
	})
}

// writeEnvironment lists the values of an environment.
func writeEnvironment(w io.Writer, e *client.Environment) error {
	if e.Seq == 0 {
		_, err := fmt.Fprintf(w, "%s has no values\n", e.Name)
		return err
	}
	lines := [][]string{{fmt.Sprintf("%s#%d", e.Name, e.Seq), fmt.Sprintf("set %s by %s: %s", moment(e.At), e.Actor, text.Cell(e.Why))}}
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		lines = append(lines, []string{name, text.Cell(e.Values[name])})
	}
	return text.Table(w, lines...)
}

func (a *app) envShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ENVIRONMENT[#N]",
		Short: "Show an environment's values, now or at revision N, as runs cite it",
		Args:  exactlyOne("environment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				e, err := home.Environment(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(e, func(w io.Writer) error { return writeEnvironment(w, &e) })
			})
		},
	}
}

func (a *app) envListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the environments that have values or deployed pipelines",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				list, err := home.Environments(cmd.Context())
				if err != nil {
					return err
				}
				lines := [][]string{{"environment", "values", "since", "by", "why"}}
				for _, e := range list {
					line := []string{e.Name, "-", "-", "-", "-"}
					if e.Seq > 0 {
						line = []string{e.Name, fmt.Sprint(len(e.Values)), moment(e.At), e.Actor, text.Cell(e.Why)}
					}
					lines = append(lines, line)
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
}

func (a *app) envDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff ENVIRONMENT[#N] ENVIRONMENT[#N]",
		Short: "Compare the values of two environments",
		Args:  takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				diff, err := home.DiffEnvironments(cmd.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				return a.print(diff, func(w io.Writer) error { return writeEnvironmentDiff(w, diff) })
			})
		},
	}
}

func writeEnvironmentDiff(w io.Writer, diff *client.EnvironmentDiff) error {
	if len(diff.Changes) == 0 {
		_, err := fmt.Fprintf(w, "%s and %s have the same values\n", diff.From, diff.To)
		return err
	}
	lines := [][]string{{"name", diff.From, diff.To}}
	for _, c := range diff.Changes {
		before, after := text.Cell(c.Before), text.Cell(c.After)
		switch c.Change {
		case client.Added:
			before = "-"
		case client.Removed:
			after = "-"
		}
		lines = append(lines, []string{c.Path, before, after})
	}
	return text.Table(w, lines...)
}
