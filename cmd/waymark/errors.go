package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

func (a *app) errorsCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "errors RUN",
		Short:             "Show why rows were refused, grouped, with counts and samples",
		Long:              runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], func(r *record, run landscape.Run) error {
				groups, err := r.log.ErrorGroups(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				files, err := r.files(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return printList(a, groups, func(w io.Writer) error { return writeErrors(w, run, groups, files > 1) })
			})
		},
	}
}

// files counts the files that the sources of a run read.
func (r *record) files(ctx context.Context, run string) (int, error) {
	sources, err := r.log.Sources(ctx, run)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, source := range sources {
		var info plugin.SourceInfo
		if err := json.Unmarshal([]byte(source.Info), &info); err != nil {
			return 0, fmt.Errorf("source %s on record: %w", source.Source, err)
		}
		count += len(info.Files)
	}
	return count, nil
}

// writeErrors writes the groups for people; withFiles says in which file a line is.
func writeErrors(w io.Writer, run landscape.Run, groups []landscape.ErrorGroup, withFiles bool) error {
	if len(groups) == 0 {
		_, err := fmt.Fprintf(w, "no row of run %s was refused\n", run.ID)
		return err
	}
	for _, group := range groups {
		fmt.Fprintf(w, "%s refused by %s: %s\n", many(group.Count, "row"), group.Node, cell(headline(group)))
		lines := make([][]string, len(group.Samples))
		for i, sample := range group.Samples {
			line := "line " + fmt.Sprint(sample.Line)
			if withFiles {
				line += " of " + sample.File
			}
			lines[i] = []string{"  " + sample.Source + " row " + fmt.Sprint(sample.Row), line, sample.Message, "→ " + destination(sample.SentTo)}
		}
		if err := table(w, lines...); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "waymark explain %s --row N tells more about one of them\n", run.ID)
	return err
}

// destination names where a refused row went.
func destination(sink string) string {
	switch sink {
	case pipeline.QuarantineSink:
		return "quarantine"
	case pipeline.DiscardSink:
		return "discarded"
	default:
		return sink
	}
}

func headline(group landscape.ErrorGroup) string {
	if group.Field == "" {
		return group.Code + ": " + group.Message
	}
	return group.Code + ", " + group.Field + ": " + group.Message
}
