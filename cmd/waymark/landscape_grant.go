package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client/local"
)

func (a *app) grantCommand() *cobra.Command {
	var roles local.Roles
	cmd := &cobra.Command{
		Use:   "grant --writer ROLE --reader ROLE --purger ROLE",
		Short: "Give roles of Postgres what they need in the record, and nothing else",
		Long: `Gives roles of Postgres their rights in the record that --landscape names. The URL's user must own it.

The writer is for processes that work for runs: it inserts and reads, and moves runs and effects from one legal state to
the next. The reader is for people and programs that ask. The purger is for who purges payloads and holds them: waymark purge,
waymark hold. None of them can update, delete, truncate, alter or drop anything.

The roles must be there; best they are groups:

  create role waymark_writer nologin;
  create role waymark_reader nologin;
  create role worker login password '...' in role waymark_writer;

Repeating it changes nothing. After "waymark landscape migrate" changed the schema it must be repeated.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if roles == (local.Roles{}) {
				return wrongUsef("give --writer ROLE, --reader ROLE, --purger ROLE, or several")
			}
			done, err := a.options().Grant(cmd.Context(), roles)
			if err != nil {
				return err
			}
			return a.print(done, func(w io.Writer) error { return tellGrant(w, done) })
		},
	}
	cmd.Flags().StringVar(&roles.Writer, "writer", "", "`role` of processes that work for runs")
	cmd.Flags().StringVar(&roles.Reader, "reader", "", "`role` of people and programs that ask")
	cmd.Flags().StringVar(&roles.Purger, "purger", "", "`role` of who purges payloads, and holds them")
	return cmd
}

// tellGrant says what was done, for people.
func tellGrant(w io.Writer, g local.Grant) error {
	for _, role := range []struct{ name, may string }{
		{g.Writer, "may read, insert, and move runs and effects"}, {g.Reader, "may read"}, {g.Purger, "may read, purge and hold"},
	} {
		if role.name == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s %s in %s\n", role.name, role.may, g.Place); err != nil {
			return err
		}
	}
	return nil
}
