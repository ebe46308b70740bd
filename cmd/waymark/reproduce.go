package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) reproduceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reproduce RUN",
		Short: "Execute a recorded run again and compare the two",
		Long: `Executes a complete run a second time, from the recorded document, parameters, tables and source records, and compares everything the two
runs did with their rows. The second run uses the full execution path, on a temporary Temporal server and a temporary landscape; its sinks keep
nothing. The sources, outputs and recorded data of the first run are not changed. Exit code 4 if anything differs.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error { return a.reproduce(cmd.Context(), home, args[0]) })
		},
	}
}

func (a *app) reproduce(ctx context.Context, home *local.Home, word string) error {
	made, err := home.Reproduce(ctx, word)
	if err != nil {
		return err
	}
	code := exitDone
	if !made.Equal {
		code = exitUnverified
	}
	return endWith(code, a.print(made, func(w io.Writer) error { return writeReproduction(w, made) }))
}

// writeReproduction says whether the second run made the same, and what it did not.
func writeReproduction(w io.Writer, r *local.Reproduction) error {
	said := fmt.Sprintf("%s, %s, %s of outputs (%.1f s)",
		text.Count(r.Rows, "row"), text.Count(r.Hashes, "hash"), text.Count(r.Parts, "part"), r.Seconds)
	if r.Equal {
		_, err := fmt.Fprintf(w, "run %s is bit-equal when it is executed again: %s\n", r.Run, said)
		return err
	}
	fmt.Fprintf(w, "run %s is not the same when it is executed again: %s %s of %s\n",
		r.Run, text.Count(r.Differ, "record"), text.Agree(r.Differ, "differs", "differ"), said)
	if r.Reason != "" {
		fmt.Fprintf(w, "  it ended %s: %s\n", r.Status, text.Cell(r.Reason))
	}
	for _, unlike := range r.First {
		fmt.Fprintf(w, "  %s\n", text.Cell(unlike.String()))
	}
	if more := r.Differ - int64(len(r.First)); more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	return nil
}
