package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// sealed is a landscape without guards, whose runs have ended and are sealed.
type sealed struct {
	*landscape.Log
	db    *sql.DB
	path  string
	store *sqlitestore.Store
}

func newSealed(t *testing.T) *sealed {
	t.Helper()
	path := unguarded(t, "sealed", func(t *testing.T, store *sqlitestore.Store) {
		assailable(t, store)
		log := landscape.New(store, nil)
		late := landscapetest.Scene{
			Run: "late", Chunks: 1, ChunkRows: 20, Amounts: true,
			Late: func(_ string, row int64) bool { return row%7 == 1 },
		}
		require.NoError(t, late.PlayToEnd(t.Context(), log))
		for _, run := range []string{"r1", "r2", "r3", "late"} {
			require.NoError(t, log.StopRun(t.Context(), run, pipeline.Failed, "broken"))
		}
	})
	store := reopened(t, path)
	return &sealed{landscape.New(store, nil), stranger(t, path, "?_pragma=ignore_check_constraints(1)"), path, store}
}

// column is one of a table's, as the database has it.
type column struct {
	name, kind string
	key        int // its place in the primary key, from 1
}

func (s *sealed) columns(t *testing.T, table string) (columns []column) {
	t.Helper()
	rows, err := s.db.Query(`select name, type, pk from pragma_table_info(?)`, table)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var c column
		require.NoError(t, rows.Scan(&c.name, &c.kind, &c.key))
		columns = append(columns, c)
	}
	require.NoError(t, rows.Err())
	return columns
}

// victim returns a run that has leaves in a table, the key of the first of them, and what selects that by SQL.
func (s *sealed) victim(t *testing.T, table string) (run string, leaf landscape.RunLeaf, where string) {
	t.Helper()
	for _, id := range []string{"r1", "r3", "r5", "late", "r2", "r9"} {
		err := s.RunLeaves(t.Context(), id, func(l landscape.RunLeaf) bool {
			if l.Table == table {
				run, leaf = id, l
			}
			return run == ""
		})
		require.NoError(t, err)
		if run != "" {
			break
		}
	}
	require.NotEmpty(t, run, "the attack needs something to attack in %s", table)
	order := slices.DeleteFunc(s.columns(t, table), func(c column) bool { return c.key == 0 })
	slices.SortFunc(order, func(a, b column) int { return a.key - b.key })
	var texts []string
	for _, c := range order {
		texts = append(texts, "iif(typeof("+c.name+") = 'blob', lower(hex("+c.name+")), "+c.name+")")
	}
	return run, leaf, strings.Join(texts, " || '/' || ") + " = '" + strings.ReplaceAll(leaf.Key, "'", "''") + "'"
}

// fits reports whether the records of a run have the root of its last seal.
func (s *sealed) fits(t *testing.T, run string) bool {
	t.Helper()
	fits, err := landscapetest.FitsSeal(t.Context(), s.Reader, run)
	return fits && err == nil
}

// attack executes a statement, looks, and puts the table back. What the table had is kept in a temporary one: a change
// of the file's schema would have each connection read all of it again.
func (s *sealed) attack(t *testing.T, table, statement string, look func()) {
	t.Helper()
	conn, err := s.db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	exec := func(statement string) (changed int64) {
		result, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
		changed, err = result.RowsAffected()
		require.NoError(t, err)
		return changed
	}
	exec(`create temp table kept as select * from main.` + table)
	require.Positive(t, exec(statement), statement)
	look()
	exec(`delete from main.` + table)
	require.Positive(t, exec(`insert into main.`+table+` select * from kept`), statement)
	exec(`drop table kept`)
}

// other is another value for a column.
func (c column) other() string {
	null, number := "'x'", c.name+" + 1000"
	if c.kind == "INTEGER" {
		null = "7"
	}
	if c.name == "final" || c.name == "raw_is_text" { // yes or no
		number = "1 - " + c.name
	}
	return fmt.Sprintf(`%[1]s = case typeof(%[1]s) when 'integer' then %[2]s when 'text' then %[1]s || 'x' when 'blob' then cast(%[1]s || x'00' as blob) else %[3]s end`,
		c.name, number, null)
}

