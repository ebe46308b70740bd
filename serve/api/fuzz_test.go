package api

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
	scheduling "waymark/workflows/slots"
	arriving "waymark/workflows/triggers"
)

// everything is a state folder with everything that a record can have: runs in every state, also archived, purged and
// forgotten ones, and of no run's payloads is one there.
func everything(t *testing.T) (state local.Folder, token string) {
	t.Helper()
	ctx, folder := t.Context(), t.TempDir()
	state = local.Folder(filepath.Join(folder, ".waymark"))
	home, err := local.Open(ctx, local.Options{State: state, Allow: []string{folder}})
	require.NoError(t, err)
	store, err := sqlitestore.Open(ctx, filepath.Join(string(state), "landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	log := landscape.New(store, nil).SealedBy(landscapetest.Sealer{})
	require.NoError(t, log.AppendToLog(ctx, landscapetest.EntryAbout("genesis")))
	for _, text := range fixtures.Arriving {
		_, err := home.Deploy(ctx, client.DeployRequest{
			File: "pipeline.yaml", Source: []byte(strings.ReplaceAll(text, "FOLDER", folder)),
			Anyway: "nothing is there yet", By: client.By{Why: "to see"},
		})
		require.NoError(t, err)
	}
	current, err := log.AllCurrentVersions(ctx)
	require.NoError(t, err)
	deposit, err := home.Deposit(ctx, false)
	require.NoError(t, err)
	for _, d := range current {
		require.NoError(t, arriving.Adopt(ctx, log, deposit.Payloads, d))
		require.NoError(t, scheduling.Adopt(ctx, log, deposit.Payloads, d))
	}
	ann := client.AccessRequest{By: client.By{Why: "a test"}, Name: "ann", Roles: landscape.Roles()}
	granted, err := home.GrantAccess(ctx, ann)
	require.NoError(t, err)
	require.NoError(t, home.Close())

	scene := func(run string) landscapetest.Scene {
		late := func(_ string, row int64) bool { return row%7 == 1 }
		return landscapetest.Scene{Run: run, Chunks: 2, ChunkRows: 20, Fields: true, Amounts: true, Late: late}
	}
	for _, run := range []string{"whole", "old", "purged", "forgotten"} {
		require.NoError(t, scene(run).Play(ctx, log))
	}
	require.NoError(t, landscapetest.GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6}.Play(ctx, log))
	require.NoError(t, landscapetest.Published(ctx, log, "published"))
	for _, run := range []string{"begun", "failed", "cancelled", "ended"} {
		require.NoError(t, scene(run).Begin(ctx, log))
	}
	require.NoError(t, log.StopRun(ctx, "failed", pipeline.Failed, "row 7 says secret"))
	require.NoError(t, log.CancelRun(ctx, "cancelled", false, "ann", "enough"))
	require.NoError(t, log.CancelRun(ctx, "ended", true, "ann", "for ever"))
	require.NoError(t, log.Refuse(ctx, landscape.Start{
		Run: "refused", Pipeline: "orders", Params: "{}", State: landscape.StartRefused,
		Refusal: "InputInvalid", Reason: "secret",
	}))
	for name, make := range map[string]func() error{
		"archived":  func() error { return landscapetest.Archived(ctx, log, "old") },
		"purged":    func() error { return landscapetest.Purged(ctx, log, "purged") },
		"forgotten": func() error { return landscapetest.Forgotten(ctx, log, "forgotten") },
		"ordered":   func() error { return landscapetest.Ordered(ctx, log, "whole") },
		"arrived":   func() error { return landscapetest.Arrived(ctx, log, "orders") },
		"delivered": func() error {
			return errors.Join(landscapetest.Tell(ctx, log, "told", 3), landscapetest.Delivered(ctx, log))
		},
		"retained": func() error { return landscapetest.Retained(ctx, log) },
		"accessed": func() error { return landscapetest.Accessed(ctx, log) },
		"attested": func() error {
			_, err := landscapetest.Attest(ctx, log, "published", plugin.Changed)
			return err
		},
	} {
		assert.NoError(t, make(), name)
	}
	require.NoError(t, store.Close())
	return state, granted.Token
}

// A fuzz asks for everything that a server tells of a state folder.
type fuzz struct {
	*testing.T
	server *Server
	token  string
	cookie string // of a session
	chance *rand.Rand
	log    bytes.Buffer
	faults []string // 5xx without a code that says what is wrong, with what the log says of them
}

// fuzzing opens a state folder.
func fuzzing(t *testing.T, state local.Folder, token string, seed uint64) *fuzz {
	t.Helper()
	home, err := local.Open(t.Context(), local.Options{State: state, Existing: true, Unchanged: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = home.Close() })
	f := &fuzz{T: t, token: token, chance: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // no secret
	f.server, err = New(Options{
		Home: home, Logger: slog.New(slog.NewTextHandler(&f.log, nil)), Code: "test", Private: true,
	})
	require.NoError(t, err)
	f.cookie = f.server.sessions.begin(session{token: token}, time.Now())
	return f
}

// words are what stands in addresses: what is there, and what nobody should write.
var words = map[string][]string{
	"run": {
		"whole", "graph", "old", "purged", "forgotten", "begun", "failed", "cancelled", "ended", "published", "refused",
		"arrived", "last", "%00", "..%2f..", "ä",
	},
	"name":        {"orders", "nightly", "after", "hooks", "shop", "nobody", "a%2fb"},
	"pipeline":    {"orders", "nightly", "after", "hooks", "shop", "nobody"},
	"environment": {landscape.DefaultEnvironment, "prod", "%ff"},
	"trigger":     {"drop", "outputs", "calls", "rows", "none"},
	"schedule":    {"nightly", "none"},
	"sink":        {"review", "all", "totals", "out", "none"},
	"digest":      {strings.Repeat("0", 64), strings.Repeat("a", 64), "x"},
	"": {
		"", "0", "1", "2", "99999999999", "-1", "whole", "graph", "orders", "in",
		"source", "review", "id", "amount", "all",
		"*", "'", "%00", "2026-01-02", "a=b", "in:3", "\u202e",
	},
}

var inPath = regexp.MustCompile(`\{(\w*)[.$]*\}`)

// address returns an address of a route, with some of the parameters that it takes.
func (f *fuzz) address(r *route, run string) string {
	path := inPath.ReplaceAllStringFunc(r.path, func(parameter string) string {
		name := strings.Trim(parameter, "{}.$")
		switch {
		case name == "":
			return ""
		case name == "run" && run != "":
			return run
		case name == "name" && strings.HasPrefix(r.path, "/assets"):
			return "style.css"
		}
		return f.one(name)
	})
	var query []string
	for _, p := range r.query {
		if f.chance.IntN(2) == 0 {
			value := f.one("")
			if p.values != nil {
				value = p.values[f.chance.IntN(len(p.values))]
			} else if p.number {
				value = []string{"0", "1", "3", "21", "9223372036854775807"}[f.chance.IntN(5)]
			} else if words[p.name] != nil {
				value = f.one(p.name)
			}
			escaped := strings.NewReplacer("%", "%25", " ", "+", "&", "%26", "#", "%23").Replace(value)
			query = append(query, p.name+"="+escaped)
		}
	}
	return path + "?" + strings.Join(query, "&")
}

func (f *fuzz) one(name string) string {
	pool := words[name]
	if pool == nil {
		pool = words[""][1:]
	}
	return pool[f.chance.IntN(len(pool))]
}

// ask asks each route that only reads once, or for each run once. doctor, which starts a Temporal server, is asked
// by its route of the API if so wanted.
func (f *fuzz) ask(doctor bool) {
	for i := range f.server.routes {
		r := &f.server.routes[i]
		if r.method != http.MethodGet ||
			!sample.All() && strings.HasSuffix(r.path, "/doctor") && (!doctor || r.page()) {
			continue
		}
		runs := []string{""}
		if strings.Contains(r.path, "{run}") && sample.All() {
			runs = words["run"]
		}
		for _, run := range runs {
			f.request(r, f.address(r, run))
		}
	}
}

// patience is how long a request may take: a stream never ends.
func (*fuzz) patience(r *route) time.Duration {
	if r.stream == "text/event-stream" {
		return 50 * time.Millisecond
	}
	return time.Minute
}

// request sends one request, whose answer is no 5xx but for what has a code: a store that is away or damaged.
func (f *fuzz) request(r *route, address string) {
	f.Helper()
	ctx, done := context.WithTimeout(f.Context(), f.patience(r))
	defer done()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(address, "\x00", ""), http.NoBody)
	request.Host = "localhost:8686"
	if r.page() {
		request.Header.Set("Cookie", sessionCookie+"="+f.cookie)
	} else {
		request.Header.Set("Authorization", "Bearer "+f.token)
	}
	answer := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }() // a stream that a panic cut off: that is counted
		f.server.ServeHTTP(answer, request)
	}()
	var said struct{ Code client.Code }
	_ = json.Unmarshal(answer.Body.Bytes(), &said) // a page says it to people
	log := f.log.String()
	fault := said.Code == internalFault || r.page() && strings.Contains(log, "request failed")
	// by landscapetest
	for _, invented := range []string{"the parameters on record", "what was signed is not an order"} {
		fault = fault && !strings.Contains(log, invented)
	}
	if answer.Code >= 500 && fault {
		f.faults = append(f.faults, fmt.Sprintf("%d %s: %s", answer.Code, address, log))
	}
	f.log.Reset()
}

