package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/pgstore"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
)

// with returns the URL with a parameter.
func with(t testing.TB, text, name, value string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func execute(t testing.TB, url string, statements ...string) {
	t.Helper()
	conn := connect(t, url)
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

func TestMigrateSaysFromWhereToWhere(t *testing.T) {
	db := pg.New(t)
	from, to, err := pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	require.Equal(t, []int64{0, pgstore.Version()}, []int64{from, to})
	from, to, err = pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	require.Equal(t, []int64{pgstore.Version(), pgstore.Version()}, []int64{from, to})
}

func TestManyMigrateAtOnce(t *testing.T) {
	db := pg.New(t)
	errs := make(chan error)
	const many = 4
	for range many {
		go func() {
			_, _, err := pgstore.Migrate(t.Context(), db.DSN())
			errs <- err
		}()
	}
	for range many {
		require.NoError(t, <-errs)
	}
	open(t, db.DSN())
}

func TestSchemasAreSeparate(t *testing.T) {
	db := pg.New(t)
	odd := `Übung "1"; drop`
	for _, schema := range []string{"waymark", odd} {
		at := with(t, db.DSN(), "schema", schema)
		_, _, err := pgstore.Migrate(t.Context(), at)
		require.NoError(t, err)
		store := open(t, at)
		require.Contains(t, store.Location(), "schema="+schema)
		require.NoError(t, landscapetest.Scene{Run: "in " + schema}.Begin(t.Context(), landscape.New(store, nil)))
	}
	for _, schema := range []string{"waymark", odd} {
		runs, err := landscape.New(open(t, with(t, db.DSN(), "schema", schema)), nil).RecentRuns(t.Context(), nil, 0)
		require.NoError(t, err)
		require.Len(t, runs, 1)
		require.Equal(t, "in "+schema, runs[0].ID)
	}
}

func TestOpenRefuses(t *testing.T) {
	migrated := func(t *testing.T, statements ...string) string {
		_, db := create(t)
		execute(t, db.Superuser(), statements...)
		return db.DSN()
	}
	for name, c := range map[string]struct {
		url  func(t *testing.T) string
		want string
	}{
		"no landscape": {func(t *testing.T) string {
			return pg.New(t).DSN()
		}, "make it with `waymark landscape migrate`"},
		"a schema of development": {func(t *testing.T) string {
			return migrated(t, `drop table schema_versions`)
		}, "its table schema_versions is missing, or does not say which migrations made the schema: restore it from a backup"},
		"a schema of another development": {func(t *testing.T) string {
			return migrated(t, `alter table schema_versions disable trigger user`,
				`update schema_versions set sha256 = repeat('0', 64)`)
		}, "its table schema_versions has other migrations than this program: restore it from a backup"},
		"a newer schema": {func(t *testing.T) string {
			return migrated(t, `insert into schema_versions (version, sha256) values (2, repeat('0', 64))`)
		}, "use a newer Waymark"},
		"a schema without a row of its version": {func(t *testing.T) string {
			return migrated(t, `alter table schema_versions disable trigger user`, `delete from schema_versions`)
		}, "its table schema_versions is missing, or does not say which migrations made the schema: restore it from a backup"},
		"a schema without a table": {func(t *testing.T) string { return migrated(t, `drop table heals cascade`) },
			"there is no table heals: the schema was changed by hand: restore it from a backup"},
		"a schema with another table of versions": {func(t *testing.T) string {
			db := pg.New(t)
			execute(t, db.DSN(), `create schema waymark`,
				`create table waymark.schema_versions (version bigint, sha256 bytea)`)
			return db.DSN()
		}, "holds something else"},
		"a schema whose tables another role made": {func(t *testing.T) string {
			return migrated(t, `alter table schema_versions owner to current_user`)
		}, "owns the schema waymark, and not what is in it, which "},
		"a schema with a function": {func(t *testing.T) string {
			db := pg.New(t)
			execute(t, db.DSN(), `create schema waymark`,
				`create function waymark.refuse() returns int language sql as 'select 1'`)
			return db.DSN()
		}, "holds something else"},
		"a schema changed by hand": {func(t *testing.T) string { return migrated(t, `alter table heals rename reason to excuse`) }, "changed by hand"},
		"a schema of something else": {func(t *testing.T) string {
			db := pg.New(t)
			execute(t, db.DSN(), `create schema waymark`, `create table waymark.mine (n int)`)
			return db.DSN()
		}, "holds something else"},
		"commits that may be lost": {func(t *testing.T) string {
			_, db := create(t)
			return with(t, db.DSN(), "synchronous_commit", "off")
		}, "the setting synchronous_commit is off"},
		"a semicolon":               {func(*testing.T) string { return "postgres://h/d?schema=a;b" }, "write a semicolon or a percent sign behind the ? as %XX"},
		"a schema with a long name": {func(*testing.T) string { return "postgres://h/d?schema=" + strings.Repeat("s", 64) }, "the most that Postgres keeps of a name is 63"},
		"a wrong password": {func(t *testing.T) string {
			u, err := url.Parse(pg.New(t).DSN())
			require.NoError(t, err)
			u.User = url.UserPassword(u.User.Username(), "geheim")
			return u.String()
		}, "refuses the user or the password"},
		"a database that is not there": {func(t *testing.T) string {
			return strings.Replace(pg.New(t).Superuser(), "/test_", "/nowhere_", 1)
		}, "there is no such database"},
		"nobody there":             {func(*testing.T) string { return "postgres://u:geheim@127.0.0.1:1/d" }, "nothing listens there"},
		"an unknown host":          {func(*testing.T) string { return "postgres://u:geheim@nowhere.invalid/d" }, "nobody knows this host"},
		"no URL":                   {func(*testing.T) string { return "postgres://u:ge/heim@h/d" }, "cannot be read"},
		"a parameter that is none": {func(*testing.T) string { return "postgres://u:geheim@h/d?sslmode=perhaps" }, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pgstore.Open(t.Context(), c.url(t))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "heim")
			require.NotContains(t, err.Error(), "\n")
			require.True(t, strings.HasPrefix(err.Error(), "landscape"), err.Error())
		})
	}
	_, err := pgstore.Open(t.Context(), pg.New(t).DSN())
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

func TestMigrateRefusesWhatIsNotOurs(t *testing.T) {
	db := pg.New(t)
	execute(t, db.DSN(), `create schema waymark`, `create view waymark.mine as select 1 as n`)
	_, _, err := pgstore.Migrate(t.Context(), db.DSN())
	require.ErrorContains(t, err, "holds something else")
	_, newer := create(t)
	execute(t, newer.DSN(), `insert into waymark.schema_versions (version, sha256) values (2, repeat('0', 64))`)
	_, _, err = pgstore.Migrate(t.Context(), newer.DSN())
	require.ErrorContains(t, err, "use a newer Waymark")
}

func TestUnsafeServers(t *testing.T) {
	sample.Rarely(t)
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		db := pg.Private(t, setting+"=off").Database(t)
		_, _, err := pgstore.Migrate(t.Context(), db.DSN())
		require.ErrorContains(t, err, "the setting "+setting+" is off")
	}
}

