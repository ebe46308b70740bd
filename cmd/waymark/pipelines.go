package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
)

func (a *app) pipelinesCommand() *cobra.Command {
	var environment string
	cmd := &cobra.Command{
		Use:   "pipelines",
		Short: "List the deployed pipelines; show and compare their versions, and show their history",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				list, err := home.Pipelines(cmd.Context(), environment)
				if err != nil {
					return err
				}
				lines := [][]string{{"pipeline", "version", "deployed", "by", "git", "message"}}
				for i := range list {
					p := &list[i]
					lines = append(lines, []string{
						p.Pipeline, versionText(p), moment(p.Deployed), p.Deployer, gitText(p.Commit, p.Dirty), text.Cell(cmp.Or(p.Message, "-")),
					})
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
	environmentFlag(cmd.PersistentFlags(), &environment)
	cmd.AddCommand(a.pipelineShowCommand(&environment), a.pipelineDiffCommand(&environment), a.pipelineHistoryCommand(&environment))
	return cmd
}

func (a *app) pipelineShowCommand(environment *string) *cobra.Command {
	var document bool
	cmd := &cobra.Command{
		Use:   "show NAME[@VERSION]",
		Short: "Show a version of a pipeline (default the current one)",
		Args:  exactlyOne("pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				if document {
					return a.showDocument(cmd.Context(), home, *environment, args[0])
				}
				p, err := home.Pipeline(cmd.Context(), *environment, args[0])
				if err != nil {
					return err
				}
				return a.print(p, func(w io.Writer) error { return writePipeline(w, &p) })
			})
		},
	}
	cmd.Flags().BoolVar(&document, "document", false, "show the document; with --json also the parameters that it declares")
	return cmd
}

func (a *app) showDocument(ctx context.Context, home record, environment, word string) error {
	document, err := home.PipelineDocument(ctx, environment, word)
	if err != nil {
		return err
	}
	return a.print(document, func(w io.Writer) error {
		_, err := io.WriteString(w, document.Document)
		return err
	})
}

// versionText names the version of a pipeline, and says if it is retired.
func versionText(p *client.Pipeline) string {
	if p.Retired {
		return fmt.Sprintf("%d, retired", p.Version)
	}
	return fmt.Sprint(p.Version)
}

func writePipeline(w io.Writer, p *client.Pipeline) error {
	there := inText(p.Environment)
	state := fmt.Sprintf("current%s is %s@%d", there, p.Pipeline, p.Current)
	switch {
	case p.Retired:
		state = fmt.Sprintf("retired%s since %s by %s: %s", there, moment(p.Changed), p.Actor, text.Cell(p.Why))
	case p.Version == p.Current:
		state = fmt.Sprintf("current%s since %s", there, moment(p.Deployed))
	}
	lines := [][]string{
		{fmt.Sprintf("%s@%d", p.Pipeline, p.Version), state},
		{"bundle", "sha256 " + p.Bundle},
		{"made", fmt.Sprintf("%s by %s on %s, of %s", moment(p.Created), p.Author, p.Host, p.Folder)},
		{"message", text.Cell(cmp.Or(p.Message, "-"))},
		{"git", gitText(p.Commit, p.Dirty)},
		{"code", p.Code},
	}
	for _, file := range p.Files {
		lines = append(lines, []string{string(file.Role), fmt.Sprintf("%s   %d bytes   sha256 %.12s", file.Path, file.Bytes, file.SHA256)})
	}
	return text.Table(w, lines...)
}

func (a *app) pipelineDiffCommand(environment *string) *cobra.Command {
	var params []string
	cmd := &cobra.Command{
		Use:   "diff NAME@VERSION NAME[@VERSION]",
		Short: "Compare what two versions do, then their text",
		Args:  takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := parsePairs("--param", "NAME=VALUE", params)
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), func(home record) error {
				d, err := home.DiffPipelines(cmd.Context(), *environment, args[0], args[1], given)
				if err != nil {
					return err
				}
				return a.print(d, func(w io.Writer) error {
					_, err := io.WriteString(w, diffText(d))
					return err
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&params, "param", nil, "value `NAME=VALUE` of a parameter that has no default, to compile both with; repeat for more")
	return cmd
}

// diffText says what two versions do differently, and then in which lines.
func diffText(d *client.PipelineDiff) string {
	if d.Same {
		return fmt.Sprintf("%s and %s are the same bytes\n", d.From, d.To)
	}
	var out strings.Builder
	switch {
	case d.Plans == nil:
		out.WriteString("plans are not compared: not both versions compile here, with these parameters and options\n")
	case *d.Plans && len(d.Value) == 0:
		out.WriteString("plans are equal: only comments or layout moved\n")
	case *d.Plans:
		out.WriteString("plans are equal\n")
	default:
		out.WriteString("plans differ\n")
	}
	for _, f := range d.Files {
		fmt.Fprintf(&out, "  %s %s\n", f.Path, changeText(f.Change, fmt.Sprintf("%.12s", f.Before), fmt.Sprintf("%.12s", f.After)))
	}
	for _, v := range d.Value {
		fmt.Fprintf(&out, "  %s %s\n", v.Path, changeText(v.Change, text.Cell(v.Before), text.Cell(v.After)))
	}
	if d.Text != "" {
		out.WriteString("\n" + d.Text + "\n")
	}
	return out.String()
}

func changeText(change client.ChangeKind, before, after string) string {
	switch change {
	case client.Added:
		return "added: " + after
	case client.Removed:
		return "removed: " + before
	case client.Moved:
		return "in another order: " + after
	}
	return before + " → " + after
}

func (a *app) pipelineHistoryCommand(environment *string) *cobra.Command {
	return &cobra.Command{
		Use:   "history NAME",
		Short: "List who made which version current, when, why and from which commit, newest first; also who retired the pipeline",
		Args:  exactlyOne("pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				history, err := home.PipelineHistory(cmd.Context(), *environment, args[0])
				if err != nil {
					return err
				}
				lines := [][]string{{"when", "action", "version", "before", "by", "git", "why"}}
				for _, h := range history {
					lines = append(lines, []string{
						moment(h.At), string(h.Action), fmt.Sprint(h.Version), fmt.Sprint(h.Before), h.Actor, gitText(h.Commit, h.Dirty), text.Cell(cmp.Or(h.Why, "-")),
					})
				}
				return printList(a, history, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
}
