package evidence_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
)

// TestAttacks are what the owner of the landscape may do to it; the layer that must notice is named.
func TestAttacks(t *testing.T) {
	tables := []string{"nodes", "edges", "sources", "lanes", "effects", "runs"}
	without := func(run string) (statements []string) {
		for _, table := range tables {
			statements = append(statements, fmt.Sprintf(`delete from %s where run_id = '%s'`, table, run))
		}
		return statements
	}
	whole := newPlace(t)
	whole.runs("r1", "r2", "r3")
	require.Empty(t, whole.check().Problems)
	folder, err := os.Getwd()
	require.NoError(t, err)
	for name, attack := range map[string]struct {
		statements []string
		do         func(*testing.T, *place)
		want       []string // "where: what", each a part
	}{
		"31 a run is deleted with all its rows": {
			statements: without("r2"), want: []string{"run r2: began, says the log, and is not recorded"},
		},
		"32 also its entry": {
			statements: append(without("r2"), `delete from log where about = 'began/r2'`), want: []string{"entry 3: is missing"},
		},
		"32 also its entry, and the others move up": {
			statements: append(without("r2"), `delete from log where about = 'began/r2'`, `update log set position = 3 where position = 4`, `update log_head set size = 4`),
			want:       []string{"log_hashes: the hash", "log_heads 5: a head of 5 entries was signed, and 4 are there"},
		},
		"32 the newest run, with its entry, hashes and heads": {
			statements: append(without("r3"), `delete from log where about = 'began/r3'`,
				`update log_head set size = 4`, `delete from log_heads`, `delete from log_anchors`,
				`delete from log_hashes where number > 6`),
			want: []string{"anchor: a head of 5 entries was signed, and 4 are there"},
		},
		"33 a forged run": {
			statements: []string{forgedRun("r9")}, want: []string{"run r9: has no entry in the log"},
		},
		"33 a forged run with an unsigned entry": {
			do: func(t *testing.T, p *place) { forge(t, p, "r9", nil) }, want: []string{"entry 5: does not count: it is not a note", "run r9: has no entry"},
		},
		"33 a forged run with an entry that a key of the owner signed": {
			do: func(t *testing.T, p *place) {
				secret, _, err := note.GenerateKey(noChance{}, "worker-a/sealer")
				require.NoError(t, err)
				signer, err := note.NewSigner(secret)
				require.NoError(t, err)
				forge(t, p, "r9", signer)
			},
			want: []string{"entry 5: does not count: it is signed by no sealer that counts", "run r9: has no entry"},
		},
		"34 an entry of a key that was revoked": {
			do: func(t *testing.T, p *place) {
				sealer, err := keys.Load(p.keys, keys.Sealer)
				require.NoError(t, err)
				require.NoError(t, p.open(func(e *evidence.Evidence) {
					_, err := e.Notary.Revoke(t.Context(), sealer.VKey, "it was copied")
					require.NoError(t, err)
					p.begin(e, "r9") // a process that does not know
				}))
			},
			want: []string{"entry 6: does not count: it is signed by no sealer that counts", "run r9: has no entry"},
		},
		"37 entries change places": {
			statements: []string{
				`update log set position = 77 where position = 3`, `update log set position = 3 where position = 4`, `update log set position = 4 where position = 77`,
			},
			want: []string{"log_hashes: the hash", "log_heads 5: the signed head", "anchor: the signed head"},
		},
		"37 entries and hashes change places": {
			statements: []string{
				`update log set position = 77 where position = 3`, `update log set position = 3 where position = 4`, `update log set position = 4 where position = 77`,
				`delete from log_hashes`, `delete from log_heads`, `delete from log_anchors`,
			},
			want: []string{"anchor: the signed head"},
		},
		"38 a guard is disabled, a document changed, the guard put back": {
			statements: []string{`update runs set document_sha256 = '` + strings.Repeat("0", 64) + `' where run_id = 'r2'`}, want: []string{"run r2: is recorded with another pipeline or document"},
		},
		"23 a document is changed, and not its digest": {
			statements: []string{`update runs set document = document || ' ' where run_id = 'r2'`}, want: []string{"run r2: is recorded with the right document_sha256, and its document hashes to "},
		},
		"26 somebody else began a run": {
			statements: []string{`update runs set actor = 'eve' where run_id = 'r2'`}, want: []string{`run r2: is recorded as begun by "eve" (`},
		},
		"26 a run came of something else": {
			statements: []string{`update runs set trigger = 'schedule' where run_id = 'r2'`}, want: []string{`(schedule), and its entry says somebody else`},
		},
		"30 a run began a day earlier": {
			statements: []string{`update runs set started_us = started_us - 86400000000 where run_id = 'r2'`}, want: []string{"run r2: is recorded as begun at ", ", and its entry says "},
		},
		"an entry is changed": {
			statements: []string{`update log set entry = replace(entry, 'r2', 'r8') where position = 3`}, want: []string{"entry 3: does not count: its leaf"},
		},
		"an entry is changed with its leaf": {
			do: func(t *testing.T, p *place) {
				db := p.sql()
				var entry string
				require.NoError(t, db.QueryRow(`select entry from log where position = 3`).Scan(&entry))
				leaf := tlog.RecordHash([]byte(strings.ReplaceAll(entry, "r2", "r8")))
				p.attack(fmt.Sprintf(`update log set entry = replace(entry, 'r2', 'r8'), about = 'began/r8', leaf = x'%x' where position = 3`, leaf[:]))
			},
			want: []string{"entry 3: does not count: it is signed by no sealer", "log_heads 5: the signed head", "run r2: has no entry"},
		},
		"a head is replaced": {
			statements: []string{`update log_heads set root = zeroblob(32)`}, want: []string{"log_heads 5: is not a head that the log signed"},
		},
		"the hashes are removed": {
			statements: []string{`delete from log_hashes`}, want: []string{"log_hashes: 0 hashes are kept, and with the signed head of 5 entries there were 8"},
		},
		"the last hash is removed": {
			statements: []string{`delete from log_hashes where number = 7`}, want: []string{"log_hashes: 7 hashes are kept, and with the signed head of 5 entries there were 8"},
		},
		"an anchor is edited": {
			do: func(t *testing.T, p *place) {
				path := filepath.Join(p.anchor, "heads.log")
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, append([]byte("4"), text[1:]...), 0o600))
			},
			want: []string{"heads.log:1: this head is not one that the log signed"},
		},
		"an anchor loses its heads": {
			do:   func(t *testing.T, p *place) { require.NoError(t, os.Remove(filepath.Join(p.anchor, "heads.log"))) },
			want: []string{"anchor: has 0 entries, and the landscape says that 5 were brought there"},
		},
		"an anchor's entries are edited": {
			do: func(t *testing.T, p *place) {
				path := filepath.Join(p.anchor, "tile/entries/000.p/5")
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"run":"r2"`, `"run":"r8"`, 1)), 0o600))
			},
			want: []string{"anchor: has another entry 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := whole.copied(t, folder)
			if attack.statements != nil {
				p.attack(attack.statements...)
			}
			if attack.do != nil {
				attack.do(t, p)
			}
			var found []string
			for _, problem := range p.check().Problems {
				found = append(found, filepath.Base(problem.Where)+": "+problem.What)
			}
			for _, want := range attack.want {
				require.Contains(t, strings.Join(found, "\n"), want)
			}
		})
	}
}

// noChance is a bad source of chance, which is good enough for a key of a test.
type noChance struct{}

func (noChance) Read(p []byte) (int, error) { return len(p), nil }

func (p *place) sql() *sql.DB {
	db, err := sql.Open("sqlite", p.path)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, db.Close()) })
	return db
}

// forgedRun makes a run out of r1.
func forgedRun(run string) string {
	return `create table copied as select * from runs where run_id = 'r1'; update copied set run_id = '` + run + `'; insert into runs select * from copied; drop table copied`
}

// forge makes a run out of r1, with an entry that by signed; nil signs nothing.
func forge(t *testing.T, p *place, run string, by note.Signer) {
	t.Helper()
	var entry string
	require.NoError(t, p.sql().QueryRow(`select entry from log where about = 'began/r1'`).Scan(&entry))
	text, _, _ := strings.Cut(strings.ReplaceAll(entry, "r1", run), "\n\n")
	signed := text + "\n"
	if by != nil {
		made, err := note.Sign(&note.Note{Text: text + "\n"}, by)
		require.NoError(t, err)
		signed = string(made)
	}
	leaf := tlog.RecordHash([]byte(signed))
	p.attack(forgedRun(run), fmt.Sprintf(`insert into log values (5, 'began/%s', '%s', x'%x')`, run, signed, leaf[:]), `update log_head set size = 6`)
}
