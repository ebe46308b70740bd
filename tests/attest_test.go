package tests

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/activities/recompute"
	"waymark/audit"
	"waymark/client"
	"waymark/plugin"
	"waymark/tests/manual"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
	"waymark/tests/system"
	"waymark/worker"
)

// attested attests the output of a sink of a run, and returns what was found: equal, changed, missing, replaced and unknown, and the findings.
func attested(t *testing.T, s *system.System, run, sink string) (string, client.AttestedOutput) {
	t.Helper()
	recorded, err := s.Log.Run(t.Context(), run)
	require.NoError(t, err)
	found, err := s.Client.Attest(t.Context(), recorded, client.AttestRequest{By: client.By{Actor: "ann"}, AttestOptions: audit.AttestOptions{Sink: sink}})
	require.NoError(t, err)
	require.Len(t, found.Outputs, 1)
	o := found.Outputs[0]
	return fmt.Sprint(o.Equal, o.Changed, o.Missing, o.Replaced, o.Unknown), o
}

// TestAttestationsPage runs the document of docs/sinks.md, edits its output as the page does, and finds what the page says.
func TestAttestationsPage(t *testing.T) {
	_, text, found := strings.Cut(manual.Page(t, "sinks.md"), "\n## Attestations\n")
	require.True(t, found)
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"orders.csv": "id,total\n1,100\n2,200\n3,300\n"})
	_, err := s.Run(t, "one", manual.Blocks(text, "yaml")[0])
	require.NoError(t, err)
	counts, _ := attested(t, s, "one", "")
	require.Equal(t, "3 0 0 0 0", counts)
	said := regexp.MustCompile(`sed -i 's/\^(.*)\$/(.*)/'`).FindStringSubmatch(text)
	require.Len(t, said, 3)
	path := filepath.Join(s.Folder, "out/review.csv")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(content), said[1], said[2], 1)), 0o600))
	counts, output := attested(t, s, "one", "")
	require.Equal(t, "2 1 0 0 0", counts)
	f := output.Findings[0]
	require.Contains(t, text, fmt.Sprintf("\n  changed part %d row %d: %s: waymark explain 0198c1 --sink review --line %[2]d\n", *f.Part, f.Line, f.Why))
	require.True(t, output.LastEqual.Known())
}

// startLocal starts a system whose documents reach this machine.
func startLocal(t *testing.T) *system.System {
	t.Helper()
	return system.StartWith(t, system.Options{Planner: func(p recompute.Planner) recompute.Planner {
		made := p.(worker.Planner)
		made.AllowNetworks = worker.Networks{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		return made
	}})
}

// TestRowsOfOutputsAreCountedAlike: attest and explain count the rows that a table took, and not those that it refused.
func TestRowsOfOutputsAreCountedAlike(t *testing.T) {
	database := pg.New(t)
	connection, err := pgx.Connect(t.Context(), database.DSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(t.Context())) }()
	exec := func(sql string) {
		t.Helper()
		_, err := connection.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	t.Setenv("WAYMARK_SECRET_DW", database.DSN())
	s := startLocal(t)
	s.Write(t, map[string]string{"in.csv": "id,text\n1,a\n2,refused\n3,c\n4,refused\n5,e\n6,f\n"})
	for table, key := range map[string]string{"keyed": "mode: upsert, key: [id]", "heap": "mode: insert"} {
		exec("create table " + table + " (id bigint unique, text text check (text <> 'refused'))")
		_, err := s.Run(t, table, `name: p
chunk: {rows: 3}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, text: string}}}}
sinks: {out: {postgres: {dsn: "${secret:DW}", table: `+table+`, `+key+`}}}
`)
		require.NoError(t, err)
		exec("update " + table + " set text = 'edited' where id = 5")
		_, output := attested(t, s, table, "out")
		require.EqualValues(t, 3, output.Findings[0].Line, table)
		told, err := s.Client.Explain(t.Context(), audit.Question{Run: table, Sink: "out", Line: 3})
		require.NoError(t, err)
		require.EqualValues(t, 5, told.Source.Row, "the third row that the table took")
		require.EqualValues(t, 3, told.Line)
		require.Contains(t, told.Attested, "; of this row: "+output.Findings[0].Why)
	}
}

// TestAttestOutputs changes a table and objects of a bucket after a run, and replaces both by a later one.
func TestAttestOutputs(t *testing.T) {
	database, bucket := pg.New(t), buckets.New(t)
	bucket.Setenv(t)
	connection, err := pgx.Connect(t.Context(), database.DSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(t.Context())) }()
	exec := func(sql string) {
		t.Helper()
		_, err := connection.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	t.Setenv("WAYMARK_SECRET_DW", database.DSN())
	s := startLocal(t)
	s.Write(t, map[string]string{"in.csv": "id,text\n1,a\n2,b\n3,c\n4,d\n5,e\n"})
	document := func(param string) string {
		return fmt.Sprintf(`name: p
chunk: {rows: 2}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, text: string}}}}
steps:
  - {name: mark, set: {text: "row.text + '%s'"}}
  - {name: divide, gate: "row.id > %d", routes: {"true": objects, "false": rows}}
sinks:
  rows: {postgres: {dsn: "${secret:DW}", table: rows, create: true, mode: upsert, key: [id]}}
  objects: {csv: {path: "s3://%s/out", parts: true, overwrite: true, s3: {endpoint: "%s", region: %s, path_style: true}}}
`, param, 3, bucket.Name, bucket.Endpoint, bucket.Region)
	}
	_, err = s.Run(t, "one", document(""))
	require.NoError(t, err)
	counts, _ := attested(t, s, "one", "rows")
	require.Equal(t, "3 0 0 0 0", counts)
	counts, _ = attested(t, s, "one", "objects")
	require.Equal(t, "3 0 0 0 0", counts)

	exec("update rows set text = 'edited' where id = 2")
	exec("delete from rows where id = 3")
	exec("insert into rows values (9, 'new')")
	counts, output := attested(t, s, "one", "rows")
	require.Equal(t, "1 2 1 0 0", counts)
	require.Equal(t, []int64{2, 3, 0}, []int64{output.Findings[0].Line, output.Findings[1].Line, output.Findings[2].Line})
	require.Equal(t, plugin.Changed, output.Result)
	require.Contains(t, output.Reason, "changed between the attestation of ")
	client := bucket.Client()
	_, err = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: aws.String("out/one/part-00001.csv"), Body: strings.NewReader("id,text\n5,X\n")})
	require.NoError(t, err)
	counts, output = attested(t, s, "one", "objects")
	require.Equal(t, "2 1 0 0 0", counts)
	require.EqualValues(t, 2, output.Findings[0].Line)

	exec("delete from rows where id = 9")
	_, err = s.Run(t, "two", document("+"))
	require.NoError(t, err)
	counts, output = attested(t, s, "one", "rows")
	require.Equal(t, "0 0 0 3 0", counts)
	require.Equal(t, "two", output.ReplacedBy)
	counts, output = attested(t, s, "one", "objects")
	require.Equal(t, "1 1 0 1 0", counts, "the part that somebody changed is in the folder of the run: no other run replaces it")
	require.Equal(t, "two", output.ReplacedBy)
	exec("update rows set text = 'edited' where id = 2")
	counts, _ = attested(t, s, "one", "rows")
	require.Equal(t, "0 1 0 2 0", counts, "a row that is not as the later run wrote it either")
	counts, _ = attested(t, s, "two", "rows")
	require.Equal(t, "2 1 0 0 0", counts)
}
