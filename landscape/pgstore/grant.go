package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

// Roles are the roles to which Grant gives rights: each is the name of a role that is there, or empty. Best they are groups, to which
// the users of processes and people belong.
type Roles struct {
	Writer string // of processes that work for runs
	Reader string // of people and programs that ask
	Purger string // of who purges payloads, and holds them
}

// Grant gives roles what they need in the landscape that the URL names, whose user must own it, and nothing that they do not need.
//
// The writer inserts and reads, moves runs, effects, starts, slots and gates by functions that compare and set, and appends to the log by one. The reader reads. The purger reads, and inserts what purges and holds record. None can update,
// delete, truncate, alter or drop anything. Repeating it changes nothing; after a migration it must be repeated.
func Grant(ctx context.Context, text string, roles Roles) error {
	at, err := parse(text)
	if err != nil {
		return err
	}
	return explain(at.place, at.grant(ctx, roles))
}

func (a address) grant(ctx context.Context, roles Roles) error {
	conn, err := pgx.ConnectConfig(ctx, a.pool.ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is left to be done
	at, err := standingOf(ctx, conn, a.schema)
	if err != nil {
		return err
	}
	version, err := at.version(ctx, conn, a.chain)
	switch {
	case err != nil:
		return at.mayOwn(err)
	case version == 0:
		return fmt.Errorf("run `waymark landscape migrate` first: %w", at.missing())
	case version < a.chain.Version():
		return fmt.Errorf("its schema has version %d, this program needs version %d: run `waymark landscape migrate` first",
			version, a.chain.Version())
	case !at.owns: // some of the grants would be no more than warnings
		return at.foreign()
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, role := range []string{roles.Writer, roles.Reader, roles.Purger} {
			if err := needRole(ctx, tx, role); err != nil {
				return err
			}
		}
		for _, statement := range grants(a.schema, roles) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// needRole refuses a role that is not there.
func needRole(ctx context.Context, tx pgx.Tx, role string) error {
	if role == "" {
		return nil
	}
	var there bool
	if err := tx.QueryRow(ctx, `select exists (select 1 from pg_roles where rolname = $1)`, role).Scan(&there); err != nil || there {
		return err
	}
	return fmt.Errorf("there is no role %s: make it with `create role %s nologin`, and put users into it with `grant %s to USER`",
		role, quote(role), quote(role))
}

// grants are the statements that give roles their rights.
func grants(schema string, roles Roles) (statements []string) {
	give := func(role string, rights ...string) {
		for _, right := range rights {
			statements = append(statements, fmt.Sprintf("grant %s to %s", right, quote(role)))
		}
	}
	for _, role := range []string{roles.Writer, roles.Reader, roles.Purger} {
		if role != "" {
			give(role, "usage on schema "+quote(schema), "select on all tables in schema "+quote(schema))
		}
	}
	if roles.Writer != "" {
		tables := inserted()
		give(roles.Writer, "insert on "+strings.Join(tables, ", "), "execute on function "+strings.Join(functions, ", "))
	}
	if roles.Purger != "" {
		give(roles.Purger, "insert on "+strings.Join(append(slices.Clip(purging), landscape.Salts{}.Table()), ", "), "execute on function "+strings.Join(blanking, ", "))
	}
	return statements
}
