package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waymark/audit/evidence"
	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) logCommand() *cobra.Command {
	var from int64
	var most int
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List the entries of the landscape's log, and how far it is signed",
		Long: `The landscape's log says which runs there were. Each run is a signed entry from its start on, in a tree whose heads are also signed and copied
to anchors. It reveals a run that was removed, invented or changed, and a landscape that was rolled back. docs/log.md explains what that
proves and what it does not.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				backlog, err := home.LogBacklog(cmd.Context())
				if err != nil {
					return err
				}
				if !cmd.Flags().Changed("from") {
					from = max(backlog.Entries-int64(most), 0)
				}
				entries, err := home.LogEntries(cmd.Context(), from, most)
				if err != nil {
					return err
				}
				return printList(a, entries, func(w io.Writer) error { return writeLog(w, entries, backlog) })
			})
		},
	}
	numberFlag(cmd.Flags(), &from, "from", "", 0, 0, "first `entry` to show (default the last ones)")
	numberFlag(cmd.Flags(), &most, "most", "", 1, 50, "how many `entries` to show at most")
	cmd.AddCommand(a.logCheckCommand(), a.logRestoreCommand())
	return cmd
}

func writeLog(w io.Writer, entries []evidence.Entry, b evidence.Backlog) error {
	lines := [][]string{{"entry", "at", "type", "about", "signed by", "why"}}
	for _, e := range entries {
		lines = append(lines, []string{
			fmt.Sprint(e.Position), cmp.Or(e.At, "-"), cmp.Or(string(e.Type), "?"), cmp.Or(aboutText(e), "-"), cmp.Or(e.By, "-"), cmp.Or(e.Why, e.Unclear, "-"),
		})
	}
	if err := text.Table(w, lines...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", backlogText(b))
	return err
}

// aboutText says what an entry is about.
func aboutText(e evidence.Entry) string {
	switch e.Type {
	case evidence.Genesis:
		return e.Origin
	case evidence.Began, evidence.Sealed, evidence.SignedOff, evidence.Attested, evidence.Archived, evidence.Lost:
		return e.Run
	case evidence.Admitted, evidence.Revoked, evidence.Rotated, evidence.Retired:
		return e.Key
	case evidence.Secured:
		return fmt.Sprintf("key with SHA-256 %.12s", e.Note)
	case evidence.Requested, evidence.Approved, evidence.Executed:
		return fmt.Sprintf("order %.12s", e.Digest)
	case evidence.Ruled:
		return e.Verb
	case evidence.Forgot:
		return fmt.Sprintf("order %d", e.Order)
	case evidence.Refused:
		return fmt.Sprintf("entry %d", e.Statement.Position)
	case evidence.Foreign:
		return "head of " + text.Count(e.Statement.Position, "entry")
	case evidence.Restored:
		return fmt.Sprintf("entries %d to %d", e.Found, e.Anchored-1)
	}
	return ""
}

// backlogText says how far the log is.
func backlogText(b evidence.Backlog) string {
	line := fmt.Sprintf("%s, %s signed", text.Count(b.Entries, "entry"), text.Grouped(b.Signed))
	for _, anchor := range b.Anchors {
		line += fmt.Sprintf(", %s at %s", text.Grouped(anchor.Entries), anchor.Anchor)
	}
	if !b.Oldest.IsZero() {
		line += ", the oldest of the others waits since " + b.Oldest.Local().Format("2006-01-02 15:04:05")
	}
	return line
}

// anchorText says how far an anchor is.
func anchorText(anchor evidence.Anchor) string {
	if !anchor.Stamped.IsZero() {
		at := anchor.Stamped.Local().Format("2006-01-02 15:04:05")
		return fmt.Sprintf("%s stamped the head of %s at %s", anchor.Anchor, text.Count(anchor.Entries, "entry"), at)
	}
	return fmt.Sprintf("%s has %s", anchor.Anchor, text.Count(anchor.Entries, "entry"))
}

func (a *app) logCheckCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare the log with its tree, its signed heads, its anchors and the recorded runs",
		Long: `Reads every entry and verifies its signature, computes the tree, compares every signed head and every anchor (the one in the state folder and
those of --log-anchor) with it, and compares the recorded runs with the entries. It verifies the signatures under all approval requests. Exit code 4 if
something is wrong.

It proves that no entry was changed, removed or moved since its head was signed, provided an anchor is out of reach of anyone who can change the
landscape, and that the recorded runs are those of the entries. It does not check what is recorded about a run's rows: waymark verify does.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				report, err := home.CheckLog(cmd.Context(), key)
				if err != nil {
					return err
				}
				code := exitDone
				if report.Problems != nil {
					code = exitUnverified
				}
				return endWith(code, a.print(report, func(w io.Writer) error { return writeReport(w, report, key) }))
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the log's public `key` that you trust, as name+hash+base64 (default the key in the log itself)")
	return cmd
}

