package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/engine/plan"
)

var planFormats = []string{"text", "dot", "mermaid", "json"}

func (a *app) planCommand() *cobra.Command {
	var params []string
	var slot client.SlotOf
	var format string
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show the graph that a document compiles to",
		Long: `Shows the sources, steps and sinks of a document, and how rows go from one to the next. --format dot and mermaid draw the graph with other
programs.`,
		Example: `  waymark plan pipeline.yaml
  waymark plan pipeline.yaml --format dot | dot -Tsvg -o plan.svg`,
		Args: exactlyOne("document"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(planFormats, format) {
				return wrongUsef("--format %q: write one of %s", format, strings.Join(planFormats, ", "))
			}
			doc, err := a.compileAny(args[0], params, slot)
			if err != nil {
				return err
			}
			a.json = a.json || format == "json"
			description := doc.Plan.Describe()
			return a.print(description, func(w io.Writer) error { return draw(w, description, format) })
		},
	}
	paramFlag(cmd, &params)
	slotFlags(cmd, &slot)
	cmd.Flags().StringVar(&format, "format", "text", "`format`: text, dot, mermaid or json")
	fixed := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return planFormats, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc("format", fixed); err != nil {
		panic(fmt.Sprintf("completion of --format: %v", err)) // the flag was defined two lines above
	}
	return cmd
}

func draw(w io.Writer, description plan.Description, format string) error {
	switch format {
	case "dot":
		return description.WriteDOT(w)
	case "mermaid":
		return description.WriteMermaid(w)
	default:
		return description.WriteText(w)
	}
}
