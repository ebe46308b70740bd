package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) endpointCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "endpoint", Short: "Set where webhooks deliver what happens; list, test, enable, disable and remove endpoints", Args: noArgs, RunE: help}
	cmd.AddCommand(a.endpointAddCommand(), a.endpointListCommand(), a.endpointTestCommand(),
		a.endpointTurnCommand(landscape.EnableEndpoint, "Deliver to an endpoint again, also what happened since it was disabled"),
		a.endpointTurnCommand(landscape.DisableEndpoint, "Deliver nothing to an endpoint until it is enabled; events wait as long as they are kept"),
		a.endpointTurnCommand(landscape.RemoveEndpoint, "Remove an endpoint"))
	return cmd
}

// endpointChanged is what a change of an endpoint prints.
type endpointChanged struct {
	Endpoint string `json:"endpoint"`
	Changed  bool   `json:"changed"`
}

func (a *app) endpointAddCommand() *cobra.Command {
	var r local.EndpointRequest
	cmd := &cobra.Command{
		Use:   "add NAME --url URL --secret NAME --why TEXT",
		Short: "Add an endpoint, or change it",
		Long: `Adds an endpoint, to which waymark serve and workers deliver events, signed as Standard Webhooks say. If there is one with the name, it becomes what the
command line says; it continues where it was.

--secret is the name of a secret, never its value: a file in the --secrets-dir of the process that delivers, ` +
			`or its variable WAYMARK_SECRET_NAME. The settings
of that process give it to the endpoint: secrets: {NAME: {endpoints: [ledger], hosts: [ledger.example.com]}}. ` +
			`Its value is whsec_ and base64. With several, each delivery has a signature of each: add the new one, ` +
			`let the receiver know it, and leave out the old one.

The URL is recorded. Only public addresses are reached, and the networks of --allow-network.`,
		Example: `  waymark endpoint add ledger --url https://ledger.example.com/hook --secret ledger --kinds run.completed,run.failed --why "books follow runs"
  waymark endpoint add marquez --url http://10.0.0.5:5000/api/v1/lineage --format openlineage --why lineage`,
		Args: exactlyOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(r.Why); err != nil {
				return err
			}
			r.Name = args[0]
			if !cmd.Flags().Changed("from") {
				r.From = -1
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				added, err := home.SetEndpoint(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.print(endpointChanged{r.Name, true}, func(w io.Writer) error {
					did := "changed"
					if added {
						did = "added"
					}
					_, err := fmt.Fprintf(w, "endpoint %s %s; waymark endpoint test %s sends it a ping\n", r.Name, did, r.Name)
					return err
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.URL, "url", "", "`URL` that gets the events")
	flags.StringSliceVar(&r.Secrets, "secret", nil, "`name` of the secret that signs; can be repeated")
	flags.StringVar((*string)(&r.Format), "format", string(landscape.StandardFormat), "standard, or openlineage for beginnings and ends of runs")
	flags.StringVar((*string)(&r.Order), "order", string(landscape.StrictOrder), "strict: an event waits until the one before it was taken; any: it does not")
	flags.StringSliceVar(&r.Kinds, "kinds", nil, "deliver only events of these `kinds`, separated by commas")
	flags.StringSliceVar(&r.Pipelines, "pipelines", nil, "deliver only events of these `pipelines`, separated by commas")
	flags.StringVar(&r.Environment, "in", "", "deliver only events of deployed pipelines in this `environment`")
	numberFlag(flags, &r.From, "from", "", 0, 0, "deliver also the events after this `position` (default those that happen from now on)")
	whyFlag(cmd, &r.Why)
	return cmd
}

func (a *app) endpointListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the endpoints, what waits for each, and what it did not take", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				list, err := home.Endpoints(cmd.Context())
				if err != nil {
					return err
				}
				lines := [][]string{{"endpoint", "state", "waiting", "oldest", "dead", "format", "order", "url", "events"}}
				for i := range list {
					e := &list[i]
					state := "enabled"
					switch {
					case e.Disabled:
						state = "disabled by " + e.Actor
					case e.Failing.Known():
						state = "failing since " + moment(e.Failing)
					}
					oldest := "-"
					if e.Oldest.Known() {
						oldest = moment(e.Oldest)
					}
					events := append(append([]string{}, e.Kinds...), e.Pipelines...)
					lines = append(lines, []string{
						e.Name, text.Cell(state), fmt.Sprint(e.Waiting), oldest, fmt.Sprint(e.Dead), string(e.Format), string(e.Order), e.URL, text.Cell(cmp.Or(strings.Join(events, " "), "all")),
					})
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
}

func (a *app) endpointTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Send a ping to an endpoint from this process, and say what it answered",
		Long: `Sends an event of the kind ping once, from this process, with its --secrets-dir and --allow-network, and says what came of it. Nothing is recorded.
Exit code 1: the endpoint did not take it.`,
		Args: exactlyOne("endpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				tested, err := home.TestEndpoint(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				code := exitDone
				if tested.Error != "" {
					code = exitFailed
				}
				return endWith(code, a.print(tested, func(w io.Writer) error {
					told := fmt.Sprintf("took it, with status %d", tested.Status)
					if tested.Error != "" {
						told = "did not take it: " + tested.Error
					}
					_, err := fmt.Fprintf(w, "endpoint %s %s, after %d ms\n", tested.Endpoint, told, tested.Millis)
					return err
				}))
			})
		},
	}
}

