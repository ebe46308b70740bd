package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// How long a server may take to answer a new connection, and after what time an idle connection is closed.
const (
	connectTimeout = 15 * time.Second
	idleTime       = 30 * time.Second
)

// database is a Postgres database: where it is, and how to connect to it.
type database struct {
	dsn    string
	access Access
	config *pgxpool.Config
	place  string // as a URL without user, password and options
}

// newDatabase reads a DSN. No connection is made. The error holds nothing of the DSN, which may be a secret.
func newDatabase(dsn string, access Access) (*database, error) {
	config, err := access.configure(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConnIdleTime, config.HealthCheckPeriod = idleTime, idleTime
	// A server that was restarted leaves connections that are closed: one round trip per part finds them, and not the part's end.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	connect := config.ConnConfig
	// Nothing is kept between transactions, so that a proxy may give each of them another connection.
	connect.DefaultQueryExecMode = pgx.QueryExecModeExec
	connect.StatementCacheCapacity, connect.DescriptionCacheCapacity = 0, 0
	if connect.ConnectTimeout == 0 {
		connect.ConnectTimeout = connectTimeout
	}
	if connect.RuntimeParams["application_name"] == "" {
		connect.RuntimeParams["application_name"] = "waymark"
	}
	connect.RuntimeParams["client_encoding"] = "UTF8"
	d := &database{dsn: dsn, access: access, config: config}
	d.place = "postgres://" + strings.Join(d.addresses(), ",") + "/" + url.PathEscape(connect.Database)
	return d, nil
}

// pins are the settings by which values are parsed and printed, and queries and triggers of users with them: a
// server, a database or a role may set each of them otherwise. Dates whose order of day and month is not certain are
// refused. They hold for a transaction, which also a proxy that gives each of them another connection lets pass.
const pins = `
	set local timezone = 'UTC'; set local timezone_abbreviations = 'Default'; set local datestyle = 'ISO, YMD';
	set local intervalstyle = 'iso_8601'; set local extra_float_digits = 1; set local bytea_output = 'hex';
	set local array_nulls = on; set local standard_conforming_strings = on; set local transform_null_equals = off;
	set local xmloption = 'content'; set local xmlbinary = 'base64'; set local lc_monetary = 'C';
	set local lc_numeric = 'C'; set local lc_time = 'C'`

// pinned returns options of a transaction that begins as the words say, in one round trip with its pins.
func pinned(words string) pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: "begin transaction " + words + ";" + pins}
}

// addresses returns where the database's servers listen, each once.
func (d *database) addresses() []string {
	connect := d.config.ConnConfig
	addresses := []string{address(connect.Host, connect.Port)}
	for _, other := range connect.Fallbacks {
		if at := address(other.Host, other.Port); !slices.Contains(addresses, at) {
			addresses = append(addresses, at)
		}
	}
	return addresses
}

func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		host = url.PathEscape(host) // the folder of a socket
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}

// pools are the process's connections for short transactions, by database, password and access: everything that writes to one
// database shares them. Those that are idle close by themselves.
var pools = struct {
	sync.Mutex
	open map[[3]string]*pgxpool.Pool
}{open: map[[3]string]*pgxpool.Pool{}}

func (d *database) pool() (*pgxpool.Pool, error) {
	pools.Lock()
	defer pools.Unlock()
	key := [3]string{d.dsn, d.config.ConnConfig.Password, fmt.Sprint(d.access)}
	if pool := pools.open[key]; pool != nil {
		return pool, nil
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), d.config.Copy()) // it connects when it is asked for a connection
	if err != nil {
		return nil, err
	}
	pools.open[key] = pool
	return pool, nil
}

// connect makes a connection that is nobody else's. Its errors are the driver's, as pool's are: see fault.
func (d *database) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, d.config.ConnConfig.Copy())
}

// farewell returns a context for what is said to a server when nobody wants anything of it any more, also because another context
// has ended.
func farewell() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 5*time.Second)
}