func TestServersThatOnlyRead(t *testing.T) {
	store, db := create(t)
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), landscape.New(store, nil)))
	reading := open(t, with(t, db.DSN(), "default_transaction_read_only", "on"))
	runs, err := landscape.New(reading, nil).RecentRuns(t.Context(), nil, 0)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.ErrorIs(t, landscapetest.Scene{Run: "s"}.Begin(t.Context(), landscape.New(reading, nil)), landscape.ErrReadOnly)
}

func TestTextsThatPostgresCannotHold(t *testing.T) {
	store, _ := create(t)
	log := landscape.New(store, nil)
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
	odd := "a\x00b\xff c␛00"
	for range 2 { // the second one is compared with the first
		require.NoError(t, store.Commit(t.Context(), landscape.Tx{Insert: []landscape.Record{
			landscape.RunEvent{Run: "r", Event: odd, Detail: odd, At: 1},
		}}))
	}
	events, err := landscape.Select[landscape.RunEvent](t.Context(), log, "r")
	require.NoError(t, err)
	require.Equal(t, []landscape.RunEvent{{Run: "r", Event: odd, Detail: odd, At: 1}}, events)
	run, graph := landscapetest.Scene{Run: odd}.Graph()
	run.BaseDir = "/data/" + odd
	require.NoError(t, log.BeginRun(t.Context(), run, graph))
	found, err := log.Run(t.Context(), odd)
	require.NoError(t, err)
	require.Equal(t, run.BaseDir, found.BaseDir)
	require.NoError(t, log.InEpoch(odd, 0).RecordEvent(t.Context(), odd, "guarded", ""))
	require.NoError(t, log.Resume(t.Context(), landscape.Resumption{Run: odd, Epoch: 1, Claim: "c"}))
	require.ErrorIs(t, log.InEpoch(odd, 0).RecordEvent(t.Context(), odd, "guarded", ""), landscape.ErrSuperseded)
}

