package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"waymark/audit"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape/pgstore"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
)

// archivable executes a run in a folder.
func archivable(t *testing.T, home *local.Home, folder, run string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,total\n1,10\n2,20\nx,30\n"), 0o600))
	document := filepath.Join(folder, "p.yaml")
	require.NoError(t, os.WriteFile(document, []byte("name: p\nsources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, total: int}}, on_invalid: quarantine}}\n"+
		"steps: [{name: dear, set: {total: row.total * 2}}]\nsinks: {out: {csv: {path: out.csv, overwrite: true}}}\n"), 0o600))
	e, err := home.Start(t.Context(), client.StartRequest{File: document, Run: run})
	require.NoError(t, err)
	_, err = e.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

// readable holds that a run verifies and its row has its value.
func readable(t *testing.T, home *local.Home, run string) {
	t.Helper()
	report, err := home.Verify(t.Context(), run, audit.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	status, err := home.Status(t.Context(), run)
	require.NoError(t, err)
	require.EqualValues(t, 3, status.Rows)
	require.Equal(t, pipeline.CompletedWithFailures, status.Status)
}

// TestArchivesInPostgres archives with the rights of a purger, and not with those of a writer, into a bucket that locks the bundle.
func TestArchivesInPostgres(t *testing.T) {
	database, bucket := pg.New(t), buckets.Locking(t)
	bucket.Setenv(t)
	_, _, err := pgstore.Migrate(t.Context(), database.DSN())
	require.NoError(t, err)
	writers, purgers := database.Owner()+"_writers", database.Owner()+"_purgers"
	super, err := pgx.Connect(t.Context(), database.Superuser())
	require.NoError(t, err)
	defer func() { require.NoError(t, super.Close(t.Context())) }()
	for _, role := range []string{writers, purgers} {
		_, err = super.Exec(t.Context(), "create role "+role+" nologin")
		require.NoError(t, err)
	}
	require.NoError(t, pgstore.Grant(t.Context(), database.DSN(), pgstore.Roles{Writer: writers, Purger: purgers}))
	folder := t.TempDir()
	o := local.Options{State: local.Folder(filepath.Join(folder, "state")), Landscape: database.Login(t, database.Owner()+"_w", writers)}
	home, err := local.Open(t.Context(), o)
	require.NoError(t, err)
	archivable(t, home, folder, "one")
	require.NoError(t, home.Close()) // which signs the log
	home, err = local.Open(t.Context(), o)
	require.NoError(t, err)
	place := bucket.URL("archive") + "&lock=30d"
	request := local.ArchiveRequest{By: client.By{Why: "old"}, Run: "one", To: place}
	_, err = home.Archive(t.Context(), request)
	require.ErrorContains(t, err, "permission denied")
	readable(t, home, "one")
	require.NoError(t, home.Close())

	o.Landscape, o.Existing = database.Login(t, database.Owner()+"_p", purgers), true
	home, err = local.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	done, err := home.Archive(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, done.Runs, 1)
	at := done.Runs[0].Location
	require.True(t, strings.HasPrefix(at, "s3://"+bucket.Name+"/archive/one."), at)
	require.NotContains(t, at, "?")
	readable(t, home, "one")
	status, err := home.Status(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, at, status.Archived)
	report, err := home.CheckLog(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.EqualValues(t, 1, report.Archived)

	key := strings.TrimPrefix(at, "s3://"+bucket.Name+"/")
	head, err := bucket.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: &key})
	require.NoError(t, err)
	_, err = bucket.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: &key, VersionId: head.VersionId})
	require.Error(t, err, "it is locked")
	_, err = bucket.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: aws.String(key), Body: strings.NewReader("another")})
	require.NoError(t, err, "which hides it")
	again, err := local.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	_, err = again.Status(t.Context(), "one")
	var changed *client.Error
	require.ErrorAs(t, err, &changed)
	require.Equal(t, client.ArchiveChanged, changed.Code)
	require.ErrorContains(t, err, "run one is archived, and its bundle "+at+" (SHA-256 "+done.Runs[0].SHA256+") cannot be used")
}

// TestManyArchives asks about more archived runs than a process keeps open, several at once, and about the first one again.
func TestManyArchives(t *testing.T) {
	sample.Rarely(t)
	const runs = 18
	folder := t.TempDir()
	o := local.Options{State: local.Folder(filepath.Join(folder, "state"))}
	home, err := local.Open(t.Context(), o)
	require.NoError(t, err)
	name := func(i int) string { return fmt.Sprintf("run-%02d", i) }
	for i := range runs {
		archivable(t, home, folder, name(i))
	}
	require.NoError(t, home.Close()) // which signs the log
	home, err = local.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	away := filepath.Join(folder, "away")
	require.NoError(t, os.Mkdir(away, 0o700))
	done, err := home.Archive(t.Context(), local.ArchiveRequest{By: client.By{Why: "old"}, Older: "1us", To: away})
	require.NoError(t, err)
	require.Len(t, done.Runs, runs)
	var all errgroup.Group
	for i := range 3 * runs {
		all.Go(func() error {
			status, err := home.Status(t.Context(), name(i%runs))
			if err == nil && status.Rows != 3 {
				err = fmt.Errorf("%s: %d rows", name(i%runs), status.Rows)
			}
			return err
		})
	}
	require.NoError(t, all.Wait())
	readable(t, home, name(0))
}
