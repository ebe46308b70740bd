package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) sealCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "seal RUN | --all",
		Short: "Seal runs that ended without a seal",
		Long: `A run is sealed in the transaction that ends it: one hash binds all its records, and an entry of the log has that hash. This command seals runs
for which that failed. Such a seal is late, and says so: it proves that nothing changes from now on, and nothing about the time before. It may be
repeated. A run whose records are not those that its seal binds is not sealed again (exit code 4): waymark verify names them. See docs/seal.md.

` + runArgument,
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return noArgs(cmd, args)
			}
			return exactlyOne("run")(cmd, args)
		},
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				if all {
					return a.sealAll(cmd.Context(), home)
				}
				run, err := home.Find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				sealed, err := home.Seal(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return a.print(sealed, func(w io.Writer) error { return writeSealed(w, sealed) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every run that ended and is not sealed")
	return cmd
}

// sealAll seals what can be sealed, and fails if something cannot.
func (a *app) sealAll(ctx context.Context, home *local.Home) error {
	runs, err := home.UnsealedRuns(ctx)
	if err != nil {
		return err
	}
	sealed := []client.RunSeal{}
	var failed []error
	for _, run := range runs {
		s, err := home.Seal(ctx, run)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		sealed = append(sealed, s)
	}
	err = printList(a, sealed, func(w io.Writer) error {
		for _, s := range sealed {
			if err := writeSealed(w, s); err != nil {
				return err
			}
		}
		if runs == nil {
			_, err := fmt.Fprintln(w, "every run that ended is sealed")
			return err
		}
		return nil
	})
	return errors.Join(append(failed, err)...)
}

func writeSealed(w io.Writer, s client.RunSeal) error {
	did := "is sealed already: "
	if s.New {
		did = "sealed: "
	}
	_, err := fmt.Fprintf(w, "run %s %s%s, root %s\n", s.Run, did, sealText(s), s.Root)
	return err
}

// sealText says what a seal binds, and where the log says so.
func sealText(s client.RunSeal) string {
	line := text.Count(s.Records, "record")
	if s.Entry != nil {
		line += fmt.Sprintf(", entry %d", *s.Entry)
	} else {
		line += ", no entry in the log"
	}
	if s.Late {
		line += "; late: it proves only that nothing changed since"
	}
	return line
}