// fault is an error of the world, in words. What it came from is not wrapped, so that nothing of it reaches a history: only that
// its context ended remains to be told.
type fault struct {
	message string
	ended   error
	full    bool // the server has no space left
}

func (f *fault) Error() string { return f.message }
func (f *fault) Unwrap() error { return f.ended }

// Is makes a server without space what a full disk is: who writes waits until there is space.
func (f *fault) Is(target error) bool { return f.full && target == syscall.ENOSPC }

// fault puts an error of the driver into words: what was tried, where, why it failed and what to look at.
func (d *database) fault(doing string, err error) error {
	f := &fault{message: fmt.Sprintf("%s: %s: %s", d.place, doing, d.reason(err))}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			f.ended = ended
		}
	}
	if state, ok := errors.AsType[*pgconn.PgError](err); ok {
		f.full = state.Code == diskFull
	}
	return f
}

// reason says why something failed.
func (d *database) reason(err error) string {
	var connecting *pgconn.ConnectError
	isConnecting := errors.As(err, &connecting)
	if state, ok := errors.AsType[*pgconn.PgError](err); ok {
		said := d.clean(state.Message)
		if state.Code[:2] == "28" {
			said = "the server refuses the login" // it repeats the user
		}
		said += " (SQLSTATE " + state.Code + ")"
		if state.Code == "28P01" && d.access.Confined && d.config.ConnConfig.Password == "" {
			return said + ": the dsn has no password, and a worker lends documents none: write " + completeDSN
		}
		return said + advice[state.Code]
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host's name is not known: check the address"
	}
	text := d.clean(innermost(err).Error())
	if unencrypted(err) {
		return text + ": check sslmode and sslrootcert in the dsn, and the server's certificate"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text = "no answer in time"
	}
	if isConnecting {
		return text + ": check that Postgres runs there, that the address is right, and that the network lets this machine through"
	}
	return text
}

// diskFull is the SQLSTATE of a server that has no space left.
const diskFull = "53100"

// advice is what to do about errors that are not about a row or a query.
var advice = map[string]string{
	"25006":  ": the server takes no writes: give the address of the primary",
	"28000":  ": check the user, and what pg_hba.conf lets in",
	"28P01":  ": check user and password",
	"3D000":  ": check the name of the database",
	"53300":  ": the server has no connection left: raise max_connections, or lower pool_max_conns in the dsn",
	diskFull: ": the server's disk is full: make room there",
	"57P03":  ": the server is starting or stopping: it is tried again",
}

// innermost returns the error that the others are about; of several that are joined, the last one that the guard did not make.
func innermost(err error) error {
	for {
		var joined interface{ Unwrap() []error }
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		} else if errors.As(err, &joined) && len(joined.Unwrap()) > 0 {
			all := joined.Unwrap()
			err = all[len(all)-1]
			for _, other := range slices.Backward(all) {
				if denied(other) == nil {
					err = other
					break
				}
			}
		} else {
			return err
		}
	}
}

// clean takes the password out of a message, and what could break a line.
func (d *database) clean(text string) string {
	if password := d.config.ConnConfig.Password; password != "" {
		text = strings.ReplaceAll(text, password, "[secret]")
	}
	if user := d.config.ConnConfig.User; user != "" {
		text = strings.ReplaceAll(text, `"`+user+`"`, "[user]")
	}
	return oneLine(text, 200)
}

// unencrypted reports whether a connection failed because the server has no encryption, or no certificate that is
// trusted, and the dsn asks for it: no retry cures that.
func unencrypted(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	// pgconn has no value for it
	return untrusted || err != nil && strings.Contains(err.Error(), "server refused TLS connection")
}

// tableMissing reports whether a statement failed because a table is not there.
func tableMissing(err error) bool {
	state, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (state.Code == "42P01" || state.Code == "3F000")
}