// TestEveryColumnIsSealed changes each column of each table of a run, by day each fourth: its root is another then.
// What is not under the root of the run is listed
// here, or in landscape.Unsealed, with the reason.
//
// If a column is new, all seals that were made before it must still fit: their lines do not have it. Leave it out of the lines of records in which it
// has its default, as docs/adr/0015-run-seals.md says, or add it here.
func TestEveryColumnIsSealed(t *testing.T) {
	exceptions := map[string]string{"passages.way_codes": "the root of its chunk binds the way of each row"}
	s := newSealed(t)
	unsealed, columns := landscape.Unsealed(), 0
	for _, table := range landscape.Tables() {
		if unsealed[table.Name] != "" {
			continue
		}
		run, leaf, where := s.victim(t, table.Name)
		require.True(t, s.fits(t, run))
		for _, c := range s.columns(t, table.Name) {
			name := table.Name + "." + c.name
			columns++
			if columns%sample.Step(4) != 0 {
				continue
			}
			s.attack(t, table.Name, `update `+table.Name+` set `+c.other()+` where `+where, func() {
				require.Equal(t, exceptions[name] != "", s.fits(t, run), "%s of %s", name, leaf.Key)
			})
		}
		require.True(t, s.fits(t, run), "%s is put back", table.Name)
	}
	require.Equal(t, sealedColumns, columns, "a column is new, or gone: decide whether seals bind it")
	for table := range unsealed {
		require.True(t, slices.ContainsFunc(landscape.Tables(), func(t *landscape.Table) bool { return t.Name == table }), "there is no table %s", table)
	}
}

// sealedColumns is how many columns the tables have that have leaves.
const sealedColumns = 306

// TestVerifyNamesWhatWasSealed changes, removes and adds one record in each table of a run: verify names the table, and the key.
func TestVerifyNamesWhatWasSealed(t *testing.T) {
	s := newSealed(t)
	broken := s.verified(t)
	unsealed := landscape.Unsealed()
	for _, table := range sample.Of(3, landscape.Tables()) {
		if unsealed[table.Name] != "" || table.Name == "runs" {
			continue
		}
		t.Run(table.Name, func(t *testing.T) {
			run, leaf, where := s.victim(t, table.Name)
			require.NotContains(t, strings.Join(broken(run), "\n"), table.Name+": ")
			columns := s.columns(t, table.Name)
			plain := slices.IndexFunc(columns, func(c column) bool { return c.key == 0 && c.name != "run_id" })
			if plain >= 0 {
				s.attack(t, table.Name, `update `+table.Name+` set `+columns[plain].other()+` where `+where, func() {
					require.Contains(t, broken(run), table.Name+": "+leaf.Key+" is not as it was sealed")
				})
			}
			s.attack(t, table.Name, `delete from `+table.Name+` where `+where, func() {
				require.Condition(t, func() bool {
					return slices.ContainsFunc(broken(run), func(p string) bool { return strings.HasPrefix(p, table.Name+": a record that was sealed is gone, ") })
				})
			})
			var names, values []string
			for _, c := range columns {
				value := c.name
				if c.name != "run_id" && c.name != "parent_run" && table.Name+"."+c.name != "errors.node" { // by which it is the run's
					_, value, _ = strings.Cut(c.other(), " = ")
				}
				names, values = append(names, c.name), append(values, value)
			}
			s.attack(t, table.Name, `insert into `+table.Name+` (`+strings.Join(names, ", ")+`) select `+strings.Join(values, ", ")+` from `+table.Name+` where `+where, func() {
				require.Condition(t, func() bool {
					return slices.ContainsFunc(broken(run), func(p string) bool {
						return strings.HasPrefix(p, table.Name+": ") && strings.HasSuffix(p, " was added")
					})
				}, "%v", broken(run))
			})
		})
	}
}

// verified returns what asks verify which seals of a run are broken.
func (s *sealed) verified(t *testing.T) func(run string) []string {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), s.path, sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	auditor := audit.New(landscape.NewReader(store), payload.New(new(memstore.Store), payload.Options{}), nil)
	return func(run string) (found []string) {
		report, err := auditor.VerifyWith(t.Context(), run, audit.VerifyOptions{})
		require.NoError(t, err)
		for _, p := range report.Problems {
			if p.Kind == audit.SealBroken {
				found = append(found, p.Where+": "+p.Detail)
			}
		}
		return found
	}
}

