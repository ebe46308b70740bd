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
		Short: "Grant Postgres roles exactly the rights they need in the landscape",
		Long: `Grants Postgres roles their rights in the landscape that --landscape names. The URL's user must own it.

The writer role is for processes that execute runs: it inserts and reads, and moves runs and effects from one legal state to
the next. The reader role is for people and programs that query. The purger role is for those who run waymark purge and
waymark hold. None of them can update, delete, truncate, alter or drop anything.

The roles must exist. We recommend group roles:

  create role waymark_writer nologin;
  create role waymark_reader nologin;
  create role worker login password '...' in role waymark_writer;

Repeating the command changes nothing. Repeat it after "waymark landscape migrate" changed the schema.`,
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
	cmd.Flags().StringVar(&roles.Writer, "writer", "", "`role` of processes that execute runs")
	cmd.Flags().StringVar(&roles.Reader, "reader", "", "`role` of people and programs that query")
	cmd.Flags().StringVar(&roles.Purger, "purger", "", "`role` of those who purge and hold payloads")
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
