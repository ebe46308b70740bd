package workers_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// snapshot is everything that a run could have changed.
type snapshot struct {
	tables map[string][]string // rows as text, in order
	files  map[string]string   // digests by path: outputs, what is staged, payloads; folders too
}

// look reads all of it.
func (s *scene) look() snapshot {
	s.t.Helper()
	shot := snapshot{tables: map[string][]string{}, files: map[string]string{}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.state, "landscape.db")+"?mode=ro&_pragma=busy_timeout(10000)")
	require.NoError(s.t, err)
	defer db.Close()
	const tables = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
	for _, name := range rowsOf(s.t, db, tables) {
		rows := rowsOf(s.t, db, "select * from "+name)
		slices.Sort(rows)
		shot.tables[name] = rows
	}
	for _, folder := range []string{filepath.Join(s.folder, "out"), filepath.Join(s.state, "payloads")} {
		s.lookAt(folder, shot.files)
	}
	return shot
}

func (s *scene) lookAt(folder string, files map[string]string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			files[path] = "folder"
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		files[path] = hex.EncodeToString(sum[:])
		return err
	}))
}

// rowsOf returns the rows as text, columns one after the other.
func rowsOf(t *testing.T, db *sql.DB, statement string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(statement, args...)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(t, rows.Scan(targets...))
		var line strings.Builder
		for i, value := range values {
			if blob, is := value.([]byte); is {
				value = hex.EncodeToString(blob)
			}
			if len(columns) > 1 {
				fmt.Fprintf(&line, "%s=", columns[i])
			}
			fmt.Fprintf(&line, "%v ", value)
		}
		out = append(out, strings.TrimSuffix(line.String(), " "))
	}
	require.NoError(t, rows.Err())
	return out
}

// mention reports whether the payload, or the folder of payloads, is one that a record refers to or that is in flight there.
func (s snapshot) mention(name string) bool {
	if strings.HasPrefix(name, "tmp-") {
		return true
	}
	for _, rows := range s.tables {
		if len(name) == hex.EncodedLen(sha256.Size) && slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, name) }) {
			return true
		}
	}
	return false
}

// told are the events by which the record says that an attempt came too late, and the seals that bind these. Nothing else may be new.
var told = map[string][]string{
	"effect_events": {"event=fenced ", "event=failed "}, "run_events": {"event=superseded "}, sealsTable: {"late=0 "},
}

const sealsTable = "run_seals"

// requireUnchanged requires that nothing is different but for events that say that somebody came too late, and returns how many
// there are. What a process was about to store may still have had a temporary name; it must be gone. An attempt of an earlier epoch
// may store a payload, because it is refused only when it wants to refer to it.
func requireUnchanged(t *testing.T, before, after snapshot) (events int) {
	t.Helper()
	maps.DeleteFunc(before.files, func(path, _ string) bool { return strings.HasPrefix(filepath.Base(path), "tmp-") })
	maps.DeleteFunc(after.files, func(path, _ string) bool {
		_, known := before.files[path]
		return !known && strings.Contains(path, "/payloads/objects/") && !after.mention(filepath.Base(path))
	})
	require.Equal(t, before.files, after.files)
	require.Len(t, after.tables, len(before.tables))
	for table, rows := range after.tables {
		kept := slices.DeleteFunc(slices.Clone(rows), func(row string) bool {
			isNew := !slices.Contains(before.tables[table], row)
			isTold := slices.ContainsFunc(told[table], func(word string) bool { return strings.Contains(row+" ", word) })
			if isNew && isTold && table != sealsTable {
				events++
			}
			return isNew && isTold
		})
		require.True(t, slices.Equal(before.tables[table], kept), "%s changed:\n%s\nnow:\n%s", table,
			strings.Join(before.tables[table], "\n"), strings.Join(kept, "\n"))
	}
	return events
}
