package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/internal/silent"
	"waymark/plugin/egress"
)

// Access is what a document's DSN has of the process's machine and networks.
type Access struct {
	// Confined says that a DSN has nothing of the process's environment: no variable, password file, service file, certificate or
	// name of a user. Otherwise what it does not say comes from there.
	Confined bool
	// Folders are those in which files and sockets may be that a DSN names.
	Folders []string
	// Owns reports whether an absolute path is nothing that documents may use, though it lies in one of Folders; nil
	// for nothing.
	Owns func(path string) bool
	// Networks are open, besides public addresses with Postgres' port, to what a DSN names.
	Networks []netip.Prefix
	// Cargo is what connections carry of secrets.
	Cargo egress.Cargo
}

// errUnreadable says what a DSN looks like, and nothing of this one.
var errUnreadable = errors.New("dsn: this is no address of a Postgres database: write postgres://user@host:5432/database, or host=… dbname=… user=…; " +
	"in a URL, the signs @ : / ? # and % of a password are written %40 %3A %2F %3F %23 %25; certificates that it names must be there")

// configure reads a DSN. The error holds nothing of it.
func (a Access) configure(dsn string) (*pgxpool.Config, error) {
	said, err := parseDSN(dsn)
	if err != nil {
		return nil, errUnreadable
	}
	if a.Confined {
		if err := a.check(said); err != nil {
			return nil, err
		}
		dsn = said.alone().words() // the driver gets what was checked, and reads nothing else into it
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil || strings.Contains(config.ConnConfig.Database, "@") { // then the host is a piece of a password
		return nil, errUnreadable
	}
	if a.Confined {
		maps.DeleteFunc(config.ConnConfig.RuntimeParams, func(name, _ string) bool { return !said.has(name) })
	}
	return config, a.guard(&config.ConnConfig.Config, said)
}

// completeDSN is what a DSN looks like that leaves nothing to the environment.
const completeDSN = "postgres://user:${secret:NAME}@host:5432/database, or host=… user=… dbname=… password=${secret:NAME}"

// check rejects a DSN that leaves to the environment where the database is, or that names files that documents may not use.
func (a Access) check(said settings) error {
	for _, part := range []struct{ name, is string }{{"host", "host"}, {"user", "user"}, {"dbname", "database"}} {
		if slices.Contains(strings.Split(said[part.name], ","), "") {
			return fmt.Errorf("dsn: it names no %s, and a worker lends documents nothing of its environment: write %s", part.is, completeDSN)
		}
	}
	for _, name := range []string{"service", "servicefile"} {
		if said.has(name) {
			return fmt.Errorf("dsn: %s leads to a service file, and a worker lends documents none: write %s", name, completeDSN)
		}
	}
	for _, name := range []string{"passfile", "sslcert", "sslkey", "sslrootcert"} {
		file := said[name]
		if file == "" || name == "sslrootcert" && file == "system" || a.holds(file) {
			continue
		}
		if filepath.IsAbs(file) && a.Owns != nil && a.Owns(file) {
			return fmt.Errorf("dsn: %s names a file that is Waymark's own, which no document reads or writes: "+
				"choose another one", name)
		}
		return fmt.Errorf("dsn: %s names a file of the worker's machine: documents may use absolute paths in folders that the operator allows with --allow-path%s",
			name, map[string]string{"passfile": "; write the password as ${secret:NAME}", "sslrootcert": "; sslrootcert=system takes the machine's own certificates"}[name])
	}
	return nil
}

// holds reports whether a file or folder is in one of the folders that documents may use, also when links are followed.
func (a Access) holds(path string) bool {
	if !filepath.IsAbs(path) || a.Owns != nil && a.Owns(path) {
		return false
	}
	within := func(path string, folders []string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool {
			name, err := filepath.Rel(folder, path)
			return err == nil && filepath.IsLocal(name)
		})
	}
	var plain, followed []string
	for _, folder := range a.Folders {
		if absolute, err := filepath.Abs(folder); err == nil {
			plain = append(plain, absolute)
		}
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			if absolute, err := filepath.Abs(real); err == nil {
				followed = append(followed, absolute)
			}
		}
	}
	if !within(filepath.Clean(path), plain) {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true // there is nothing to be had
	}
	return err == nil && within(real, followed)
}

// neutral says everything for which the driver would else look into the environment, the home folder and a service file that the
// environment names, but for parameters of sessions. An empty text is the driver's own default.
var neutral = settings{
	"port": "", "password": "", "passfile": "", "connect_timeout": fmt.Sprint(int(connectTimeout / time.Second)),
	"sslmode": "", "sslcert": "", "sslkey": "", "sslcertmode": "allow", "sslsni": "", "sslrootcert": "", "sslpassword": "", "sslnegotiation": "",
	"target_session_attrs": "any", "min_protocol_version": "", "max_protocol_version": "", "channel_binding": "", "require_auth": "",
	"krbsrvname": "", "krbspn": "",
}

// alone returns the settings with those that nobody but they may decide.
func (s settings) alone() settings {
	all := maps.Clone(neutral)
	maps.Copy(all, s)
	return all
}

// guard lets connections lead only where documents may lead. Where the operator's environment says which host, that is the
// operator's affair.
func (a Access) guard(config *pgconn.Config, said settings) error {
	named := said["host"] != "" || said["servicefile"] != ""
	hosts := []string{config.Host}
	for _, other := range config.Fallbacks {
		hosts = append(hosts, other.Host)
	}
	for _, host := range hosts {
		if kind, _ := pgconn.NetworkAddress(host, 0); kind == "unix" && named && !a.holds(host) {
			return errors.New("dsn: a host is the folder of a socket of this machine: documents may use those in folders that the operator allows with --allow-path")
		}
	}
	free := silent.Dialer(silent.Patience, nil)
	if !named && said["port"] == "" {
		config.DialFunc = free.DialContext
		return nil
	}
	guard := egress.Postgres(a.Networks).Carrying(a.Cargo, clear(config, a.Cargo))
	guarded := silent.Dialer(silent.Patience, guard.Control)
	config.DialFunc = func(ctx context.Context, kind, address string) (net.Conn, error) {
		if kind == "unix" {
			return free.DialContext(ctx, kind, address)
		}
		return guarded.DialContext(ctx, kind, address)
	}
	return nil
}

// clear returns what to write so that a password does not go to the server readably; "" if it does not, or there is
// none.
func clear(config *pgconn.Config, cargo egress.Cargo) string {
	plain := config.TLSConfig == nil
	for _, other := range config.Fallbacks {
		plain = plain || other.TLSConfig == nil
	}
	if !plain || len(cargo.Secrets) == 0 && config.Password == "" {
		return ""
	}
	return "write sslmode=verify-full into the dsn, or at least sslmode=require"
}

// denied returns the refusal to dial that an error is about; nil if anything else was tried as well, which a later try may cure.
func denied(err error) *egress.DeniedError {
	if refusal, ok := err.(*egress.DeniedError); ok { //nolint:errorlint // it is looked for within the error below
		return refusal
	}
	switch outer := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		var found *egress.DeniedError
		for _, inner := range outer.Unwrap() {
			if found = denied(inner); found == nil {
				return nil
			}
		}
		return found
	case interface{ Unwrap() error }:
		return denied(outer.Unwrap())
	}
	return nil
}
