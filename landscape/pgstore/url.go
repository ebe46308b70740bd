package pgstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/internal/silent"
	"waymark/landscape/migration"
)

const (
	// defaultSchema is where the landscape is if the URL names no schema.
	defaultSchema = "waymark"

	// connectPatience is how long a server may take to answer a new connection, unless the URL's connect_timeout says otherwise.
	connectPatience = 10 * time.Second

	// mostName is how long a name may be: Postgres cuts off what is longer, and only notes it.
	mostName = 63
)

// address is a URL, understood.
type address struct {
	schema string
	place  string // for people: no password
	pool   *pgxpool.Config
	chain  migration.Chain // of the program that opens it
}

// parse understands a URL of a landscape. Its error holds nothing of the URL that may be a secret.
func parse(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return address{}, errors.New("landscape: the Postgres URL cannot be read: write postgres://USER@HOST:PORT/DATABASE, " +
			"and every character of the user or password that is not a letter or digit as %XX")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return address{}, errors.New("landscape: the Postgres URL cannot be read: write a semicolon or a percent sign behind the ? as %XX")
	}
	schema := query.Get("schema")
	if schema == "" {
		schema = defaultSchema
	}
	query.Del("schema")
	u.RawQuery = query.Encode()
	if len(schema) > mostName {
		return address{}, fmt.Errorf("landscape: the schema %q has %d bytes: the most that Postgres keeps of a name is %d", schema, len(schema), mostName)
	}
	pool, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return address{}, errors.New("landscape: the Postgres URL cannot be read: one of its parameters, or of the PG… variables of " +
			"the environment, has a value that is not allowed: see https://www.postgresql.org/docs/current/libpq-connect.html")
	}
	config := pool.ConnConfig
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
	}
	config.DialFunc = silent.Dialer(silent.Patience, nil).DialContext
	config.RuntimeParams["search_path"] = searchPath(schema)
	config.RuntimeParams["jit"] = "off" // the views are planned as dear, and answer before a compiler would be done
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "waymark"
	}
	place := fmt.Sprintf("postgres://%s/%s?schema=%s", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), config.Database, schema)
	return address{schema: schema, place: place, pool: pool, chain: known}, nil
}

// Place names the landscape of a URL for people: server, database and schema, without user and password. Its error, like all
// of this package, holds no secret.
func Place(text string) (string, error) {
	at, err := parse(text)
	return at.place, err
}

// searchPath lets names mean what is in the schema, and nothing that a user's temporary tables are called.
func searchPath(schema string) string { return quote(schema) + ", pg_temp" }

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
