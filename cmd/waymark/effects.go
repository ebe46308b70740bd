package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) effectsCommand() *cobra.Command {
	var all bool
	var p page
	cmd := &cobra.Command{
		Use:   "effects RUN",
		Short: "Show the completion record of every part of every output",
		Long: `Shows the completion record of every write to a sink and of every publication. SINK/SOURCE:CHUNK is the part of a sink's
output that comes from one chunk; SINK is the publication of the whole output.

prepared   the bytes to write are known; no attempt has started
in_flight  an attempt has started, and may have reached the target
finalized  the target confirmed the write
blocked    the target cannot say whether an attempt reached it: look there, then run waymark resolve
reserved   the publication has not started yet

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askRun(cmd.Context(), args[0], func(home record, run landscape.Run) error {
				effects, err := home.Effects(cmd.Context(), run.ID, p.after, p.limit, all)
				if err != nil {
					return err
				}
				if n := len(effects); n > 0 {
					p.note(a, n, effects[n-1].ID)
				}
				return printList(a, effects, func(w io.Writer) error { return writeEffects(w, run.ID, effects) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show every event of every effect, not only the last one")
	p.addFlags(cmd, "effects", 0)
	return cmd
}

func writeEffects(w io.Writer, run string, effects []client.Effect) error {
	lines := [][]string{{"effect", "state", "attempts", "rows", "bytes", "last event"}}
	for _, e := range effects {
		lines = append(lines, []string{e.ID, string(e.State), text.Grouped(e.Attempts), text.Grouped(e.Rows), text.Grouped(e.Bytes), eventText(e.Last)})
		for i := range e.Events {
			lines = append(lines, []string{"", "", fmt.Sprintf("  %d", e.Events[i].Attempt), "", "", eventText(&e.Events[i])})
		}
	}
	if err := text.Table(w, lines...); err != nil {
		return err
	}
	return writeDecisions(w, run, effects)
}

// mostDecided is how many blocked effects have their commands below the table.
const mostDecided = 3

// writeDecisions names the commands that decide blocked effects. A publication can only be said not to be there.
func writeDecisions(w io.Writer, run string, effects []client.Effect) error {
	decided := func(e client.Effect) bool { return e.State != landscape.Blocked }
	blocked := slices.DeleteFunc(slices.Clone(effects), decided)
	if len(blocked) == 0 {
		return nil
	}
	lines := [][]string{}
	for _, e := range blocked[:min(len(blocked), mostDecided)] {
		command := fmt.Sprintf("waymark resolve %s %s", run, shellWord(e.ID))
		if e.Chunk != nil {
			lines = append(lines, []string{command + " --applied --why TEXT", "if it has " + e.ID})
		}
		missing := "if it does not have " + e.ID + ", which is written then"
		lines = append(lines, []string{command + " --not-applied --why TEXT", missing})
	}
	if more := len(blocked) - mostDecided; more > 0 {
		lines = append(lines, []string{fmt.Sprintf("and so for %s more", text.Grouped(int64(more)))})
	}
	lines = append(lines, []string{"waymark resume " + run, "then"})
	fmt.Fprint(w, "\nlook at the target, and decide:\n")
	return text.Table(w, lines...)
}

// mostDetail bounds the detail of an event in a table, in characters.
const mostDetail = 120

// eventText says for people what happened, when, and who did it.
func eventText(e *client.EffectEvent) string {
	if e == nil {
		return "-"
	}
	said := fmt.Sprintf("%s %s by %s", moment(e.At), e.Event, e.Worker)
	if detail := []rune(e.Detail); e.Event != landscape.EffectFinalized && len(detail) > 0 { // a receipt is for machines
		if len(detail) > mostDetail {
			detail = append(detail[:mostDetail], '…')
		}
		said += ": " + string(detail)
	}
	return said
}
