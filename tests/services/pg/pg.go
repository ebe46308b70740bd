// Package pg starts real Postgres servers for tests. A package whose tests use it gives its TestMain to services.Main.
package pg

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waymark/tests/services"
)

const (
	installPostgres = "run: apt-get install postgresql"
	startTimeout    = 5 * time.Minute
)

// Server is a Postgres server.
type Server struct {
	programs, folder, password, address string
	settings                            []string
	as                                  *syscall.Credential // nil: this process's user
	databases                           atomic.Int64

	process *os.Process
	done    <-chan struct{}

	administering sync.Mutex
	admin         *pgx.Conn // of a superuser, for all tests: a connection costs four milliseconds of CPU time
}

// Database is a database of a server, with a role that owns it and may do nothing else.
type Database struct {
	server                *Server
	name, owner, password string
}

var shared struct {
	sync.Mutex
	server *Server
	models map[string]*Database
}

// New returns a fresh database, which is dropped when the test ends. Its server is started when it is first asked for
// and serves all tests of the process. options are those of `create database`, such as another order of texts. Without
// Postgres on the machine the test is skipped; it fails if the variable CI is set.
func New(t testing.TB, options ...string) *Database {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	return shareServer(t).Database(t, options...)
}

// Like is New, but the database is a copy of one that fill was given when a test first asked for this model, and has
// its owner; options are the model's. A copy takes less time than filling a database.
func Like(t testing.TB, model string, fill func(dsn string) error, options ...string) *Database {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	server := shareServer(t)
	from := shared.models[model]
	if from == nil {
		from = server.newOwner(t)
		server.create(t, from, options...)
		check(t, fill(from.DSN()), "fill a database")
		shared.models[model] = from
	}
	d := &Database{server: server, name: server.newName(), owner: from.owner, password: from.password}
	server.create(t, d, "template "+from.name)
	t.Cleanup(d.drop)
	return d
}

// shareServer returns the server of this process; the caller has locked it.
func shareServer(t testing.TB) *Server {
	t.Helper()
	if shared.server == nil {
		server := newServer(t, nil)
		services.OnEnd(t, server.remove)
		shared.server, shared.models = server, map[string]*Database{}
	}
	return shared.server
}

// Private returns a server that only this test uses, and may therefore stop, kill and start again. settings are those
// of postgresql.conf, each as "name=value". It ends with the test.
func Private(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := newServer(t, settings)
	t.Cleanup(s.remove)
	return s
}

// newServer makes a database cluster and starts its server.
func newServer(t testing.TB, settings []string) *Server {
	t.Helper()
	s := &Server{programs: programs(t), settings: settings}
	var err error
	s.folder, err = services.NewFolder("postgres")
	check(t, err, "make a folder")
	if os.Getuid() == 0 {
		s.as = other(t)
		check(t, s.handOver(s.folder), "hand over the folder")
	}
	check(t, s.initialize(), "make the data folder")
	// Somebody else may take the port between our asking for a free one and the server's listening on it.
	for range 5 {
		s.address, err = services.FreeAddress()
		check(t, err, "find a free port")
		if err = s.start(); err == nil {
			return s
		}
	}
	s.remove()
	check(t, err, "start")
	return nil
}

// programs finds the folder of Postgres' programs. Debian keeps them off the PATH.
func programs(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	check(t, err, "look for initdb")
	if len(found) == 0 {
		services.Missing(t, "Postgres", installPostgres)
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	return filepath.Dir(found[0])
}

// version is the number in /usr/lib/postgresql/15/bin/initdb.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // what is no number comes last
	return n
}

// other returns the user as whom the server runs: it refuses to be root.
func other(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	check(t, err, "Postgres does not run as root, and there is no user postgres: "+installPostgres)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	check(t, err, "user id of postgres")
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	check(t, err, "group id of postgres")
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) data() string { return filepath.Join(s.folder, dataName) }

func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, program), args...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// Start starts the server again, at the same address, with what it had stored.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(100 * time.Millisecond) {
		err := s.start() // it fails until the processes that a killed server leaves have noticed
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			check(t, err, "start again")
		}
	}
}

// start starts the server and waits until it answers.
func (s *Server) start() error {
	logged := filepath.Join(s.folder, "log")
	output, err := os.OpenFile(logged, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return err
	}
	args := []string{
		"-D", s.data(), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + s.folder,
		"-c", "max_connections=200", "-c", "lc_messages=C",
	}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // it ends its processes at once and leaves none behind
	if s.done, err = services.Start(cmd); err != nil {
		return err
	}
	s.process = cmd.Process
	return s.await(logged)
}

