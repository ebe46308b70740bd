package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/payload"
)

func (a *app) purgeCommand() *cobra.Command {
	request := client.PurgeRequest{}
	var why, source, derived string
	var p proposal
	periods := false
	cmd := &cobra.Command{
		Use:   "purge (--keep-source TIME --keep-derived TIME | --periods) --why TEXT",
		Short: "Delete the stored payloads of old runs; their hashes and ways are kept",
		Long: `Deletes payloads of runs that ended longer ago than --keep-source (records as read) or --keep-derived (records and states of barriers, which
can be computed again from the source records) allows. Without one of these flags, its payloads are kept. Payloads that another run needs, or
that a hold protects, are never purged.

The landscape stays as it is. waymark explain still shows a row's way and hash, and that its bytes were purged, when, by whom and why; verify
checks everything except these bytes. A run whose source records are gone can be neither resumed nor reproduced. See docs/retention.md.

Servers and workers do the same by the periods in their settings (retention: {source: 400d, derived: 30d}). ` +
			`Shorter periods wait for several persons if a rule asks
for them: --periods is the order that brings them into force.

A run whose document keeps its records longer stays. Other runs can continue during a purge. ` +
			`If a purge is killed, the next one finishes it: ten minutes later, or at once with --finish.`,
		Example: `  waymark purge --keep-source 400d --dry-run
  waymark purge --keep-source 400d --keep-derived 30d --why "retention of 400 days"
  waymark purge --periods --why "90 days suffice" --propose --key ~/.ssh/id_ed25519`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !request.DryRun {
				if err := whyGiven(why); err != nil {
					return err
				}
			}
			request.By = a.by(why)
			request.Keep = map[landscape.Class]string{landscape.SourceClass: source, landscape.DerivedClass: derived}
			if err := p.check(why); err != nil {
				return err
			}
			if periods {
				return a.approvePeriods(cmd, p, why)
			}
			if p.propose {
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderPurge, Args: local.PurgeArgs(request.Keep), Why: why})
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				purge, err := home.Purge(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(purge, func(w io.Writer) error { return writePurge(w, purge) })
			})
		},
	}
	cmd.Flags().StringVar(&source, "keep-source", "", "how `long` source records are kept after their run ended, such as 400d (default forever)")
	cmd.Flags().StringVar(&derived, "keep-derived", "", "how `long` barrier records and states are kept after their run ended, such as 30d or 0d (default forever)")
	cmd.Flags().BoolVar(&periods, "periods", false,
		"bring the retention periods into force that wait for approval, and delete nothing")
	cmd.Flags().BoolVar(&request.DryRun, "dry-run", false, "show what would be deleted, without deleting it")
	cmd.Flags().BoolVar(&request.Finish, "finish", false, "finish a killed purge at once; use it only if no other process is purging")
	whyFlag(cmd, &why)
	p.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("propose", "dry-run", "finish")
	for _, other := range []string{"keep-source", "keep-derived", "dry-run", "finish"} {
		cmd.MarkFlagsMutuallyExclusive("periods", other)
	}
	return cmd
}

// approvePeriods brings the retention periods into force that wait for approval, or proposes that.
func (a *app) approvePeriods(cmd *cobra.Command, p proposal, why string) error {
	if p.propose {
		var args map[string]string
		err := a.existing(cmd.Context(), func(home *local.Home) (err error) {
			args, err = home.PeriodsArgs(cmd.Context())
			return err
		})
		if err != nil {
			return err
		}
		return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderPurge, Args: args, Why: why})
	}
	return a.existing(cmd.Context(), func(home *local.Home) error {
		approved, err := home.ApprovePeriods(cmd.Context(), a.by(why))
		if err != nil {
			return err
		}
		return a.print(approved, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, approved)
			return err
		})
	})
}

