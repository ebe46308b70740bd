package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) outboxCommand() *cobra.Command {
	var filter client.OutboxFilter
	var kinds []string
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "List what happened in all runs, starts, slots and deployments, in one order that never changes",
		Long: `Lists events: runs that began and ended, outputs that were published, starts that were refused, slots that are late, deployments. Each has a position, which
never changes, so that a program that keeps the last position it has seen misses nothing: it asks for what comes --after it. Webhooks (waymark endpoint) deliver
the same events. waymark events RUN shows what happened in one run in detail.

Events hold names, ids, counts and digests, no values of rows. Old ones are dropped, after 30 days ` +
			`or as the settings of the server say (retention, debugging).`,
		Example: `  waymark outbox --json
  waymark outbox --after 1207 --follow --kinds run.completed,run.failed --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, kind := range kinds {
				filter.Kinds = append(filter.Kinds, landscape.EventKind(kind))
			}
			return a.ask(cmd.Context(), func(home record) error {
				dropped, err := home.Outbox(cmd.Context(), filter, a.printEvent)
				if dropped > 0 {
					a.note("%s after position %d %s dropped: too old",
						text.Count(dropped, "event"), filter.After, text.Agree(dropped, "was", "were"))
				}
				if stopped, ok := errors.AsType[*client.Error](err); filter.Follow && ok && stopped.Kind == client.Interrupted {
					return nil // that is how it ends
				}
				return err
			})
		},
	}
	numberFlag(cmd.Flags(), &filter.After, "after", "", 0, 0, "show the events after this `position`")
	cmd.Flags().BoolVarP(&filter.Follow, "follow", "f", false, "wait for more events, until Ctrl-C")
	cmd.Flags().StringSliceVar(&kinds, "kinds", nil, "show only events of these `kinds`, separated by commas")
	return cmd
}

// printEvent prints an event as soon as it is known.
func (a *app) printEvent(e client.OutboxEvent) error {
	return a.print(e, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%-6d %s  %-27s %s\n", e.Position, e.Timestamp, e.Type, e.Subject)
		return err
	})
}