// await returns when the server answers, or says why it will not.
func (s *Server) await(logged string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := s.administer(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			said, _ := os.ReadFile(logged)
			return fmt.Errorf("postgres ended at once and said:\n%s", said)
		case <-ctx.Done():
			s.end(syscall.SIGQUIT)
			return fmt.Errorf("postgres does not answer at %s: %w", s.address, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end sends the server a signal and waits until it has ended.
func (s *Server) end(signal syscall.Signal) {
	if s.process != nil {
		_ = s.process.Signal(signal) // it may have ended already
		<-s.done
	}
}

// Restart stops the server and starts it again at the same address. immediate is as if its machine failed: all work is cut off, and
// the next start recovers from the log.
func (s *Server) Restart(t testing.TB, immediate bool) {
	t.Helper()
	s.Stop(immediate)
	s.Start(t)
}

// Stop ends the server and all connections.
func (s *Server) Stop(immediate bool) {
	if immediate {
		s.end(syscall.SIGQUIT)
	} else {
		s.end(syscall.SIGINT)
	}
}

// Kill ends the server's first process with SIGKILL. Its other processes notice, and end too.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// CPU is for how long the server has computed since it was started.
func (s *Server) CPU() time.Duration { return services.CPU(s.process.Pid) }

// Address is where the server listens, as host:port.
func (s *Server) Address() string { return s.address }

func (s *Server) remove() {
	s.administering.Lock()
	s.disconnect()
	s.administering.Unlock()
	s.end(syscall.SIGQUIT)
	_ = os.RemoveAll(s.folder) // what stays there is removed by the next test process
}

func (s *Server) url(user, password, database string) *url.URL {
	return &url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: s.address, Path: "/" + database, RawQuery: "sslmode=disable",
	}
}

// Database returns a fresh database, which is dropped when the test ends. options are those of `create database`.
func (s *Server) Database(t testing.TB, options ...string) *Database {
	t.Helper()
	d := s.newOwner(t)
	s.create(t, d, options...)
	t.Cleanup(func() {
		d.drop()
		_ = s.administer(context.Background(), `drop role `+d.owner) // as with the database
	})
	return d
}

// newOwner makes a role, and names a database for it that is not there yet.
func (s *Server) newOwner(t testing.TB) *Database {
	t.Helper()
	name := s.newName()
	d := &Database{server: s, name: name, owner: name, password: rand.Text()}
	check(t, s.administer(context.Background(), createRole(d.owner, d.password)), "make a role")
	return d
}

func (s *Server) newName() string { return fmt.Sprintf("test_%d", s.databases.Add(1)) }

// create makes the database. That its files are copied takes less than half of the work of writing every page to the log first.
func (s *Server) create(t testing.TB, d *Database, options ...string) {
	t.Helper()
	check(t, s.administer(context.Background(),
		fmt.Sprintf(`create database %s owner %s strategy file_copy %s`, d.name, d.owner, strings.Join(options, " ")),
	), "make a database")
}

// drop takes the database away. A server that the test has stopped takes its databases with it.
func (d *Database) drop() {
	_ = d.server.administer(context.Background(), fmt.Sprintf(`drop database %s with (force)`, d.name))
}

// administer executes statements as a superuser.
func (s *Server) administer(ctx context.Context, statements ...string) error {
	s.administering.Lock()
	defer s.administering.Unlock()
	if err := s.connect(ctx); err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := s.admin.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// connect opens the connection of administer, unless there is one that works: the server may have been stopped since.
func (s *Server) connect(ctx context.Context) error {
	if s.admin != nil && s.admin.Ping(ctx) == nil {
		return nil
	}
	s.disconnect()
	conn, err := pgx.Connect(ctx, s.url("postgres", s.password, "postgres").String())
	s.admin = conn
	return err
}

// disconnect closes the connection of administer; the caller has locked it.
func (s *Server) disconnect() {
	if s.admin != nil {
		_ = s.admin.Close(context.Background()) // it may be closed already
		s.admin = nil
	}
}

// DSN is the URL with which the database's owner connects, who is no superuser.
func (d *Database) DSN() string { return d.server.url(d.owner, d.password, d.name).String() }

// Through is DSN by way of another address, such as that of a services.Proxy.
func (d *Database) Through(address string) string {
	u := d.server.url(d.owner, d.password, d.name)
	u.Host = address
	return u.String()
}

// Superuser is the URL with which a superuser connects to this database.
func (d *Database) Superuser() string {
	return d.server.url("postgres", d.server.password, d.name).String()
}

// Login makes a role that may connect and is a member of groups, and returns the URL with which it connects. It ends with the database.
func (d *Database) Login(t testing.TB, name string, groups ...string) string {
	t.Helper()
	password := rand.Text()
	check(t, d.server.administer(context.Background(), createRole(name, password)), "make a role")
	t.Cleanup(func() { _ = d.server.administer(context.Background(), `drop role `+name) }) // as with the database
	for _, group := range groups {
		check(t, d.server.administer(context.Background(), fmt.Sprintf(`grant %s to %s`, group, name)), "put the role into a group")
	}
	return d.server.url(name, password, d.name).String()
}

// Owner is the name of the role that owns the database.
func (d *Database) Owner() string { return d.owner }

// Password is the owner's password: a secret that must be found nowhere.
func (d *Database) Password() string { return d.password }

// Address is where the server listens, as host:port.
func (d *Database) Address() string { return d.server.Address() }

func check(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("postgres: %s: %v", what, err)
	}
}
