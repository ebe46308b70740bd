package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) forgetCommand() *cobra.Command {
	var request client.ForgetRequest
	var why, file string
	var leaveIn []string
	var p proposal
	cmd := &cobra.Command{
		Use:   "forget (FIELD=VALUE | --run RUN --row N) --why TEXT [--dry-run] [-o FILE]",
		Short: "Overwrite a person's records in all runs, with a certificate",
		Long: `Finds the rows whose business key has this value in one field, as waymark subject does, in all runs, and overwrites in the payload store and the
landscape their records, and every hash, key and error from which somebody could know or guess their values. It destroys the salts of their seals, too. The
same records that other runs read, and rows that barriers made of nothing else, are forgotten with them. The rows' ways stay, and verify, log check
and the proofs of other rows work as before. See docs/retention.md.

A row that its source refused has no key: name it with --run and --row; waymark errors RUN shows such rows.

Nothing can undo it. Runs that have not ended, or can be resumed, and runs that a hold protects are refused by name: then nothing is forgotten.
Outputs are not Waymark's to change: the certificate lists the lines, and what else it could not reach. In tables of Postgres it deletes the rows that the
runs wrote if the order says so: --delete-in. If rows stay there, because somebody edited them, nothing tells whose they are, or others wrote rows with the value, the exit code is 4, and it prints the
statement that deletes them by hand. The reason is kept, so do not write the value into it.

If it is killed, waymark forget --finish, or the next waymark forget, finishes it.`,
		Example: `  waymark forget customer_id=4711 --dry-run
  waymark forget customer_id=4711 --why "request 88" -o forgotten-88.note
  waymark forget customer_id=4711 --delete-in decisions --why "request 88"
  waymark forget --run last --row 3 --why "request 88"`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			byRow := request.Run != "" || request.Row != 0 || request.Source != ""
			finish := len(args) == 0 && !byRow
			switch {
			case byRow && (len(args) > 0 || request.Run == "" || request.Row == 0):
				return wrongUsef("name one row with --run and --row, or all rows of a person with FIELD=VALUE")
			case byRow && p.propose:
				return wrongUsef("--propose is for FIELD=VALUE: that one row is forgotten cannot be proposed")
			case len(leaveIn) > 0 && !finish:
				return wrongUsef("--leave-in is for orders that were given: add --finish, and name nobody")
			case finish && len(request.DeleteIn) > 0:
				return wrongUsef("an order says where it deletes when it is given: --delete-in is not for --finish")
			case len(leaveIn) > 0 && strings.TrimSpace(why) == "":
				return whyGiven(why)
			case finish && !request.Finish:
				return wrongUsef("say whom to forget: FIELD=VALUE; or --finish, to finish what was killed")
			}
			if !finish {
				if !byRow {
					var ok bool
					if request.Field, request.Value, ok = strings.Cut(args[0], "="); !ok || request.Field == "" {
						return wrongUsef("%q is no subject: write FIELD=VALUE", args[0])
					}
				}
				if !request.DryRun {
					if err := whyGiven(why); err != nil {
						return err
					}
				}
			}
			if err := p.check(why); err != nil {
				return err
			}
			if p.propose && !finish {
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderForget, Args: local.ForgetArgs(request.Field, request.DeleteIn), Subject: args[0], Why: why})
			}
			request.By = a.by(why)
			return a.existing(cmd.Context(), func(home *local.Home) (err error) {
				var forget *client.Forget
				if finish {
					forget, err = home.FinishForgetting(cmd.Context(), client.FinishForgettingRequest{By: request.By, LeaveIn: leaveIn})
				} else {
					forget, err = home.Forget(cmd.Context(), request)
				}
				if err == nil && file != "" {
					err = writeCertificates(file, forget, finish)
				}
				if err != nil {
					return err
				}
				code := exitDone
				if forget.Stays != nil {
					code = exitUnverified
				}
				return endWith(code, a.print(forget, func(w io.Writer) error { return writeForget(w, forget) }))
			})
		},
	}
	cmd.Flags().BoolVar(&request.DryRun, "dry-run", false, "show what would be forgotten, without forgetting it")
	cmd.Flags().StringVar(&request.Run, "run", "", "with --row: forget one row of this `run`")
	numberFlag(cmd.Flags(), &request.Row, "row", "", 1, 0, "the `number` of the row in the source, from 1")
	cmd.Flags().StringVar(&request.Source, "source", "", "the `source` of --row, if the run has more than one")
	cmd.Flags().BoolVar(&request.Finish, "finish", false, "finish what was killed at once; use it only if no other process forgets or purges")
	cmd.Flags().StringArrayVar(&request.DeleteIn, "delete-in", nil, "delete the rows in the table of this `SINK`, too, or in this output, as waymark subject lists it; may be repeated")
	cmd.Flags().StringArrayVar(&leaveIn, "leave-in", nil, "with --finish and --why: give up the target of this `SINK` or output, and leave the rows there that an order was to delete; may be repeated")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the certificate to this `file`; with --finish and several orders one file each, with the order's number in its name; it stays in the landscape, too (table forgettings)")
	whyFlag(cmd, &why)
	p.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("propose", "dry-run", "finish")
	return cmd
}

