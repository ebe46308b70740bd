package main

import (
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/plugin"
)

func (a *app) validateCommand() *cobra.Command {
	var params []string
	var slot client.SlotOf
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a pipeline document; list every problem, or what each sink guarantees",
		Long: `Checks a document without running it: keys, names, types of fields, expressions, paths and the graph. Lists every problem with
file, line, column and cure, and exits with code 2. If there is none, it lists what each sink guarantees about a run that was killed and resumed.`,
		Example: `  waymark validate pipeline.yaml
  waymark validate pipeline.yaml --param limit=100 --json`,
		Args: exactlyOne("document"),
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := a.compileAny(args[0], params, slot)
			v, invalid := client.Validated(doc, err)
			if invalid != nil || !v.OK && !a.json {
				return err
			}
			code := exitDone
			if !v.OK {
				code = exitUsage
			}
			return endWith(code, a.print(v, func(w io.Writer) error { return writePromises(w, v) }))
		},
	}
	paramFlag(cmd, &params)
	slotFlags(cmd, &slot)
	return cmd
}

// paramFlag defines --param.
func paramFlag(cmd *cobra.Command, params *[]string) {
	cmd.Flags().StringArrayVar(params, "param", nil, "parameter of the document as `NAME=VALUE`; repeat for more")
}

// meanings say in words what a guarantee promises about a run that was killed and resumed.
var meanings = map[plugin.Guarantee]string{
	plugin.Transactional: "every row once, in the target's own transaction",
	plugin.Idempotent:    "every row once: a repeat writes the same bytes to the same place",
	plugin.Reconcilable:  "every row once: the target is asked before a repeat",
	plugin.AtLeastOnce:   "every row at least once: a repeat may write it twice",
}

func writePromises(w io.Writer, v *client.Validation) error {
	lines := [][]string{{v.Pipeline + ": ok", "", "", ""}}
	for _, sink := range v.Sinks {
		lines = append(lines, []string{"  " + sink.Sink, string(sink.Guarantee), meanings[sink.Guarantee], sink.Location})
	}
	return text.Table(w, lines...)
}