// TestRestartInTheMiddle stops the server as if its machine had failed, again and again, while batches are committed. What broke
// before its commit is done again without anybody noticing; of a commit nobody knows, and who commits the same again is right.
func TestRestartInTheMiddle(t *testing.T) {
	server := pg.Private(t)
	db := server.Database(t)
	_, _, err := pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	store := open(t, db.DSN())
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), landscape.New(store, nil)))

	begun, done := make(chan struct{}), make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const batches = 300
	go func() { done <- commitAll(ctx, store, batches, func(n int) { begun <- struct{}{} }) }()
	for n := range batches {
		<-begun
		if n%100 == 50 {
			server.Restart(t, n%200 == 50)
		}
	}
	require.NoError(t, <-done)
	events, err := landscape.Select[landscape.RunEvent](t.Context(), store, "r")
	require.NoError(t, err)
	require.Len(t, events, batches)
}

// commitAll commits so many batches, each until it succeeds.
func commitAll(ctx context.Context, store landscape.Driver, batches int, before func(n int)) error {
	for n := range batches {
		before(n)
		batch := landscape.Tx{
			Insert: []landscape.Record{landscape.RunEvent{Run: "r", Seq: int64(n), Event: "seen", Detail: fmt.Sprint(n), At: 1}},
			Guard:  &landscape.Guard{Run: "r"},
		}
		for err := store.Commit(ctx, batch); err != nil; err = store.Commit(ctx, batch) {
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), err)
			}
		}
	}
	return nil
}

// TestDeadlocksPass lets two write the same in opposite orders until they block each other: both are stored.
func TestDeadlocksPass(t *testing.T) {
	store, db := create(t)
	execute(t, db.Superuser(), `alter database `+db.Owner()+` set deadlock_timeout = '5ms'`)
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), landscape.New(store, nil)))
	store = open(t, db.DSN())
	conn := connect(t, db.DSN())
	const most, records = 200, 500
	for round := range most {
		var actions, events []landscape.Record
		for i := range records {
			seq := int64(round*records + i)
			actions = append(actions, landscape.Action{Run: "r", Seq: seq, Verb: "v", At: 1})
			events = append(events, landscape.RunEvent{Run: "r", Seq: seq, Event: "e", At: 1})
		}
		errs := make(chan error)
		for _, insert := range [][]landscape.Record{slices.Concat(actions, events), slices.Concat(events, actions)} {
			go func() { errs <- store.Commit(t.Context(), landscape.Tx{Insert: insert}) }()
		}
		require.NoError(t, errors.Join(<-errs, <-errs))
		var deadlocks int64
		require.NoError(t, conn.QueryRow(t.Context(), `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&deadlocks))
		if deadlocks > 0 {
			return
		}
	}
	t.Fatalf("two never blocked each other in %d rounds", most)
}