// writeCertificates writes the certificate of an order into a file. Those of several that were finished have the orders' numbers in their names.
func writeCertificates(file string, f *client.Forget, finish bool) error {
	if !finish {
		if f.Done == nil {
			return nil
		}
		return os.WriteFile(file, []byte(f.Done.Certificate), 0o600)
	}
	for _, done := range f.Finished {
		name := file
		if len(f.Finished) > 1 {
			end := filepath.Ext(file)
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, end), done.Order, end)
		}
		if err := os.WriteFile(name, []byte(done.Certificate), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func writeForget(w io.Writer, f *client.Forget) error {
	if f.Subject != nil {
		if err := writeSubject(w, f.Subject); err != nil {
			return err
		}
	}
	lines := rowsBeside(f)
	lines = append(lines, erasuresByOutput(f)...)
	for _, done := range f.Finished {
		lines = append(lines, erasedLines(done.Erased)...)
		lines = append(lines, fmt.Sprintf("finished order %d: %s forgotten", done.Order, text.Count(done.Rows, "row")))
	}
	if f.Waiting != "" {
		lines = append(lines, "an earlier order waits: "+text.Visible(f.Waiting))
	}
	for _, in := range f.Stays {
		line := fmt.Sprintf("STAYS: %s of %s, which run %s wrote", text.Count(in.Rows, "row"), text.Visible(in.Output), in.Run)
		switch {
		case in.Why != "":
			line = fmt.Sprintf("STAYS: perhaps rows of %s that have the value: it could not be asked: %s", text.Visible(in.Output), text.Visible(in.Why))
		case in.Run == "":
			line = fmt.Sprintf("STAYS: in all %s of %s with the value, also of other writers", text.Count(in.Rows, "row"), text.Visible(in.Output))
		}
		if in.ByHand != "" {
			line += "; look at what this deletes, and run it by hand: " + text.Visible(in.ByHand)
		}
		lines = append(lines, line)
	}
	rows, runs := int64(len(f.Rows)), text.Count(f.RunCount(), "run")
	switch {
	case f.DryRun && f.Refused != "":
		lines = append(lines, fmt.Sprintf("%s of %s %s it; the order would be refused now: %s",
			text.Count(rows, "row"), runs, text.Agree(rows, "has", "have"), text.Visible(f.Refused)))
	case f.DryRun:
		lines = append(lines, fmt.Sprintf("would forget %s of %s", text.Count(rows, "row"), runs))
	case f.Done != nil:
		lines = append(lines, erasedLines(f.Done.Erased)...)
		lines = append(lines, fmt.Sprintf("forgot %s of %s (order %d), and replaced or deleted %s",
			text.Count(f.Done.Rows, "row"), runs, f.Done.Order, text.Count(int64(f.Done.Payloads), "payload")))
	case len(lines) == 0 && f.Subject != nil && len(f.Subject.Unread) > 0:
		lines = append(lines, "nothing to forget in what runs have read: order it again when the deliveries that wait have been read")
	case len(lines) == 0:
		lines = append(lines, "nothing to forget")
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// erasuresByOutput says how many rows would be deleted where.
func erasuresByOutput(f *client.Forget) (lines []string) {
	if !f.DryRun {
		return nil
	}
	rows := f.ErasuresIn()
	for _, output := range slices.Sorted(maps.Keys(rows)) {
		lines = append(lines, fmt.Sprintf("would delete at most %s of %s", text.Count(rows[output], "row"), text.Visible(output)))
	}
	for _, fate := range f.Fates {
		lines = append(lines, "as it is now, "+text.Visible(fate.String()))
	}
	return lines
}

// erasedLines says what became of rows in targets.
func erasedLines[T fmt.Stringer](erased []T) (lines []string) {
	for _, in := range erased {
		lines = append(lines, "in "+text.Visible(in.String()))
	}
	return lines
}

// rowsBeside names the rows that are forgotten beside those that have the value in their key.
func rowsBeside(f *client.Forget) (lines []string) {
	found := map[landscape.RowKey]bool{}
	for _, row := range f.Named {
		found[row] = true
	}
	for _, row := range f.Rows {
		if !found[row] {
			lines = append(lines, fmt.Sprintf("with them %s: the same record, or made of nothing else", row))
		}
	}
	return lines
}