// TestVerifyLooksAtOlderSeals changes a seal after which there is another one.
func TestVerifyLooksAtOlderSeals(t *testing.T) {
	s := newSealed(t)
	broken := s.verified(t)
	require.NoError(t, s.RecordAction(t.Context(), "late", "v", "ann", ""))
	for _, run := range []string{"late", "r2", "r8"} {
		require.NotContains(t, strings.Join(broken(run), "\n"), "run_seals: ", run)
	}
	for _, change := range []string{
		"marks = cast(substr(marks, 1, 4) || x'00000000' || substr(marks, 9) as blob)",
		"marks = zeroblob(length(marks))",
		"tables = json_set(tables, '$.nodes', json_extract(tables, '$.nodes') + 1, '$.edges', json_extract(tables, '$.edges') - 1)",
		"tables = json_set(tables, '$.nodes', json_extract(tables, '$.nodes') + 1)",
		"tables = json_set(tables, '$.actions', 0)",
	} {
		s.attack(t, "run_seals", "update run_seals set "+change+" where run_id = 'late' and seq = 0", func() {
			require.Contains(t, broken("late"), "run_seals: the records have the root of the seal 1, and tables or marks of the seal 0 "+
				"are not what was recorded before: the seal was changed, not they", change)
		})
	}
}

// TestVerifyNamesForeignSalts adds salts of nothing.
func TestVerifyNamesForeignSalts(t *testing.T) {
	s := newSealed(t)
	broken := s.verified(t)
	for _, run := range []string{"late", "r8"} {
		require.NotContains(t, strings.Join(broken(run), "\n"), "salts: ", run)
	}
	for of, want := range map[string]string{
		"'orders', 99": "salts: orders chunk 99 is foreign: the run has no such sealed chunk or seal",
		"'', 99":       "salts: seal 99 is foreign: the run has no such sealed chunk or seal",
		"'', 0":        "salts: seal 0 is foreign: no row of the run is forgotten",
	} {
		s.attack(t, "salts", "insert into salts select run_id, "+of+", keys from salts where run_id = 'late'", func() {
			require.Contains(t, broken("late"), want)
		})
	}
}

// TestAnEndIsNotTakenBack lets a run that ended be running again in the epoch of its end. Whatever follows, it does not fit its seal, and gets no other.
func TestAnEndIsNotTakenBack(t *testing.T) {
	s, ctx := newSealed(t), t.Context()
	run, err := s.Run(ctx, "r2")
	require.NoError(t, err)
	require.NoError(t, s.Intact(ctx, "r2"))
	_, err = s.db.Exec(`update runs set status = 'running', finished_us = null where run_id = 'r2'`)
	require.NoError(t, err)
	refused := func() {
		_, _, sealed := s.SealRun(ctx, "r2")
		resumed := s.Resume(ctx, landscape.Resumption{Run: "r2", Epoch: run.Epoch + 1, Claim: "c"})
		for _, err := range []error{sealed, resumed, s.Intact(ctx, "r2")} {
			var broken *landscape.UnsealableError
			require.ErrorAs(t, err, &broken)
			require.True(t, broken.Broken, "%v", err)
		}
		seals, err := s.RunSeals(ctx, "r2")
		require.NoError(t, err)
		require.Len(t, seals, int(run.Epoch)+1)
	}
	refused()
	require.NoError(t, s.StopRun(ctx, "r2", pipeline.Interrupted, "the process ended"))
	refused()
}

// TestAnEpochThatNobodyBegan moves a run that ended to an epoch without a resumption: that is a change like others, and no reason for another seal.
func TestAnEpochThatNobodyBegan(t *testing.T) {
	s, ctx := newSealed(t), t.Context()
	s.attack(t, "runs", `update runs set epoch = 7 where run_id = 'late'`, func() {
		last, err := s.LastSeal(ctx, "late")
		require.NoError(t, err)
		require.Zero(t, last.Epoch)
		_, _, err = s.SealRun(ctx, "late")
		var broken *landscape.UnsealableError
		require.ErrorAs(t, err, &broken)
		require.True(t, broken.Broken, "%v", err)
	})
}

