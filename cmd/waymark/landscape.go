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
		Short: "Create or upgrade the landscape's schema, and grant rights in it",
		Long: `The landscape can be kept in a Postgres database: --landscape postgres://USER@HOST/DATABASE. Only these commands change its
schema. Run them with the URL of the schema's owner, and all others with the URL of a user who has the writer's or the
reader's rights.`,
		Args: noArgs,
		RunE: help,
	}
	cmd.AddCommand(a.migrateCommand(), a.grantCommand())
	return cmd
}

func (a *app) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create the landscape's schema, or upgrade it",
		Long: `Creates or upgrades the schema that --landscape names, and prints the old and new version. Repeating it changes nothing. A
landscape in a file is upgraded whenever a run opens it; one in a database is upgraded only by this command.`,
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
