package evidence_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
)

// withBucket is a place whose log goes to a bucket as well, which locks it, with two runs.
func withBucket(t *testing.T) (*place, *buckets.Bucket) {
	bucket := buckets.Locking(t)
	bucket.Setenv(t)
	p := newPlace(t)
	p.bucket = bucket.URL("heads-of/prod") + "&lock=30d"
	p.runs("r1")
	p.runs("r2")
	return p, bucket
}

func TestBucketHasEveryHead(t *testing.T) {
	p, bucket := withBucket(t)
	report := p.check()
	require.Empty(t, report.Problems)
	name := "s3://" + bucket.Name + "/heads-of/prod"
	require.Equal(t, []evidence.Anchor{{Anchor: "anchor", Entries: report.Entries}, {Anchor: name, Entries: report.Entries}}, report.Anchors)
}

// TestBucketAway stops the bucket's server: nothing waits for it but a check of the log, and later it gets what it
// missed. By day, a repository is away.
func TestBucketAway(t *testing.T) {
	sample.Rarely(t)
	p, bucket := withBucket(t)
	name := "s3://" + bucket.Name + "/heads-of/prod"
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		bucket.Stop()
		require.NoError(t, e.Notary.Pass(t.Context()), "it is not asked while nothing is new")
	}))
	require.NoError(t, p.open(func(e *evidence.Evidence) { // no run waits for a bucket
		require.Len(t, e.Away, 1)
		p.begin(e, "r3")
		away := new(evidence.UnreachableError)
		require.ErrorAs(t, e.Away[0], &away)
		require.Equal(t, name, away.Anchor)
		require.NoError(t, e.Notary.Pass(t.Context()), "it is not asked again soon")
	}))
	require.Contains(t, problems(p), name+": was not compared: ")
	require.NotContains(t, problems(p), "\n")
	bucket.Start(t)
	p.runs("r4")
	require.Empty(t, problems(p))
}

// problems are those that log check names.
func problems(p *place) string {
	var found []string
	for _, problem := range p.check().Problems {
		found = append(found, problem.Where+": "+problem.What)
	}
	return strings.Join(found, "\n")
}

// yesterday keeps what is on this machine, and returns what puts it back.
func (p *place) yesterday() (back func()) {
	kept := p.t.TempDir()
	for _, name := range []string{p.path, "anchor", "keys/notary.state"} {
		p.copyAll(name, filepath.Join(kept, name))
	}
	return func() {
		for _, name := range []string{p.path, "anchor", "keys/notary.state"} {
			require.NoError(p.t, os.RemoveAll(name))
			p.copyAll(filepath.Join(kept, name), name)
		}
	}
}

// copyAll copies a file or a folder.
func (p *place) copyAll(from, to string) {
	info, err := os.Stat(from)
	require.NoError(p.t, err)
	if info.IsDir() {
		require.NoError(p.t, os.CopyFS(to, os.DirFS(from)))
		return
	}
	require.NoError(p.t, os.MkdirAll(filepath.Dir(to), 0o700))
	copyFile(p.t, from, to)
}

// TestBucketRemembers: somebody puts back all that there was on this machine yesterday, and deletes in the bucket what the lock lets be deleted.
func TestBucketRemembers(t *testing.T) {
	p, bucket := withBucket(t)
	name := "s3://" + bucket.Name + "/heads-of/prod"
	back := p.yesterday()
	p.runs("fraud")
	back()
	rolledBack := new(evidence.RolledBackError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), &rolledBack)
	require.Contains(t, rolledBack.Error(), name)
	require.Contains(t, problems(p), name+": a head of 5 entries was signed, and 4 are there")
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	log := landscape.New(store, time.Now)
	_, err = evidence.Restore(t.Context(), log, p.options(), p.bucket, "the disk failed")
	require.ErrorContains(t, err, "restore it from an anchor that is a folder")

	client := bucket.Client()
	listed, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket.Name})
	require.NoError(t, err)
	_, err = client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: listed.Contents[0].Key})
	require.NoError(t, err)
	rolledBack = new(evidence.RolledBackError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), &rolledBack, "a deletion hides it, and the lock keeps it")

	p.bucket = ""
	p.runs("honest", "another")
	p.bucket = bucket.URL("heads-of/prod") + "&lock=30d"
	forked := new(evidence.ForkedError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), &forked)
	require.Equal(t, strings.Join([]string{
		name + ": the head of 5 entries was removed or replaced there; the lock keeps it",
		name + ": the signed head of 5 entries is not that of the entries: one of them was changed, or another log was signed",
	}, "\n"), problems(p))
}

func TestChangedBucket(t *testing.T) {
	p, bucket := withBucket(t)
	client := bucket.Client()
	listed, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket.Name})
	require.NoError(t, err)
	require.Len(t, listed.Contents, 2)
	last, first := listed.Contents[0].Key, listed.Contents[1].Key
	require.True(t, strings.HasSuffix(*last, ".4.note"), *last)
	put := func(key, text *string) {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: key, Body: strings.NewReader(*text)})
		require.NoError(t, err)
	}
	put(last, aws.String("nothing")) // another version: the one before stays
	require.Contains(t, problems(p), "this head is not one that the log signed")
	require.Contains(t, problems(p), "the head of 4 entries was removed or replaced there; the lock keeps it")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.Len(t, e.Away, 1, "it stops nothing")
		require.ErrorContains(t, e.Away[0], "something that the log did not sign, and that no run heeds: ")
	}))
	put(aws.String("heads-of/prod/heads/000000000000.999999999999.note"), aws.String(strings.Repeat("x", 2<<20)))
	require.Contains(t, problems(p), "000000000000.999999999999.note: this head cannot be read: ")
	require.Contains(t, problems(p), "the head of 4 entries was removed or replaced there; the lock keeps it", "the others are compared")
	for _, key := range []*string{last, first} {
		_, err = client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: key})
		require.NoError(t, err)
	}
	require.Contains(t, problems(p), "the head of 3 entries was removed or replaced there; the lock keeps it")
	p.bucket = bucket.URL("heads-of/prod") // who does not lock sees what there is now
	require.Contains(t, problems(p), "has 0 entries, and the landscape says that 4 were brought there")
}
