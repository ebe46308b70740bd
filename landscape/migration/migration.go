// Package migration makes the schema of a landscape, and knows which schema it is. Each driver has migrations in its
// own SQL; which of them made a schema is recorded in the same way.
//
// A landscape carries the digests of its migrations' texts. A digest of the text, unlike one of the resulting schema,
// is known before a database is open, is the same in every version of the database, and is recorded in the transaction
// of the migration. Whether the schema is still what these made of it, the command verify compares.
package migration

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

// Tables of a landscape that say which migrations made its schema.
const (
	Versions = "schema_versions"  // ours: a row per migration, with its digest
	Tool     = "goose_db_version" // of the library that applies migrations
)

// Migration changes a schema.
type Migration struct {
	SQL    string
	Digest string // SHA-256, in hex, of this text without lines of comments
}

// Chain are the migrations of a schema. The version of a schema is how many of them made it.
type Chain []Migration

// Read returns the migrations in a folder, in the order of their numbers. It panics if a file cannot be read or lacks
// the next number, from 1: the program was built wrong.
func Read(files embed.FS, folder string) Chain {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	var chain Chain
	for _, entry := range entries {
		text, err := fs.ReadFile(files, folder+"/"+entry.Name())
		number, numbered := goose.NumericComponent(entry.Name())
		if err := errors.Join(err, numbered); err != nil || number != chain.Version()+1 {
			panic(fmt.Sprintf("migration %s: not version %d: %v", entry.Name(), chain.Version()+1, err))
		}
		chain = chain.With(string(text))
	}
	return chain
}

// With returns the chain with one more migration.
func (c Chain) With(text string) Chain {
	hash := sha256.New()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			hash.Write([]byte(line))
		}
	}
	return append(c[:len(c):len(c)], Migration{SQL: text, Digest: hex.EncodeToString(hash.Sum(nil))})
}

// Version returns the version of the schema that the chain makes.
func (c Chain) Version() int64 { return int64(len(c)) }

// Recorded selects the digests of the migrations that made a schema, separated by spaces, in SQLite and in Postgres;
// nothing unless their versions are 1, 2 and so on.
const Recorded = `select case when count(*) = max(version) then string_agg(sha256, ' ' order by version) else '' end
	from ` + Versions

// ForeignError refuses a schema of which the record does not say that the migrations of this program made it.
type ForeignError struct{ Unmarked bool } // no migration is recorded, or their numbers have gaps; else another one is

func (e *ForeignError) Error() string {
	if e.Unmarked {
		return "its table " + Versions + " is missing, or does not say which migrations made the schema"
	}
	return "its table " + Versions + " has other migrations than this program"
}

// NewerError refuses a schema that has more migrations than this program knows.
type NewerError struct{ Version, Known int64 }

func (e *NewerError) Error() string {
	return fmt.Sprintf("its schema has version %d, this program knows versions up to %d: use a newer Waymark",
		e.Version, e.Known)
}

// Judge returns the version of a schema with the recorded digests. The error is a *ForeignError or a *NewerError unless
// the chain made the schema, or can bring it up to date.
func (c Chain) Judge(recorded string) (version int64, err error) {
	digests := strings.Fields(recorded)
	version = int64(len(digests))
	if version == 0 {
		return 0, &ForeignError{Unmarked: true}
	}
	for i, m := range c[:min(version, c.Version())] {
		if digests[i] != m.Digest {
			return version, &ForeignError{}
		}
	}
	if version > c.Version() {
		return version, &NewerError{version, c.Version()}
	}
	return version, nil
}

// Statements returns the SQL of a version: the migration, and what records it.
func (c Chain) Statements(version int64) []string {
	m := c[version-1]
	record := fmt.Sprintf("insert into %s (version, sha256) values (%d, '%s')", Versions, version, m.Digest)
	return []string{m.SQL, record}
}

// Up applies the migrations that a database lacks, each in a transaction. It is for an empty database, or one that
// Judge does not refuse.
func (c Chain) Up(ctx context.Context, db *sql.DB, dialect goose.Dialect) error {
	var migrations []*goose.Migration
	for version := int64(1); version <= c.Version(); version++ {
		apply := func(ctx context.Context, tx *sql.Tx) error {
			for _, statement := range c.Statements(version) {
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		}
		migrations = append(migrations, goose.NewGoMigration(version, &goose.GoFunc{RunTx: apply}, nil))
	}
	provider, err := goose.NewProvider(dialect, db, nil, goose.WithVerbose(false), goose.WithTableName(Tool),
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(migrations...))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
