package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) scheduleListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the schedules of deployed pipelines", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				list, err := home.Schedules(cmd.Context(), cmd.Flag(inEnvironment).Value.String())
				if err != nil {
					return err
				}
				lines := [][]string{{"schedule", "from", "next", "slot", "last", "", "paused"}}
				for i := range list {
					lines = append(lines, scheduleLine(&list[i]))
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
}

// origins says where a schedule comes from.
var origins = map[landscape.ScheduleOrigin]string{landscape.FromDocument: "its document", landscape.FromCommand: "a command"}

func scheduleLine(s *client.Schedule) []string {
	last, state := "-", ""
	if s.Last != nil {
		last, state = s.Last.Name, string(s.Last.State)
	}
	return []string{s.ID, origins[s.Origin], zoned(s.Next, s.Zone), cmp.Or(s.NextSlot, "-"), last, state, text.Cell(pauseText(s))}
}

func pauseText(s *client.Schedule) string {
	if !s.Paused {
		return "-"
	}
	return fmt.Sprintf("by %s%s: %s", s.Actor, untilText(s), s.Why)
}

// untilText follows what is said of a pause: when it ends by itself; empty if it does not.
func untilText(s *client.Schedule) string {
	if !s.Until.Known() {
		return ""
	}
	return " until " + zoned(s.Until, s.Zone)
}

// zoned is a moment as clocks of a zone show it.
func zoned(at client.Time, zone string) string {
	if !at.Known() {
		return "-"
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		location = time.UTC
	}
	layout := "2006-01-02 15:04 -07:00"
	if at.Time().Second() != 0 {
		layout = "2006-01-02 15:04:05 -07:00"
	}
	return at.Time().In(location).Format(layout)
}

func (a *app) scheduleHistoryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "history SCHEDULE", Short: "Show every change of a schedule and every request about its slots: who made it, when and why", Args: exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onSchedule(cmd, args[0], func(home *local.Home, id string) error {
				history, err := home.ScheduleHistory(cmd.Context(), id)
				if err != nil {
					return err
				}
				lines := [][]string{{"when", "what", "version", "by", "why"}}
				for _, h := range history {
					version := "-"
					if h.Version > 0 {
						version = fmt.Sprint(h.Version)
					}
					lines = append(lines, []string{moment(h.At), scheduleChangeText(h), version, h.Actor, text.Cell(cmp.Or(h.Why, "-"))})
				}
				return printList(a, history, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
}

// scheduleChangeText says what somebody did to a schedule, or asked for about its slots.
func scheduleChangeText(h client.ScheduleChange) string {
	switch {
	case h.Again:
		return h.Action + " " + h.First + " again"
	case h.First == h.Last && h.First != "":
		return h.Action + " " + h.First
	case h.AtOnce > 1:
		return fmt.Sprintf("%s %s..%s, %d at once", h.Action, h.First, h.Last, h.AtOnce)
	case h.First != "":
		return h.Action + " " + h.First + ".." + h.Last
	case h.Until.Known() && h.Action == string(landscape.PauseSchedule):
		return h.Action + " until " + moment(h.Until)
	}
	return h.Action
}

func (a *app) schedulePauseCommand() *cobra.Command {
	var why, until string
	cmd := &cobra.Command{
		Use:   "pause SCHEDULE --why TEXT",
		Short: "Pause a schedule, so that it starts no runs",
		Long: `Pauses a schedule until it is resumed, or until the time of --until: it starts no runs. Runs that are executing continue. Slots that become due
meanwhile are missed, and the reason is recorded; resume --make-up, or backfill, gives them runs.`,
		Example: `  waymark schedule pause nightly --why "the ledger is being moved"
  waymark schedule pause orders/nightly --until 2026-12-01T06:00:00Z --why holidays`,
		Args: exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			var end time.Time
			if until != "" {
				var err error
				if end, err = time.Parse(time.RFC3339, until); err != nil {
					return wrongUsef("--until %s is no instant: write it as 2026-12-01T06:00:00Z", until)
				}
			}
			return a.askSchedule(cmd, args[0], func(home record, id string) error {
				s, err := home.PauseSchedule(cmd.Context(), id, end, a.by(why))
				if err != nil {
					return err
				}
				return a.print(s, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "schedule %s is paused%s%s; resume it: waymark schedule resume %[1]s\n",
						s.ID, untilText(&s.Schedule), already(s.Changed))
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	cmd.Flags().StringVar(&until, "until", "", "`instant` at which the pause ends by itself, such as 2026-12-01T06:00:00Z")
	return cmd
}

func (a *app) scheduleResumeCommand() *cobra.Command {
	var why, up string
	cmd := &cobra.Command{
		Use:   "resume SCHEDULE",
		Short: "Resume a paused schedule, so that it starts runs again",
		Example: `  waymark schedule resume nightly
  waymark schedule resume nightly --make-up last`,
		Args: exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch client.MakeUp(up) {
			case client.MakeUpAll, client.MakeUpLast, client.MakeUpNone:
			default:
				return wrongUsef("--make-up %s: write all, last or none", up)
			}
			return a.askSchedule(cmd, args[0], func(home record, id string) error {
				did, err := home.ResumeSchedule(cmd.Context(), id, client.MakeUp(up), a.by(why))
				if err != nil {
					return err
				}
				return a.print(did, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "schedule %s is resumed%s; next: slot %s at %s\n",
						did.ID, already(did.Changed), did.NextSlot, zoned(did.Next, did.Zone))
					if err != nil || did.MadeUp == nil {
						return err
					}
					return writeAsked(w, did.MadeUp)
				})
			})
		},
	}
	whyFlag(cmd, &why)
	cmd.Flags().StringVar(&up, "make-up", string(client.MakeUpNone), "which `slots` that the pause made it miss get a run now: all, last or none")
	return cmd
}
