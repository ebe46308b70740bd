package evidence_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/tests/services/buckets"
)

// heads are the objects in a bucket, by the size of the head that each is.
func heads(t *testing.T, bucket *buckets.Bucket) map[int64]string {
	t.Helper()
	client, found := bucket.Client(), map[int64]string{}
	listed, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket.Name})
	require.NoError(t, err)
	for _, object := range listed.Contents {
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket.Name, Key: object.Key})
		require.NoError(t, err)
		text, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		var size int64
		_, err = fmt.Sscan(strings.Split(string(text), "\n")[1], &size)
		require.NoError(t, err)
		found[size] = string(text)
	}
	return found
}

// put puts a text into a bucket as its head of this size.
func put(t *testing.T, bucket *buckets.Bucket, size int64, text string) {
	t.Helper()
	key := fmt.Sprintf("heads-of/prod/heads/%012d.%d.note", 999_999_999_999-size, size)
	_, err := bucket.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: aws.String(key), Body: strings.NewReader(text)})
	require.NoError(t, err)
}

// TestBucketOfARotatedLog: the heads of before, of the 30 days with both keys, and of after are in the bucket, each signed as it was then, and all agree. A head that
// the key of its position did not sign is named, and stops nothing.
func TestBucketOfARotatedLog(t *testing.T) {
	p, bucket := withBucket(t)
	before := p.check().Signed
	done := p.rotate()
	require.Empty(t, done.Waiting)
	p.runs("r3")
	during := p.check().Signed
	p.now = done.Until
	p.runs("r4")
	report := p.check()
	require.Empty(t, report.Problems)
	require.Equal(t, report.Entries, report.Anchors[1].Entries)
	old, now := verifierOf(t, done.Old), verifierOf(t, done.New)
	is := heads(t, bucket)
	for size, text := range is {
		n, err := note.Open([]byte(text), note.VerifierList(old, now))
		require.NoError(t, err)
		require.Equal(t, size > before, n.Sigs[0].Hash == now.KeyHash(), "%d", size)
		require.Len(t, n.Sigs, map[bool]int{true: 2, false: 1}[size > before && size <= during], "%d", size)
	}

	current, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	head := func(size int64, root tlog.Hash, by ...note.Signer) string {
		signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", report.Origin, size, root)}, by...)
		require.NoError(t, err)
		return string(signed)
	}
	name := "s3://" + bucket.Name + "/heads-of/prod"
	of := func(size int64) string {
		return fmt.Sprintf("%s: %s/heads/%012d.%d.note: ", name, name, 999_999_999_999-size, size)
	}
	const not = "this head is not one that the log signed: "
	thief := newKey(t, report.Origin)
	for _, attack := range []struct {
		size int64
		text string
		want string
	}{
		{report.Signed + 2, head(report.Signed+2, tlog.Hash{1}, p.old(done)), fmt.Sprintf("it is signed by another key than %s, which the log has from position %d on", done.New[:strings.Index(done.New, "+A")], done.Entry+1)},
		{report.Signed + 3, head(report.Signed+3, tlog.Hash{1}, thief, p.old(done)), "it is signed by another key than " + done.New[:strings.Index(done.New, "+A")]},
		{report.Signed + 4, head(report.Signed+4, tlog.Hash{1}, thief), "note has no verifiable signatures"},
		{1, head(1, tlog.Hash{1}, current), "it is signed by another key than " + done.Old[:strings.Index(done.Old, "+A")] + ", which the log has from position 0 on"},
	} {
		put(t, bucket, attack.size, attack.text)
		require.Contains(t, problems(p), of(attack.size)+not+attack.want)
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			require.Len(t, e.Away, 1, "it stops nothing")
			require.ErrorAs(t, e.Away[0], new(*evidence.StrayError))
		}))
	}
	require.Len(t, strings.Split(problems(p), "\n"), 4)
	put(t, bucket, report.Signed, head(report.Signed, tlog.Hash{1}, current)) // the lock keeps the version before it
	require.Contains(t, problems(p), fmt.Sprintf("%s: the signed head of %d entries is not that of the entries", name, report.Signed))
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), new(*evidence.ForkedError), "the log's own key signed two heads of one size")
}

// TestBucketAndARecordOfBeforeTheRotation: somebody puts back all that there was on this machine before the rotation, with the keys. The bucket has a head that the
// old key signed, too; later ones, which that record knows no key for, are named.
func TestBucketAndARecordOfBeforeTheRotation(t *testing.T) {
	p, bucket := withBucket(t)
	kept := t.TempDir()
	everything := []string{p.path, "anchor", "keys"}
	for _, name := range everything {
		p.copyAll(name, filepath.Join(kept, name))
	}
	done := p.rotate()
	p.runs("fraud")
	during := p.check().Signed
	p.now = done.Until
	p.runs("r4")
	for _, name := range everything {
		require.NoError(t, os.RemoveAll(name))
		p.copyAll(filepath.Join(kept, name), name)
	}
	require.NoError(t, os.Chmod(filepath.Join("keys", "log.key"), 0o600))
	require.NoError(t, os.Chmod(filepath.Join("keys", "sealer.key"), 0o600))
	rolledBack := new(evidence.RolledBackError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) { t.Fatal("it was opened") }), &rolledBack)
	require.Equal(t, evidence.RolledBackError{Here: 4, There: during, Place: "s3://" + bucket.Name + "/heads-of/prod"}, *rolledBack)
	require.Contains(t, problems(p), fmt.Sprintf("a head of %d entries was signed, and 4 are there", done.Entry+1))
	require.Contains(t, problems(p), "this head is not one that the log signed: ")
}
