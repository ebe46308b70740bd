package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client/local"
)

func (a *app) landscapeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "landscape",
		Short: "Make or upgrade the schema of the record, and say who may do what in it",
		Long: `The record can be kept in a Postgres database: --landscape postgres://USER@HOST/DATABASE. Nothing but these commands
changes its schema. Give the URL of the schema's owner to them, and that of a user with the writer's or the reader's
rights to all others.`,
		Args: noArgs,
		RunE: help,
	}
	cmd.AddCommand(a.migrateCommand(), a.grantCommand())
	return cmd
}

func (a *app) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make the record's schema, or bring it up to date",
		Long: `Makes the schema that --landscape names, or brings it up to date, and says from which version to which. Repeating it changes
nothing. A record in a file is brought up to date whenever a run opens it; for a database only this command does it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := a.options().Migrate(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(done, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, migrated(done))
				return err
			})
		},
	}
}

// migrated says what was done, for people.
func migrated(m local.Migration) string {
	switch m.From {
	case m.To:
		return fmt.Sprintf("%s has schema version %d: nothing to do", m.Place, m.To)
	case 0:
		return fmt.Sprintf("%s made, with schema version %d", m.Place, m.To)
	default:
		return fmt.Sprintf("%s brought from schema version %d to %d", m.Place, m.From, m.To)
	}
}