func (a *app) endpointTurnCommand(action landscape.EndpointAction, short string) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use: string(action) + " NAME --why TEXT", Short: short, Args: exactlyOne("endpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				changed, err := home.TurnEndpoint(cmd.Context(), args[0], action, why)
				if err != nil {
					return err
				}
				return a.print(endpointChanged{args[0], changed}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "endpoint %s %sd%s\n", args[0], action, already(changed))
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) deliveriesCommand() *cobra.Command {
	var state string
	var after int64
	var limit int
	cmd := &cobra.Command{
		Use:   "deliveries [ENDPOINT]",
		Short: "List which endpoint got which event, what is due, and what an endpoint did not take; deliver again",
		Args:  takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				list, err := home.Deliveries(cmd.Context(), strings.Join(args, ""), landscape.DeliveryState(state), after, limit)
				if err != nil {
					return err
				}
				lines := [][]string{{"endpoint", "event", "type", "state", "attempts", "next", "last"}}
				for i := range list {
					d := &list[i]
					next := "-"
					if d.Next.Known() {
						next = moment(d.Next)
					}
					lines = append(lines, []string{
						d.Endpoint, fmt.Sprint(d.Position), string(d.Type), string(d.State), fmt.Sprint(d.Attempts), next, text.Cell(cmp.Or(d.Error, "-")),
					})
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
	cmd.Flags().StringVar(&state, "only", "", "show only deliveries in this `state`: due, ok or dead")
	numberFlag(cmd.Flags(), &after, "after", "", 0, 0, "show those of events after this `position`")
	numberFlag(cmd.Flags(), &limit, "limit", "n", 0, 100, "how many `deliveries` of each endpoint to show, 0 for all")
	cmd.AddCommand(a.replayDeliveriesCommand())
	return cmd
}

// replayed is what `waymark deliveries replay` prints.
type replayed struct {
	Endpoint string `json:"endpoint"`
	Events   int    `json:"events"`
}

func (a *app) replayDeliveriesCommand() *cobra.Command {
	var r landscape.Replayed
	var kinds []string
	cmd := &cobra.Command{
		Use:   "replay ENDPOINT --from POSITION",
		Short: "Deliver events to an endpoint again, under their old ids",
		Long: `Delivers events to an endpoint again, under the ids that they had, so that a receiver that keeps ids does nothing twice: those from a position on, or those that it
did not take (--dead). Events that are older than the endpoint are delivered for the first time.`,
		Example: `  waymark deliveries replay ledger --from 1200
  waymark deliveries replay ledger --dead`,
		Args: exactlyOne("endpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.From == 0 && !r.Dead {
				return wrongUsef("say which events: --from POSITION, or --dead")
			}
			for _, kind := range kinds {
				r.Kinds = append(r.Kinds, landscape.EventKind(kind))
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				n, err := home.Replay(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				return a.print(replayed{args[0], n}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s due again at endpoint %s\n", text.Count(int64(n), "event"), args[0])
					return err
				})
			})
		},
	}
	numberFlag(cmd.Flags(), &r.From, "from", "", 1, 0, "`position` of the first event")
	cmd.Flags().BoolVar(&r.Dead, "dead", false, "only events that the endpoint did not take")
	cmd.Flags().StringSliceVar(&kinds, "kinds", nil, "only events of these `kinds`, separated by commas")
	return cmd
}