func writeReport(w io.Writer, r evidence.Report, key string) error {
	if r.Origin == "" {
		return writeNoLog(w, r.Problems)
	}
	trust := "by its own word: compare it with the key that you got in another way"
	switch {
	case key == "":
	case key == r.Key:
		trust = "the trusted one"
	case slices.Contains(r.Before, key):
		trust = "it follows the trusted one"
	default:
		trust = "not the trusted one"
	}
	lines := [][]string{
		{"log", r.Origin}, {"key", r.Key + " (" + trust + ")"}, {"root", r.Root},
		{"entries", fmt.Sprintf("%s, %s of them under a signed head, %s refused", text.Grouped(r.Entries), text.Grouped(r.Signed), text.Grouped(r.Refused))},
	}
	for _, anchor := range r.Anchors {
		lines = append(lines, []string{"anchor", anchorText(anchor)})
	}
	lines = append(lines, []string{"runs", fmt.Sprintf("%s with an entry, %s older than the log, %s lost", text.Grouped(r.Runs), text.Grouped(r.Older), text.Grouped(r.Lost))})
	lines = append(lines, []string{"seals", fmt.Sprintf("%s with an entry, %s of runs without entries", text.Grouped(r.Sealed), text.Grouped(r.Unsealed))})
	if r.Orders > 0 {
		lines = append(lines, []string{"orders", text.Grouped(r.Orders) + " with an entry"})
	}
	if r.OrderSignatures != nil {
		lines = append(lines, []string{"signatures", signaturesText(*r.OrderSignatures)})
	}
	if r.Signoffs > 0 {
		lines = append(lines, []string{"sign-offs", text.Grouped(r.Signoffs) + " with an entry"})
	}
	if r.Archived > 0 {
		lines = append(lines, []string{"archived", text.Count(r.Archived, "run") + " with an entry"})
	}
	if err := text.Table(w, lines...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning: %s: %s\n", warning.Where, warning.What)
	}
	switch {
	case r.Problems == nil && r.Warnings == nil && r.Anchors == nil:
		_, err := fmt.Fprintln(w, "the log, its heads and the recorded runs agree; there is no anchor to compare")
		return err
	case r.Problems == nil && r.Warnings == nil:
		_, err := fmt.Fprintln(w, "the log, its heads, its anchors and the recorded runs agree")
		return err
	case r.Problems == nil:
		_, err := fmt.Fprintln(w, "nothing contradicts the log; look at the warnings")
		return err
	}
	return writeProblems(w, r.Problems)
}

// signaturesText says what was verified of the signatures under approval requests, and by what.
func signaturesText(s evidence.OrderSignatures) string {
	by := "by the approvers file"
	if s.OwnWord {
		by = "by the approver's line that is recorded with each, for there is no approvers file here"
	}
	return fmt.Sprintf("%s under %s verified, %s", text.Count(int64(s.Signatures), "signature"), text.Count(int64(s.Orders), "order"), by)
}

// writeNoLog says that no run has begun the log, unless there are problems with that.
func writeNoLog(w io.Writer, problems []evidence.Problem) error {
	if problems == nil {
		_, err := fmt.Fprintln(w, "the record has no log yet: the first run begins it")
		return err
	}
	return writeProblems(w, problems)
}

func writeProblems(w io.Writer, problems []evidence.Problem) error {
	for _, p := range problems {
		if _, err := fmt.Fprintf(w, "%s: %s\n", p.Where, p.What); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) logRestoreCommand() *cobra.Command {
	var from, why string
	cmd := &cobra.Command{
		Use:   "restore --from ANCHOR --why TEXT",
		Short: "Record that the landscape was restored from a backup, and which runs were lost",
		Long: `After the landscape was restored from a backup, the log has fewer entries than its anchors, and nothing can be written. This command copies the
missing entries from an anchor, and appends an entry that says that this happened, why, and which runs were lost. It prints what else was lost: seals,
attestations, sign-offs, and orders to forget, which must be given again. It needs the log's key.`,
		Example: `  waymark log restore --from .waymark/log --why "restored from the backup of 02:00"`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			if from == "" {
				return wrongUsef("say which anchor has the entries: --from FOLDER")
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				done, err := home.RestoreLog(cmd.Context(), from, why)
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s came back; %s lost\n",
						text.Count(done.Anchored-done.Found, "entry"), text.Count(int64(len(done.Lost)), "run"))
					for _, run := range done.Lost {
						fmt.Fprintln(w, "lost: run", run)
					}
					for _, m := range done.Missing {
						fmt.Fprintf(w, "lost: %s %v\n", m.Where(), m)
					}
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`folder` of the anchor that has the entries")
	whyFlag(cmd, &why)
	return cmd
}
