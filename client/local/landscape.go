package local

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"

	"waymark/client"
	"waymark/internal/sqlitefile"
	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/landscape/sqlitestore"
	"waymark/worker/storage"
)

// Migration says what Migrate did.
type Migration struct {
	Place string `json:"landscape"` // for people: without secrets
	From  int64  `json:"from"`      // version of the schema before; 0: there was none
	To    int64  `json:"to"`
}

// Migrate makes the schema of the landscape, or brings it up to date. Repeating it changes nothing. In a database the URL's user must own the
// schema. The error is an *Error of kind Invalid if the URL names no landscape, or a file is none.
func (o Options) Migrate(ctx context.Context) (done Migration, err error) {
	own := o.Landscape == ""
	o = o.filled()
	if !o.inPostgres() {
		return o.migrateFile(ctx, own)
	}
	if done.Place, err = pgstore.Place(o.Landscape); err != nil {
		return done, invalid(err)
	}
	done.From, done.To, err = pgstore.Migrate(ctx, o.Landscape)
	return done, unfit(err)
}

// unfit says of a landscape that is not there, or that this program cannot use, that another one must be named.
func unfit(err error) error {
	_, is := errors.AsType[*landscape.UnfitError](err)
	if is || errors.Is(err, landscape.ErrNotFound) {
		return invalid(err)
	}
	return err
}

// inPostgres reports whether the landscape is in a database.
func (o *Options) inPostgres() bool {
	scheme, _, _ := strings.Cut(o.Landscape, ":")
	return scheme == "postgres" || scheme == "postgresql"
}

// migrateFile makes or upgrades a landscape in a file, as whatever opens it to write does. own says that it is in the state folder.
func (o *Options) migrateFile(ctx context.Context, own bool) (done Migration, err error) {
	path, err := storage.LandscapePath(o.Landscape)
	if err != nil {
		return done, invalid(err)
	}
	if own {
		if err := o.State.make(); err != nil {
			return done, err
		}
		defer func() {
			if err == nil {
				o.State.close()
			}
		}()
	}
	done.Place = path
	if exists(path) {
		done.From, _ = fileVersion(ctx, path) // a file that is no landscape is refused when it is opened
	}
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Create: true})
	if err != nil {
		return done, o.worded(ctx, err)
	}
	if err := store.Close(); err != nil {
		return done, err
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
	defer func() { err = errors.Join(err, db.Close()) }()
	const query = `select coalesce(max(version), 0) from schema_versions`
	err = db.QueryRowContext(ctx, query).Scan(&version)
	return version, err
}

// Roles are roles of Postgres, such as groups; empty for none.
type Roles struct {
	Writer string `json:"writer,omitempty"` // for processes that work for runs: reads, inserts, and moves runs and effects
	Reader string `json:"reader,omitempty"` // for people and programs that ask
	Purger string `json:"purger,omitempty"` // for who purges payloads, and holds them
}

// Grant says what Grant gave.
type Grant struct {
	Place string `json:"landscape"` // for people: without secrets
	Roles
}

// Grant gives roles what they need in a landscape in Postgres, and nothing else. The roles must be there, and the URL's user must own the
// schema. Repeating it changes nothing; after Migrate changed the schema it must be repeated. The error is an *Error of kind Invalid if no
// role is named, or the landscape is in a file, which has none.
func (o Options) Grant(ctx context.Context, roles Roles) (Grant, error) {
	o = o.filled()
	switch {
	case !o.inPostgres():
		return Grant{}, &client.Error{Kind: client.Invalid, Code: client.InvalidLandscape, Message: "there are no roles in a file, only its mode", Cure: client.UsePostgres}
	case roles == (Roles{}):
		return Grant{}, &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: "no role is named", Cure: client.NameRole}
	}
	place, err := pgstore.Place(o.Landscape)
	if err != nil {
		return Grant{}, invalid(err)
	}
	return Grant{place, roles}, unfit(pgstore.Grant(ctx, o.Landscape, pgstore.Roles(roles)))
}

func invalid(err error) error {
	return &client.Error{Kind: client.Invalid, Code: client.InvalidLandscape, Message: err.Error(), Err: err}
}
