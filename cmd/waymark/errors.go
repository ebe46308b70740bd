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
	var o retrying
	cmd := &cobra.Command{
		Use:   "errors RUN",
		Short: "Show why rows were refused, grouped, or feed them again",
		Long: `Shows why rows were refused, grouped, with counts and samples.

--retry feeds the records in quarantine again, each once, in a new run that is linked to this one: from the bytes on record,
through the document on record or the one that --pipeline names. With the same document the outputs get names of their own,
such as out/orders.retry-1.csv. Records of which a part arrived somewhere are left out, and listed.

` + runArgument,
		Example: `  waymark errors last
  waymark errors last --retry --pipeline mended.yaml --why "amounts may be empty"`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			if o.wanted {
				ctx, stop := a.untilInterrupted(cmd.Context())
				defer stop()
				return a.retry(ctx, args[0], o)
			}
			return a.query(cmd.Context(), args[0], func(r *record, run landscape.Run) error {
				groups, err := r.log.ErrorGroups(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				files, err := r.files(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				named, err := r.nameTokens(cmd.Context(), run.ID, groups)
				if err != nil {
					return err
				}
				return printList(a, named, func(w io.Writer) error { return writeErrors(w, run, named, files > 1) })
			})
		},
	}
	o.addFlags(cmd)
	return cmd
}

// errorGroup is a landscape.ErrorGroup with the ids of its tokens.
type errorGroup struct {
	landscape.ErrorGroup
	Samples []errorSample `json:"samples"` // in the place of the group's
}

// errorSample is one error of a group.
type errorSample struct {
	landscape.Sample
	Token string `json:"token,omitempty"` // unless it is a row as a source has it
}

// nameTokens names the tokens of the samples that are not rows as sources have them.
func (r *record) nameTokens(ctx context.Context, run string, groups []landscape.ErrorGroup) ([]errorGroup, error) {
	named := make([]errorGroup, len(groups))
	for i, group := range groups {
		named[i] = errorGroup{ErrorGroup: group, Samples: make([]errorSample, len(group.Samples))}
		for k, sample := range group.Samples {
			id, err := r.log.TokenID(ctx, run, landscape.Token{Source: sample.Source, Lane: sample.Lane, Row: sample.Row})
			if err != nil {
				return nil, err
			}
			if sample.File != "" && id == fmt.Sprintf("%s:%d", sample.Source, sample.Row) {
				id = ""
			}
			named[i].Samples[k] = errorSample{sample, id}
		}
	}
	return named, nil
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
		if info.List == "" {
			continue
		}
		files := map[string]bool{} // from which the records came that are fed again
		for chunk, err := range r.log.Chunks(ctx, run, source.Source) {
			if err != nil {
				return 0, err
			}
			files[chunk.File] = true
		}
		count += len(files)
	}
	return count, nil
}

// writeErrors writes the groups for people; withFiles says in which file a line is.
func writeErrors(w io.Writer, run landscape.Run, groups []errorGroup, withFiles bool) error {
	if len(groups) == 0 {
		_, err := fmt.Fprintf(w, "no row of run %s was refused\n", run.ID)
		return err
	}
	question := "--row N"
	for _, group := range groups {
		fmt.Fprintf(w, "%s refused by %s: %s\n", many(group.Count, "row"), group.Node, cell(headline(group.ErrorGroup)))
		lines := make([][]string, len(group.Samples))
		for i, sample := range group.Samples {
			if sample.Token != "" {
				question = "--token ID"
			}
			lines[i] = []string{"  " + sample.name(), sample.place(withFiles), sample.Message, "→ " + destination(sample.SentTo)}
		}
		if err := table(w, lines...); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "waymark explain %s %s tells more about one of them\n", run.ID, question)
	return err
}

// name names the token of a sample: a row of a source by its number, others by their ids.
func (s errorSample) name() string {
	if s.Token != "" {
		return s.Token
	}
	return s.Source + " row " + fmt.Sprint(s.Row)
}

// place says where the record was read; rows that came out of a barrier were not.
func (s errorSample) place(withFiles bool) string {
	switch {
	case s.File == "":
		return "came out of " + s.Source
	case withFiles:
		return "line " + fmt.Sprint(s.Line) + " of " + s.File
	default:
		return "line " + fmt.Sprint(s.Line)
	}
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
