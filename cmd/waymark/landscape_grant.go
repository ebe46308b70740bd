package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/landscape/pgstore"
)

// granted is what grant did.
type granted struct {
	Place  string `json:"landscape"`
	Writer string `json:"writer,omitempty"`
	Reader string `json:"reader,omitempty"`
}

func (a *app) grantCommand() *cobra.Command {
	var roles pgstore.Roles
	cmd := &cobra.Command{
		Use:   "grant --writer ROLE --reader ROLE",
		Short: "Give roles of Postgres what they need in the record, and nothing else",
		Long: `Gives roles of Postgres their rights in the record that --landscape names. The URL's user must own it.

The writer is for processes that work for runs: it inserts and reads, and moves runs and effects from one legal state to
the next. The reader is for people and programs that ask. Neither can update, delete, truncate, alter or drop anything.

The roles must be there; best they are groups:

  create role waymark_writer nologin;
  create role waymark_reader nologin;
  create role worker login password '...' in role waymark_writer;

Repeating it changes nothing. After "waymark landscape migrate" changed the schema it must be repeated.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.inPostgres() {
				return wrongUsef("there are no roles in a file, only its mode; --landscape postgres://USER@HOST/DATABASE names a record with roles")
			}
			if roles == (pgstore.Roles{}) {
				return wrongUsef("give --writer ROLE, --reader ROLE, or both")
			}
			place, err := pgstore.Place(a.landscapeURL())
			if err != nil {
				return wrongUse(err)
			}
			if err := pgstore.Grant(cmd.Context(), a.landscapeURL(), roles); err != nil {
				return err
			}
			done := granted{place, roles.Writer, roles.Reader}
			return a.print(done, done.tell)
		},
	}
	cmd.Flags().StringVar(&roles.Writer, "writer", "", "`role` of processes that work for runs")
	cmd.Flags().StringVar(&roles.Reader, "reader", "", "`role` of people and programs that ask")
	return cmd
}

// tell says what was done, for people.
func (g granted) tell(w io.Writer) error {
	for _, role := range []struct{ name, may string }{
		{g.Writer, "may read, insert, and move runs and effects"}, {g.Reader, "may read"},
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
