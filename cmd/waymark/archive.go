package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) archiveCommand() *cobra.Command {
	var request local.ArchiveRequest
	var why string
	var p proposal
	cmd := &cobra.Command{
		Use:   "archive (--older TIME | --run RUN) --to PLACE --why TEXT",
		Short: "Move what is recorded of old runs into bundles in a folder or bucket",
		Long: `Moves what is recorded of runs that ended longer ago than --older out of the landscape, one run after the other, the one that ended first comes first:
exports its bundle without payloads, writes it to the place, reads it back and verifies it as a recipient would, and only then removes the records, in one
transaction with an entry of the log. Runs, their seals, the log, sign-offs and holds stay. Runs that can be resumed, are held or not sealed stay as they are.

waymark status, explain, errors, verify, prove and export answer about an archived run from its bundle. Payloads stay where they are, until a purge
deletes them. See docs/retention.md.

The place is a folder, or s3://BUCKET/PREFIX with the parameters of a payload store; ?lock=DAYSd locks each bundle for so many days. If it is killed, give the
command again.`,
		Example: `  waymark archive --older 3y --to /mnt/archive --dry-run
  waymark archive --older 3y --to 's3://archive/prod?lock=3650d' --why "records of more than three years"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !request.DryRun {
				if err := whyGiven(why); err != nil {
					return err
				}
				if request.To == "" {
					return wrongUsef("say where the bundles are to go: --to FOLDER, or --to s3://BUCKET/PREFIX")
				}
			}
			if err := p.check(why); err != nil {
				return err
			}
			request.By = a.by(why)
			if p.propose {
				args, err := local.ArchiveArgs(request)
				if err != nil {
					return err
				}
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderArchive, Run: request.Run, Args: args, Why: why})
			}
			request.Progress = func(run local.ArchivedRun) { a.note("archived run %s: %s", run.Run, run.Location) }
			return a.existing(cmd.Context(), func(home *local.Home) error {
				done, err := home.Archive(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error { return writeArchived(w, done) })
			})
		},
	}
	cmd.Flags().StringVar(&request.Older, "older", "", "archive runs that ended longer ago than this `time`, such as 3y or 1095d")
	cmd.Flags().StringVar(&request.Run, "run", "", "archive only this `run`: its id, a prefix of it, or last")
	cmd.Flags().StringVar(&request.To, "to", "", "the `place` for bundles: a folder that is there, or s3://BUCKET/PREFIX")
	cmd.Flags().BoolVar(&request.DryRun, "dry-run", false, "show what would be archived, without archiving it")
	whyFlag(cmd, &why)
	p.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("propose", "dry-run")
	return cmd
}

func writeArchived(w io.Writer, done *local.Archived) error {
	did := "archived"
	if done.DryRun {
		did = "would archive"
	}
	if _, err := fmt.Fprintf(w, "%s %s\n", did, text.Count(int64(len(done.Runs)), "run")); err != nil {
		return err
	}
	lines := [][]string{{"run", "pipeline", "ended", "what"}}
	for _, run := range done.Runs {
		lines = append(lines, []string{run.Run, run.Pipeline, moment(run.Finished), archivedText(run)})
	}
	for _, held := range done.Held {
		lines = append(lines, []string{held.Run, held.Pipeline, moment(client.Time(held.Finished)), fmt.Sprintf("stays: hold %d (%s) protects it", held.Hold, text.Cell(held.Why))})
	}
	for _, run := range done.Left {
		lines = append(lines, []string{run, "-", "-", "stays: it is not sealed since it ended; waymark seal " + run + " seals it"})
	}
	if len(lines) == 1 {
		return nil
	}
	return text.Table(w, lines...)
}

func archivedText(run local.ArchivedRun) string {
	if run.Location == "" {
		return "is due"
	}
	return fmt.Sprintf("%s, %s", run.Location, text.Count(run.Bytes, "byte"))
}

// archivedLine says where the record of a run is; empty for the landscape.
func archivedLine(run *client.Run) string {
	if run.Archived == "" {
		return ""
	}
	return "its record is in " + run.Archived
}
