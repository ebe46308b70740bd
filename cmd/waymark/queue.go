package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) queueCommand() *cobra.Command {
	var environment string
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List the runs that wait to start, and what each waits for",
		Long: `Lists, in order of arrival, the runs that wait because their pipeline has as many runs as it may have, a pool has no free place, or another
run writes to the same target. A later run can start first if no earlier run waits for the same thing.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				list, err := home.Queue(cmd.Context())
				if err != nil {
					return err
				}
				list = slices.DeleteFunc(list, func(w client.Waiting) bool { return environment != "" && w.Environment != environment })
				return printList(a, list, func(w io.Writer) error { return writeQueue(w, list) })
			})
		},
	}
	cmd.Flags().StringVar(&environment, "environment", "", "list only runs of pipelines that are deployed in this `environment`; also --env")
	return cmd
}

func writeQueue(w io.Writer, list []client.Waiting) error {
	lines := [][]string{{"place", "run", "pipeline", "priority", "since", "waits for"}}
	for _, w := range list {
		pipeline := w.Pipeline + inText(cmp.Or(w.Environment, landscape.DefaultEnvironment))
		lines = append(lines, []string{fmt.Sprint(w.Place), w.Run, pipeline, fmt.Sprint(w.Priority), moment(w.Since), w.Reason})
	}
	return text.Table(w, lines...)
}

func (a *app) limitCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "limit", Short: "Set the size of pools; list them", Args: noArgs, RunE: help}
	cmd.AddCommand(a.limitSetCommand(), &cobra.Command{
		Use:   "list",
		Short: "List the pools with their size, and how many places each run holds or waits for",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				list, err := home.Limits(cmd.Context())
				if err != nil {
					return err
				}
				lines := [][]string{{"pool", "places", "held", "waiting", "set", "by", "why"}}
				for _, l := range list {
					lines = append(lines, []string{
						l.Pool, fmt.Sprint(l.Places), fmt.Sprint(l.Held), fmt.Sprint(l.Waiting), moment(l.At), l.Actor, text.Cell(cmp.Or(l.Why, "-")),
					})
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	})
	return cmd
}

// limitSet is what `waymark limit set` prints.
type limitSet struct {
	Pool    string `json:"pool"` // pool:NAME
	Places  int64  `json:"places"`
	Changed bool   `json:"changed"` // else it had so many already
}

func (a *app) limitSetCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "set pool:NAME PLACES --why TEXT",
		Short: "Set how many places a pool has",
		Long: `Sets how many places a pool has; with 0 no run can start. If the pool grows, waiting runs start at once; if it shrinks, running runs keep
their places until they end.`,
		Example: `  waymark limit set pool:db-prod 4 --why "the database takes four"`,
		Args:    takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			places, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || places < 0 {
				return notPlaces(args[1])
			}
			return a.with(cmd.Context(), a.options(), func(home *local.Home) error {
				changed, err := home.SetLimit(cmd.Context(), args[0], places, a.by(why))
				if err != nil {
					return err
				}
				pool := landscape.PoolGate(strings.TrimPrefix(args[0], landscape.PoolGate("")))
				return a.print(limitSet{pool, places, changed}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "places of %s: %d%s\n", pool, places, already(changed))
					return err
				})
			})
		},
	}
	refuseNegative(cmd, notPlaces)
	whyFlag(cmd, &why)
	return cmd
}

// notPlaces refuses what is not a number of places.
func notPlaces(word string) error {
	return wrongUsef("%.64q is not a number of places: write 0 to %d", word, math.MaxInt32)
}
