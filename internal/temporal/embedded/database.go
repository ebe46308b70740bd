package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"syscall"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	schema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/internal/sqlitefile"
)

// defaultRetention leaves a run that was interrupted a month in which it can be resumed from its history.
const defaultRetention = 30 * 24 * time.Hour

// pragmas of every connection. With a write-ahead log and synchronous=normal a killed process loses nothing; a power cut
// may lose the last moments of a history, whose activities then run again, but never tears the database.
var pragmas = map[string]string{"journal_mode": "wal", "synchronous": "normal", "busy_timeout": "10000"}

// handleName names the handle on a database file, which must be there. Temporal keeps handles by name until the process ends: the servers that a
// process has on a file, one after the other, share one, and a new file in the place of one that is gone has another.
func handleName(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s: the system does not say which file it is", path)
	}
	return fmt.Sprintf("file%d-%d", stat.Dev, stat.Ino), nil
}

// sqlConfig names the database, which must be there, as Temporal passes it on to SQLite: in a URI that Temporal does not escape. The error
// is that of a path which SQLite does not take.
func sqlConfig(path string) (*config.SQL, error) {
	name, err := sqlitefile.Path(path)
	if err != nil {
		return nil, err
	}
	handle, err := handleName(path)
	if err != nil {
		return nil, err
	}
	attributes := map[string]string{"mode": "rwc", "setup": handle}
	for name, value := range pragmas {
		attributes[name] = value
	}
	return &config.SQL{PluginName: sqlite.PluginName, DatabaseName: name, ConnectAttributes: attributes}, nil
}

// openDatabase opens the file apart from the server.
func openDatabase(path string) (*sql.DB, error) { return openWith(path, pragmas) }

// openToLook opens the file for somebody who does not wait: who asks for a list gets it also while another process keeps
// the file locked.
func openToLook(path string) (*sql.DB, error) {
	looking := maps.Clone(pragmas)
	looking["busy_timeout"] = "300"
	return openWith(path, looking)
}

func openWith(path string, pragmas map[string]string) (*sql.DB, error) {
	values := url.Values{}
	for name, value := range pragmas {
		values.Add("_pragma", name+"="+value)
	}
	uri, err := sqlitefile.URI(path, values)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// prepareDatabase makes the database with its namespace if it is not there yet. A process that is killed half-way leaves
// one that the next prepares.
func prepareDatabase(ctx context.Context, o Options) error {
	db, err := openDatabase(o.DatabasePath)
	if err != nil {
		return err
	}
	err = makeSchema(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("%s: %w", o.DatabasePath, err)
	}
	database, err := sqlConfig(o.DatabasePath)
	if err != nil {
		return err
	}
	namespace, err := schema.NewNamespaceConfig(clusterName, Namespace, false, nil)
	if err != nil {
		return err
	}
	namespace.Detail.Config.Retention = durationpb.New(cmp.Or(o.Retention, defaultRetention))
	if err := schema.CreateNamespaces(database, namespace); err != nil || len(o.Attributes) == 0 {
		return err
	}
	if db, err = openDatabase(o.DatabasePath); err != nil {
		return err
	}
	return errors.Join(registerAttributes(ctx, db, o.Attributes), db.Close())
}

// makeSchema runs the statements of Temporal's schema in one transaction, unless an earlier one did.
func makeSchema(ctx context.Context, db *sql.DB) error {
	var tables int
	if err := db.QueryRowContext(ctx, "select count(*) from sqlite_master where type = 'table' and name = 'namespaces'").Scan(&tables); err != nil || tables > 0 {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := schema.SetupSchemaOnDB(schemaTarget{tx: tx}); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// schemaTarget takes the statements of the schema, and nothing else of its interface is used.
type schemaTarget struct {
	sqlplugin.AdminDB
	tx *sql.Tx
}

func (s schemaTarget) Exec(statement string, args ...any) error {
	if index := createsIndex.FindStringSubmatch(statement); index != nil && !slices.Contains(listIndexes, index[1]) {
		return nil
	}
	_, err := s.tx.Exec(statement, args...)
	return err
}

// createsIndex matches a statement that makes an index of the table by which executions are listed.
var createsIndex = regexp.MustCompile(`(?i)^\s*create index (\w+)\s+on executions_visibility\b`)

// listIndexes are the indexes of that table which are made. Temporal's schema has one for each attribute that an execution can have, some 60, and each
// execution is inserted into all of them when it starts, whenever it is labelled, and when it ends. A query by another attribute
// reads the table.
var listIndexes = []string{"default_idx", "by_workflow_id", "by_status", "by_temporal_scheduled_by_id", "by_temporal_namespace_division"}

// damaged reports whether the file is anything but a whole SQLite database.
func damaged(path string) bool {
	db, err := openDatabase(path)
	if err != nil {
		return false
	}
	defer db.Close()
	var verdict string
	err = db.QueryRow("pragma quick_check(1)").Scan(&verdict)
	if fault, ok := errors.AsType[*driver.Error](err); ok {
		primary := fault.Code() & 0xff
		return primary == sqlite3.SQLITE_CORRUPT || primary == sqlite3.SQLITE_NOTADB
	}
	return err == nil && verdict != "ok"
}

// checkpoint moves what is in the write-ahead log into the database file.
func checkpoint(path string) error {
	db, err := openDatabase(path)
	if err != nil {
		return err
	}
	_, err = db.Exec("pragma wal_checkpoint(truncate)")
	return errors.Join(err, db.Close())
}