// TestStrangersComputeTheRoot lets docs/seal.py compute roots from the database.
func TestStrangersComputeTheRoot(t *testing.T) {
	python := services.Python(t)
	s := newSealed(t)
	compute := func(run string) (string, error) {
		out, err := exec.CommandContext(t.Context(), python, "../../docs/seal.py", s.path, run).CombinedOutput()
		return string(out), err
	}
	for _, run := range sample.Of(2, []string{"r1", "r2", "r3", "r5", "late"}) {
		out, err := compute(run)
		require.NoError(t, err, "%s: %s", run, out)
		require.Contains(t, out, "the records of the run have this root")
	}
	s.attack(t, "edges", `update edges set to_node = 'elsewhere' where run_id = 'r3'`, func() {
		out, err := compute("r3")
		require.ErrorContains(t, err, "exit status 4")
		require.Contains(t, out, "the record is another")
	})
	out, err := compute("nobody")
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, out, "run nobody has no seal here")
}

// TestThePageHasTheColumnsThatAreLeftOut of the line of an error, which a root of a chunk binds.
func TestThePageHasTheColumnsThatAreLeftOut(t *testing.T) {
	page, err := os.ReadFile("../../docs/seal.md")
	require.NoError(t, err)
	var left []string
	for _, c := range landscape.TableOf(landscape.RowError{}).Columns {
		if c.First {
			left = append(left, "`"+c.Name+"`")
		}
	}
	require.Contains(t, string(page), "Of `errors` these columns are left out, because a repeat of the work has others: "+strings.Join(left, ", ")+".\n")
}

// TestCheckSeals names the root that what is recorded does not have.
func TestCheckSeals(t *testing.T) {
	s := newSealed(t)
	for _, run := range []string{"r1", "r2", "r3", "late"} {
		sealed, err := s.CheckSeals(t.Context(), run)
		require.NoError(t, err, run)
		require.Equal(t, run, sealed.Run)
	}
	for _, attack := range []struct{ table, statement, want string }{
		{"edges", `update edges set to_node = 'elsewhere' where run_id = 'late'`, "seal 0 of run late: "},
		{"chunk_seals", `delete from chunk_seals where run_id = 'late'`, "seal 0 of run late: "},
		{"runs", `update runs set epoch = 7 where run_id = 'late'`, "seal 0 of run late: "},
		{"salts", `delete from salts where run_id = 'late'`, "seal 0 of run late: "},
		{"hashes", `update hashes set hashes = zeroblob(length(hashes)) where run_id = 'late'`, " chunk 0 of run late: "},
		{"hashes", `update hashes set hashes = x'00' where run_id = 'late'`, " chunk 0 of run late: "},
		{"hashes", `update hashes set hashes = substr(hashes, 2) where run_id = 'late'`, " chunk 0 of run late: "},
		{"hashes", `update hashes set slots = x'' where run_id = 'late'`, " chunk 0 of run late: "},
		{"hashes", `update hashes set slots = x'ff' where run_id = 'late'`, " chunk 0 of run late: "},
		{"hashes", `update hashes set slots = zeroblob(3) where run_id = 'late'`, " chunk 0 of run late: "},
		{"passages", `update passages set way_codes = x'ff' where run_id = 'late'`, " of run late: "},
		{"chunk_rows", `update chunk_rows set offsets = x'01' where run_id = 'late'`, " chunk 0 of run late: "},
		{"errors", `update errors set message = 'harmless' where run_id = 'late'`, " of run late: "},
	} {
		s.attack(t, attack.table, attack.statement, func() {
			_, err := landscape.NewReader(s.store).CheckSeals(t.Context(), "late")
			require.ErrorIs(t, err, landscape.ErrSealBroken, attack.statement)
			require.ErrorContains(t, err, attack.want)
		})
	}
	s.attack(t, "run_seals", `delete from run_seals where run_id = 'late'`, func() {
		_, err := s.CheckSeals(t.Context(), "late")
		require.ErrorIs(t, err, landscape.ErrUnsealed)
	})
}
