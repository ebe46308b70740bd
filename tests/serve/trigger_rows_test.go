package serve_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/tests/manual"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
)

// grown is a document whose runs begin as rows are written into a table.
const grown = `
name: orders
params: {part: {type: string, default: all}}
sources: {orders: {postgres: {dsn: "${secret:SHOP}", table: orders}, key: [id], schema: {fields: {id: int, total: "decimal?"}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/${param:part}.jsonl"}}}
triggers: {new: {source: orders, every: 100ms, run_id: part, TRIGGER}}
`

// shop is a served folder, and a database that tests write.
type shop struct {
	*watching
	db   *pgx.Conn
	file string // of the document
}

// newShop serves a folder, and makes a table.
func newShop(t *testing.T, setup string) *shop {
	t.Helper()
	folder := t.TempDir()
	secrets := filepath.Join(folder, "secrets")
	require.NoError(t, os.Mkdir(secrets, 0o700))
	return watch(t, folder, "--secrets-dir", secrets, "--allow-network", "127.0.0.0/8").shop(t, "orders.yaml", setup)
}

// shop makes a table in a database of which the secret SHOP of the pipeline of the file says where it is.
func (s *watching) shop(t *testing.T, file, setup string) *shop {
	t.Helper()
	dsn := pg.New(t).DSN()
	db, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	own := filepath.Join(s.Folder, "secrets", strings.TrimSuffix(file, ".yaml"))
	require.NoError(t, os.MkdirAll(own, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(own, "SHOP"), []byte(dsn), 0o600))
	made := &shop{watching: s, db: db, file: file}
	made.write(t, setup)
	return made
}

// write changes the database.
func (s *shop) write(t *testing.T, statements string) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), statements)
	require.NoError(t, err, statements)
}

// document writes the document, with a trigger.
func (s *shop) document(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, s.file), []byte(text), 0o600))
}

// deployment is the command that deploys the document.
func (s *shop) deployment() []string {
	return []string{
		"deploy", s.file,
		"--allow-path", s.Folder,
		"--allow-network", "127.0.0.0/8",
		"--secrets-dir", filepath.Join(s.Folder, "secrets"),
	}
}

// deployWith deploys the document with a trigger.
func (s *shop) deployWith(t *testing.T, trigger string) {
	t.Helper()
	s.document(t, s.with(trigger))
	s.Waymark(t, s.deployment()...)
}

// with returns the document with a trigger.
func (s *shop) with(trigger string) string {
	return strings.NewReplacer("FOLDER", s.Folder, "TRIGGER", trigger).Replace(grown)
}

// pages waits until so many pages of rows are in a state, and returns all, the first one first.
func (s *shop) pages(t *testing.T, n int, state landscape.ArrivalState) (found []client.Arrival) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		found, err = s.Home(t).Arrivals(t.Context(), "new", "", "", 0)
		slices.Reverse(found)
		in := 0
		for _, a := range found {
			if a.State == state {
				in++
			}
		}
		return err == nil && in == n
	}, patience, 20*time.Millisecond, "%d pages %s: %+v", n, state, &found)
	return found
}

const ordersTable = `
	create table orders (id int primary key, total numeric, tx xid8 not null default pg_current_xact_id());
	create function written() returns trigger language plpgsql as 'begin new.tx := pg_current_xact_id(); return new; end';
	create trigger written before update on orders for each row execute function written();`

// TestRowsOfATableArrive as they are written and as they change, each page in a run of its own, which reads what is stored of them.
func TestRowsOfATableArrive(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newShop(t, ordersTable+"insert into orders values (1, 10), (2, 20), (3, 'NaN')")
	s.deployWith(t, "rows: {by: [tx, id], most: 2}")
	pages := s.pages(t, 2, landscape.ArrivalDone)
	require.Equal(t, []string{"rows://default/orders/new/000000000001", "rows://default/orders/new/000000000002"}, []string{pages[0].Item, pages[1].Item})
	s.holds(t, "out", pages[0].Run, "{\"id\":1,\"total\":10}\n{\"id\":2,\"total\":20}\n")
	require.Contains(t, s.Waymark(t, "explain", pages[1].Run, "--row", "1"), `{"id":3,"total":"NaN"}`)
	require.Regexp(t, `UNREPRESENTABLE.*total`, s.Waymark(t, "explain", pages[1].Run, "--row", "1"))

	s.Waymark(t, "triggers", "pause", "new", "--why", "to see")
	s.write(t, "update orders set total = 21 where id = 2; insert into orders values (4, 40)")
	waiting := s.pages(t, 1, landscape.ArrivalReady)
	require.Len(t, waiting, 3)
	require.Contains(t, s.Waymark(t, "triggers", "resume", "new"), "; 1 page of rows waits")
	s.write(t, "drop table orders")
	pages = s.pages(t, 3, landscape.ArrivalDone)
	s.holds(t, "out", pages[2].Run, "{\"id\":2,\"total\":21}\n{\"id\":4,\"total\":40}\n")
	require.Contains(t, s.Waymark(t, "verify", pages[2].Run, "--secrets-dir", filepath.Join(s.Folder, "secrets")), "compared: source orders")
	require.Eventually(t, func() bool { return strings.Contains(s.trigger(t).Error, "42P01") }, patience, 100*time.Millisecond)

	s.Waymark(t, "triggers", "again", "new", pages[2].Item, "--why", "the price list was wrong")
	again := s.pages(t, 4, landscape.ArrivalDone)
	s.holds(t, "out", again[3].Run, "{\"id\":2,\"total\":21}\n{\"id\":4,\"total\":40}\n")
	require.Equal(t, pages[2].Item, again[3].Item)

	s.write(t, ordersTable[:strings.Index(ordersTable, "create function")]+"insert into orders values (5, 50)")
	require.Len(t, s.pages(t, 5, landscape.ArrivalDone), 5, "where it left off")
	s.deployWith(t, "rows: {by: [tx, id, total], most: 2}")
	require.Eventually(t, func() bool {
		return strings.Contains(s.trigger(t).Error, "rows have arrived by tx, id, and nobody can tell which are new by tx, id, total")
	}, patience, 100*time.Millisecond)
}

// rowsPage does what docs/triggers-postgres.md says. deploy looks at the table, as soon as the server may connect to
// it, and says that a trigger waits for rows that cannot come.
func (s *watching) rowsPage(t *testing.T) {
	text := manual.Page(t, "triggers-postgres.md")
	document := manual.Blocks(text, "yaml")[0]
	document = strings.NewReplacer("/data", s.Folder, "name: orders", "name: bought").Replace(document)
	shop := s.shop(t, "bought.yaml", "create table orders (id int primary key, total numeric)")
	shop.write(t, manual.Blocks(text, "sql")[0])
	shop.write(t, "insert into orders values (1, 2.50)")
	shop.document(t, strings.Replace(document, "by: [written_by, id]", "by: [written_by]", 1))
	out, err := s.Try(t.Context(), append(shop.deployment(), "--dry-run")...)
	require.NoError(t, err)
	require.Contains(t, out, "SECRET_HELD")
	require.Contains(t, s.Waymark(t, shop.deployment()...), "two rows could be alike in written_by")
	shop.document(t, document)
	s.Waymark(t, shop.deployment()...)
	s.holds(t, "out", shop.pages(t, 1, landscape.ArrivalDone)[0].Run, "{\"id\":1,\"total\":2.50}\n")
}
