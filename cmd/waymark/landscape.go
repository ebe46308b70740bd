package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"waymark/internal/sqlitefile"
	"waymark/landscape/pgstore"
	"waymark/landscape/sqlitestore"
)

func (a *app) landscapeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "landscape",
		Short: "Make or upgrade the schema of the record, and say who may do what in it",
		Long: `The record can be kept in a Postgres database: --landscape postgres://USER@HOST/DATABASE. Nothing but these commands
changes its schema. Give the URL of the schema's owner to them, and that of a user with the writer's or the reader's
rights to all others.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.migrateCommand(), a.grantCommand())
	return cmd
}

// migration is what migrate did.
type migration struct {
	Place string `json:"landscape"`
	From  int64  `json:"from"` // version of the schema before; 0: there was none
	To    int64  `json:"to"`
}

func (a *app) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make the record's schema, or bring it up to date",
		Long: `Makes the schema that --landscape names, or brings it up to date, and says from which version to which. Repeating it changes
nothing. A record in a file is brought up to date whenever a run opens it; for a database only this command does it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := a.migrate(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(done, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, done)
				return err
			})
		},
	}
}

// String says what was done, for people.
func (m migration) String() string {
	switch m.From {
	case m.To:
		return fmt.Sprintf("%s has schema version %d: nothing to do", m.Place, m.To)
	case 0:
		return fmt.Sprintf("%s made, with schema version %d", m.Place, m.To)
	default:
		return fmt.Sprintf("%s brought from schema version %d to %d", m.Place, m.From, m.To)
	}
}

func (a *app) migrate(ctx context.Context) (migration, error) {
	if !a.inPostgres() {
		return a.migrateFile(ctx)
	}
	place, err := pgstore.Place(a.landscapeURL())
	if err != nil {
		return migration{}, wrongUse(err)
	}
	from, to, err := pgstore.Migrate(ctx, a.landscapeURL())
	return migration{place, from, to}, err
}

// inPostgres reports whether the record is in a database.
func (a *app) inPostgres() bool {
	scheme, _, _ := strings.Cut(a.landscapeURL(), ":")
	return scheme == "postgres" || scheme == "postgresql"
}

// migrateFile makes or upgrades a record in a file, as whatever opens it to write does.
func (a *app) migrateFile(ctx context.Context) (migration, error) {
	path, err := a.landscapePath()
	if err != nil {
		return migration{}, err
	}
	if a.landscape == "" {
		if err := a.folder().Make(); err != nil {
			return migration{}, err
		}
	}
	done := migration{Place: path}
	if exists(path) {
		done.From, _ = fileVersion(ctx, path) // a file that is no record is refused when it is opened
	}
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Create: true})
	if err != nil {
		return migration{}, wrongUse(err)
	}
	if err := store.Close(); err != nil {
		return migration{}, err
	}
	done.To, err = fileVersion(ctx, path)
	return done, err
}

// fileVersion returns the version of the schema in a SQLite file.
func fileVersion(ctx context.Context, path string) (version int64, err error) {
	uri, err := sqlitefile.URI(path, url.Values{"mode": {"ro"}})
	if err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, db.Close) }()
	const query = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`
	err = db.QueryRowContext(ctx, query).Scan(&version)
	return version, err
}