func writePurge(w io.Writer, p *client.Purge) error {
	did := "deleted"
	if p.DryRun {
		did = "would delete"
	}
	line := fmt.Sprintf("%s %s, %s, of %s",
		did, text.Count(int64(p.Deleted), "payload"), text.Count(p.Bytes, "byte"), text.Count(p.RunCount(), "run"))
	if p.Purge > 0 {
		line += fmt.Sprintf(" (order %d)", p.Purge)
	}
	for _, more := range []struct {
		n         int
		one, many string
	}{
		{p.Finished, "of them had been begun by an earlier purge", "of them had been begun by an earlier purge"},
		{p.Shared, "is due and stays: other runs need it", "are due and stay: other runs need them"},
		{p.Longer, "of the runs stays longer: its document says so", "of the runs stay longer: their documents say so"},
		{
			p.Kept, "came into use, or under a hold, meanwhile, and stays",
			"came into use, or under a hold, meanwhile, and stay",
		},
		{
			p.Left, "is being deleted by another purge: if its process is dead, waymark purge --finish does it now",
			"are being deleted by another purge: if its process is dead, waymark purge --finish does it now",
		},
	} {
		if n := int64(more.n); n > 0 {
			line += fmt.Sprintf("\n%s %s", text.Grouped(n), text.Agree(n, more.one, more.many))
		}
	}
	if _, err := fmt.Fprintln(w, line); err != nil || len(p.Held) == 0 {
		return err
	}
	table := [][]string{{"held", "class", "hold", "why"}}
	for _, held := range p.Held {
		table = append(table, []string{held.Run, string(held.Class), fmt.Sprint(held.Hold), text.Cell(held.Why)})
	}
	return text.Table(w, table...)
}

func (a *app) holdCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "hold", Short: "Protect payloads of runs from purges; list the holds", Args: noArgs, RunE: help}
	cmd.AddCommand(a.holdAddCommand(), a.holdEndCommand(), &cobra.Command{
		Use:   "list",
		Short: "List all holds, including those that have ended",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				holds, err := home.Holds(cmd.Context())
				if err != nil {
					return err
				}
				return printList(a, holds, func(w io.Writer) error { return writeHolds(w, holds) })
			})
		},
	})
	return cmd
}

func writeHolds(w io.Writer, holds []client.Hold) error {
	table := [][]string{{"hold", "about", "runs", "since", "by", "why", "ended"}}
	for _, h := range holds {
		ended := "-"
		if h.Ended.Known() {
			ended = fmt.Sprintf("%s by %s: %s", moment(h.Ended), h.EndedBy, h.EndedWhy)
		}
		table = append(table, []string{fmt.Sprint(h.ID), heldText(h), text.Grouped(h.Runs), moment(h.At), h.Actor, text.Cell(h.Why), text.Cell(ended)})
	}
	return text.Table(w, table...)
}

// heldText says what a hold is about.
func heldText(h client.Hold) string {
	if h.Run != "" {
		return "run " + h.Run
	}
	line := "runs of " + h.Pipeline
	if h.From.Known() {
		line += " from " + moment(h.From)
	}
	if h.Until.Known() {
		line += " to " + moment(h.Until)
	}
	return line
}

