package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/plugin"
)

func (a *app) attestCommand() *cobra.Command {
	var request client.AttestRequest
	cmd := &cobra.Command{
		Use:   "attest RUN",
		Short: "Read the outputs of a run again, compare them with what it wrote, and record the result",
		Long: `Reads the target of every output that a run published, and says of each what is still as the run wrote it, what was changed, what is missing, and what a
later run replaced. Of a file or folder it compares every part, of a bucket every object, of a table every row, which it computes again; and where the name of the
latest output leads. It names the first row that differs, and between which two attestations the change happened.

The result is recorded, and has an entry in the landscape's log. No target is changed. Exit code 4 if something was changed or is missing.

` + runArgument,
		Example: `  waymark attest last
  waymark attest 0198c1 --sink review --sample 1000`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], func(home *local.Home, run landscape.Run) error {
				found, err := home.Attest(cmd.Context(), run, request)
				if err != nil {
					return err
				}
				return endWith(attestedCode(found), a.print(found, func(w io.Writer) error { return writeAttestation(w, found) }))
			})
		},
	}
	numberFlag(cmd.Flags(), &request.Sample, "sample", "", 0, 0, "look only at parts of each output, drawn by lot, that have this many rows together; 0: at all")
	cmd.Flags().StringVar(&request.Sink, "sink", "", "only the output of this `sink`")
	return cmd
}

// attestedCode is the exit code of an attestation.
func attestedCode(found *client.Attestation) int {
	for _, output := range found.Outputs {
		if output.Changed+output.Missing > 0 {
			return exitUnverified
		}
	}
	return exitDone
}

// writeAttestation writes a line for each output, and for each finding one below it.
func writeAttestation(w io.Writer, found *client.Attestation) error {
	var b strings.Builder
	for _, o := range found.Outputs {
		fmt.Fprintf(&b, "%-9s %s  %s  %s\n", o.Result, o.Sink, text.Cell(o.Output), countsOf(o))
		if since := o.Since(); since != "" {
			fmt.Fprintf(&b, "  %s\n", since)
		}
		for _, f := range o.Findings {
			fmt.Fprintf(&b, "  %s\n", text.Cell(findingText(found.Run, o, f)))
		}
	}
	for _, sink := range found.Unpublished {
		fmt.Fprintf(&b, "-         %s  not published: there is nothing to look at\n", sink)
	}
	if len(found.Outputs) > 0 {
		fmt.Fprintf(&b, "attestation %d of run %s", found.Number, found.Run)
		if found.Entry != nil {
			fmt.Fprintf(&b, ", entry %d of the log", *found.Entry)
		}
		fmt.Fprintln(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// countsOf says how many pieces or rows of an output are what.
func countsOf(o client.AttestedOutput) string {
	said := fmt.Sprintf("%s of %s %s equal", text.Grouped(o.Equal), text.Grouped(o.LookedAt), o.Unit)
	for _, more := range []struct {
		state plugin.State
		n     int64
	}{{plugin.Changed, o.Changed}, {plugin.Missing, o.Missing}, {plugin.Replaced, o.Replaced}, {plugin.NotKnown, o.Unknown}} {
		if more.n > 0 {
			said += fmt.Sprintf(", %s %s", text.Grouped(more.n), more.state)
		}
	}
	return said
}

// findingText says what was found of a piece or row.
func findingText(run string, o client.AttestedOutput, f plugin.Finding) string {
	said := string(f.State)
	if f.Part != nil {
		said += fmt.Sprintf(" part %d", *f.Part)
	}
	if f.Line > 0 {
		said += fmt.Sprintf(" row %d", f.Line)
	}
	said += ": " + f.Why
	switch {
	case f.State == plugin.Replaced:
		said += ": run " + f.Run
	case f.Line > 0 && f.Part != nil: // else the run wrote no such row
		said += fmt.Sprintf(": waymark explain %s --sink %s --line %d", run, o.Sink, f.Line)
	}
	return said
}