// damage changes cells of the record as nobody could who writes by Waymark, and some of the files of the payload
// store.
func damage(t *testing.T, state local.Folder, seed uint64, cells int) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // no secret
	db, err := sql.Open("sqlite", filepath.Join(string(state), "landscape.db"))
	require.NoError(t, err)
	defer db.Close()
	texts := func(query string) (all []string) {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var text string
			require.NoError(t, rows.Scan(&text))
			all = append(all, text)
		}
		require.NoError(t, rows.Err())
		return all
	}
	for _, trigger := range texts("select name from sqlite_master where type = 'trigger'") {
		_, err := db.ExecContext(t.Context(), `drop trigger "`+trigger+`"`)
		require.NoError(t, err)
	}
	values := []any{
		nil, "", "x", "{", "{}", "[]", "null", `{"a":[1,{"b":null}]}`, -1, 0, 1, 255, int64(1) << 62, []byte{},
		[]byte{0xff, 0x00, 0x80}, strings.Repeat("z", 3000), "\xff\xfe",
	}
	changed := 0
	tables := landscape.Tables()
	for changed < cells {
		table := tables[chance.IntN(len(tables))]
		column := table.Columns[chance.IntN(len(table.Columns))].Name
		if table.Name == (landscape.AccessToken{}).Table() {
			continue
		}
		const some = `update or ignore %q set %q = ? where rowid in (select rowid from %[1]q order by random() limit 2)`
		query := fmt.Sprintf(some, table.Name, column)
		if chance.IntN(3) == 0 {
			query = fmt.Sprintf(`update or ignore %q set %q = substr(%[2]q, 1, length(%[2]q) / 2) where ? is not 7`,
				table.Name, column)
		}
		if result, err := db.ExecContext(t.Context(), query, values[chance.IntN(len(values))]); err == nil {
			if n, _ := result.RowsAffected(); n > 0 {
				changed++
				continue
			}
		}
		if chance.IntN(50) == 0 { // most of what a column does not take is refused
			changed++
		}
	}
	files, err := filepath.Glob(filepath.Join(string(state), "payloads", "objects", "*", "*"))
	require.NoError(t, err)
	for _, file := range files {
		switch chance.IntN(4) {
		case 0:
			require.NoError(t, os.Remove(file))
		case 1:
			require.NoError(t, os.Chmod(file, 0o600))
			require.NoError(t, os.WriteFile(file, []byte("no payload"), 0o600))
		}
	}
}

// defects are how many panics were caught.
func defects() (n int64) {
	for _, of := range defect.Counts() {
		n += of
	}
	return n
}

// TestEverythingIsTold asks every route that reads, and doctor, of a state folder with everything in it, and then
// of damaged
// ones: nothing panics, and of what is whole no answer is a fault of the server's own.
func TestEverythingIsTold(t *testing.T) {
	t.Parallel()
	state, token := everything(t)
	whole, others := uint64(1), uint64(1)
	if sample.All() {
		whole, others = 3, 60
	}
	for seed := range whole {
		before := defects()
		f := fuzzing(t, state, token, seed)
		f.ask(false)
		assert.Empty(t, f.faults)
		require.Equal(t, before, defects())
	}
	for seed := range others {
		before := defects()
		damaged := local.Folder(filepath.Join(t.TempDir(), ".waymark"))
		require.NoError(t, os.CopyFS(string(damaged), os.DirFS(string(state))))
		damage(t, damaged, seed, 30)
		f := fuzzing(t, damaged, token, seed)
		f.ask(true)
		// of other damage it is enough that the process lives, and says under which id the log has the cause
		if seed == 0 {
			require.Equal(t, before, defects())
		}
	}
}