func (a *app) holdAddCommand() *cobra.Command {
	var request client.HoldRequest
	var why, from, until string
	cmd := &cobra.Command{
		Use:   "add (RUN | --pipeline NAME) --why TEXT",
		Short: "Protect the payloads of a run, or of a pipeline's runs, from purges",
		Long: `Protects the payloads of a run, or of all runs of a pipeline that started at or after --from and before --until, including future runs, until
the hold is ended. A hold overrides every retention period.

` + runArgument,
		Example: `  waymark hold add last --why "case 2026/17"
  waymark hold add --pipeline orders --from 2026-10-01 --until 2026-11-01 --why "audit of October"`,
		Args:              takes(0, 1),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := whyGiven(why)
			if err == nil && len(args) > 0 {
				request.Run, err = onlyRun(args[0], request.Run)
			}
			if err == nil {
				request.From, err = momentGiven("from", from)
			}
			if err == nil {
				request.Until, err = momentGiven("until", until)
			}
			if err != nil {
				return err
			}
			request.By = a.by(why)
			return a.existing(cmd.Context(), func(home *local.Home) error {
				hold, err := home.AddHold(cmd.Context(), request)
				if err != nil {
					return err
				}
				if hold.Runs == 0 {
					a.note("no recorded run is one of these: the hold is about future runs only")
				}
				return a.print(hold, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "hold %d: %s\n", hold.ID, heldText(*hold))
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&request.Run, "run", "", "the same as the argument `RUN`")
	cmd.Flags().StringVar(&request.Pipeline, "pipeline", "", "`name` of the pipeline")
	cmd.Flags().StringVar(&from, "from", "", "hold runs that started at or after this `day` or time, such as 2026-10-01 (default all)")
	cmd.Flags().StringVar(&until, "until", "", "hold runs that started before this `day` or time (default no limit)")
	whyFlag(cmd, &why)
	return cmd
}

// onlyRun returns the run that an argument names, if no flag names one.
func onlyRun(argument, flag string) (string, error) {
	if flag != "" {
		return "", wrongUsef("name the run once: %q and --run %q exclude each other", argument, flag)
	}
	return argument, nil
}

// momentGiven reads a day, in the time zone of this machine, or a moment of RFC 3339; zero if nothing is given.
func momentGiven(flag, word string) (at time.Time, err error) {
	if word == "" {
		return at, nil
	}
	if at, err = time.ParseInLocation(time.DateOnly, word, time.Local); err == nil {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339, word); err == nil {
		return at, nil
	}
	return at, wrongUsef("--%s %q is no moment: write a day as 2026-10-01, or a moment as 2026-10-01T06:00:00Z", flag, word)
}

// holdEnded is what `waymark hold end` prints.
type holdEnded struct {
	Hold    int64 `json:"hold"`
	Changed bool  `json:"changed"` // else it had ended already
}

func (a *app) holdEndCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "end HOLD --why TEXT",
		Short: "End a hold, so that purges can delete the payloads again",
		Args:  exactlyOne("hold"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return notHold(args[0])
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				changed, err := home.EndHold(cmd.Context(), id, a.by(why))
				if err != nil {
					return err
				}
				return a.print(holdEnded{id, changed}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "hold %d has ended%s\n", id, already(changed))
					return err
				})
			})
		},
	}
	refuseNegative(cmd, notHold)
	whyFlag(cmd, &why)
	return cmd
}

// notHold refuses what is not the number of a hold.
func notHold(word string) error {
	return wrongUsef("%.64q is not the number of a hold; `waymark hold list` shows them", word)
}

// scrubbed is what `waymark scrub` prints.
type scrubbed struct {
	Objects    int       `json:"objects"`
	Bytes      int64     `json:"bytes"`
	Corrupt    int       `json:"corrupt"`
	Unreadable int       `json:"unreadable"`
	Missing    int       `json:"missing"`
	Problems   []unclean `json:"problems"` // not nil
}

type unclean struct {
	Payload payload.Digest `json:"payload"`
	Detail  string         `json:"detail"`
}

func (a *app) scrubCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scrub",
		Short: "Read every payload and find damaged and missing ones",
		Long: `Reads every payload in the store, whichever run needs it, and compares its hash with its name. Then it looks for every payload that runs and
deployed versions need. Changes nothing. Exit code 4 if a payload does not match its name, cannot be read, or is missing although nobody purged it.
Restoring a backup repairs it, and so does a run that stores the same bytes again.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				found := scrubbed{Problems: []unclean{}}
				report, err := home.Scrub(cmd.Context(), func(p payload.Problem) {
					found.Problems = append(found.Problems, unclean{p.Digest, p.Err.Error()})
				})
				if err != nil {
					return err
				}
				found.Objects, found.Bytes, found.Corrupt, found.Unreadable, found.Missing = report.Objects, report.Bytes, report.Corrupt, report.Unreadable, report.Missing
				code := exitDone
				if len(found.Problems) > 0 {
					code = exitUnverified
				}
				return endWith(code, a.print(found, func(w io.Writer) error { return writeScrubbed(w, found) }))
			})
		},
	}
}

func writeScrubbed(w io.Writer, s scrubbed) error {
	for _, p := range s.Problems {
		if _, err := fmt.Fprintf(w, "%s: %s\n", p.Payload, p.Detail); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s, %s: %d corrupt, %d unreadable, %d missing\n",
		text.Count(int64(s.Objects), "payload"), text.Count(s.Bytes, "byte"), s.Corrupt, s.Unreadable, s.Missing)
	return err
}
