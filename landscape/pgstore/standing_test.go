package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/tests/services/pg"
)

// TestWhoMayNotIsToldWhoMay asks of a role what it may not do, and holds that the answer names who may, or who can allow it.
func TestWhoMayNotIsToldWhoMay(t *testing.T) {
	open := func(ctx context.Context, url string) error {
		store, err := pgstore.Open(ctx, url)
		if err == nil {
			err = store.Close()
		}
		return err
	}
	migrate := func(ctx context.Context, url string) error {
		_, _, err := pgstore.Migrate(ctx, url)
		return err
	}
	grant := func(ctx context.Context, url string) error {
		return pgstore.Grant(ctx, url, pgstore.Roles{Reader: "anybody"})
	}
	full, none, empty, unread, closed := createOwned(t), pg.New(t), pg.New(t), createOwned(t), createOwned(t)
	execute(t, empty.DSN(), `create schema waymark`)
	shared := pg.New(t)
	execute(t, shared.DSN(), `create schema waymark`, `grant usage, create on schema waymark to public`)
	execute(t, unread.DSN(), `grant usage on schema waymark to public`)
	execute(t, closed.Superuser(), `revoke connect on database `+closed.Owner()+` from public`)
	for name, test := range map[string]struct {
		db   *pg.Database
		do   func(context.Context, string) error
		says string // OWNER and STRANGER are the roles
		none bool   // nothing is there
	}{
		"a record without usage":       {full, open, "the role STRANGER may not read the schema waymark: its owner, OWNER, gives it what it needs with `waymark landscape grant`", false},
		"a record without select":      {unread, open, "the role STRANGER may not read the schema waymark: its owner, OWNER, gives it", false},
		"a database without connect":   {closed, open, "the role may not connect to this database: `grant connect on database`", false},
		"no schema":                    {none, open, "there is no schema waymark: make it with `waymark landscape migrate`, as the role that is to own it", true},
		"an empty schema":              {empty, open, "the schema waymark is empty: its owner, OWNER, fills it with `waymark landscape migrate`", true},
		"migrate somebody's record":    {full, migrate, "only the owner of the schema waymark may do this, and that is OWNER, not STRANGER: connect as OWNER", false},
		"migrate somebody's schema":    {empty, migrate, "only the owner of the schema waymark may do this, and that is OWNER, not STRANGER: connect as OWNER", false},
		"migrate a schema of all":      {shared, migrate, "only the owner of the schema waymark may do this, and that is OWNER", false},
		"migrate without create":       {none, migrate, "the role STRANGER may not create schemas in the database OWNER: its owner, or a superuser, makes this one with `create schema \"waymark\" authorization \"STRANGER\"`", false},
		"grant in somebody's record":   {full, grant, "only the owner of the schema waymark may do this, and that is OWNER, not STRANGER: connect as OWNER", false},
		"grant with no more than read": {unread, grant, "only the owner of the schema waymark may do this, and that is OWNER, not STRANGER: connect as OWNER", false},
		"grant in no schema":           {none, grant, "run `waymark landscape migrate` first: there is no schema waymark", true},
	} {
		t.Run(name, func(t *testing.T) {
			db := test.db
			stranger := db.Owner() + "_stranger"
			err := test.do(t.Context(), db.Login(t, stranger))
			require.ErrorContains(t, err, strings.NewReplacer("OWNER", db.Owner(), "STRANGER", stranger).Replace(test.says))
			require.Equal(t, test.none, errors.Is(err, landscape.ErrNotFound), err)
		})
	}
}

func onlyAWriterMayWrite(t *testing.T, p peopled) {
	t.Helper()
	require.NoError(t, open(t, p.writer).MayWrite(t.Context()))
	require.NoError(t, open(t, p.db.DSN()).MayWrite(t.Context()))
	reader := open(t, p.reader)
	err := reader.MayWrite(t.Context())
	require.ErrorContains(t, err, "_reader may not work for runs: it lacks insert on access_tokens, insert on actions, insert on approval_requests ")
	require.ErrorContains(t, err, "the owner of the schema, "+p.db.Owner()+", gives it that with `waymark landscape grant --writer "+p.db.Owner()+"_reader`")

	for right, back := range map[string]string{
		"execute on function hold_run": "execute on hold_run", "insert on runs": "insert on runs", "select on rows": "select on rows",
		"usage on schema waymark": "usage on schema waymark",
	} {
		writer := open(t, p.writer)
		writers := p.db.Owner() + "_writers"
		execute(t, p.db.DSN(), `set search_path = waymark`, `revoke `+right+` from `+writers)
		require.ErrorContains(t, writer.MayWrite(t.Context()), "it lacks "+back+": ", right)
		execute(t, p.db.DSN(), `set search_path = waymark`, `grant `+right+` to `+writers)
		require.NoError(t, writer.MayWrite(t.Context()), right)
	}
	require.ErrorContains(t, open(t, p.writer+"&default_transaction_read_only=on").MayWrite(t.Context()), "only reads: name the one that writes")
}

func ownersAreKnown(t *testing.T, p peopled) {
	t.Helper()
	for url, owner := range map[string]string{p.db.DSN(): p.db.Owner(), p.writer: "", p.reader: ""} {
		role, err := open(t, url).Owner(t.Context())
		require.NoError(t, err)
		require.Equal(t, owner, role)
	}
	role, err := open(t, p.db.Superuser()).Owner(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, role, "a superuser may do what the owner may")
}
