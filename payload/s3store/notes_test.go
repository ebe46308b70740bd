package s3store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/s3store"
	"waymark/tests/services/buckets"
)

func TestNotes(t *testing.T) {
	bucket := buckets.New(t)
	bucket.Setenv(t)
	notes, err := s3store.OpenNotes(t.Context(), bucket.URL("some/place"))
	require.NoError(t, err)
	defer notes.Close()
	for _, name := range []string{"b/2", "a/1", "b/1"} {
		require.NoError(t, notes.Put(t.Context(), name, []byte("this is "+name)))
		require.NoError(t, notes.Put(t.Context(), name, []byte("this is "+name)), "again")
	}
	require.ErrorIs(t, notes.Put(t.Context(), "b/1", []byte("another")), s3store.ErrTaken)
	text, err := notes.Get(t.Context(), s3store.Note{Name: "b/1"})
	require.NoError(t, err)
	require.Equal(t, "this is b/1", string(text))
	_, err = notes.Get(t.Context(), s3store.Note{Name: "b/3"})
	require.ErrorIs(t, err, payload.ErrNotFound)
	for most, want := range []string{"b/1", "b/1", "b/1 b/2", "b/1 b/2"} {
		var names []string
		require.NoError(t, notes.Each(t.Context(), "b/", func(note s3store.Note) bool {
			names = append(names, note.Name)
			return len(names) < most
		}))
		require.Equal(t, want, strings.Join(names, " "))
	}
}

// TestLockedNotes: nobody can remove a version of a note before its time.
func TestLockedNotes(t *testing.T) {
	bucket := buckets.Locking(t)
	bucket.Setenv(t)
	notes, err := s3store.OpenNotes(t.Context(), bucket.URL("")+"&lock=30d")
	require.NoError(t, err)
	defer notes.Close()
	require.NoError(t, notes.Put(t.Context(), "heads/1", []byte("a head")))
	require.NoError(t, notes.Put(t.Context(), "heads/1", []byte("a head")))
	require.ErrorIs(t, notes.Put(t.Context(), "heads/1", []byte("another")), s3store.ErrTaken)
	client := bucket.Client()
	is, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: aws.String("heads/1")})
	require.NoError(t, err)
	require.Equal(t, types.ObjectLockModeCompliance, is.ObjectLockMode)
	require.WithinDuration(t, time.Now().Add(30*24*time.Hour), *is.ObjectLockRetainUntilDate, time.Hour)
	_, err = client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: aws.String("heads/1"), VersionId: is.VersionId})
	require.ErrorContains(t, err, "AccessDenied")

	put := func(key, text string) {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: &key, Body: strings.NewReader(text)})
		require.NoError(t, err)
	}
	_, err = client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: aws.String("heads/1")})
	require.NoError(t, err, "which marks it as deleted")
	put("heads/2", "first")
	put("heads/2", "second")
	require.NoError(t, notes.Put(t.Context(), "heads/2", []byte("second")), "the one that is there is not locked")
	var found []string
	require.NoError(t, notes.Each(t.Context(), "heads/", func(note s3store.Note) bool {
		text, err := notes.Get(t.Context(), note)
		require.NoError(t, err)
		found = append(found, fmt.Sprintf("%s %t %s", note.Name, note.Hidden, text))
		return true
	}))
	require.Equal(t, []string{
		"heads/1 true a head", "heads/1 true a head", "heads/2 false second", "heads/2 true second", "heads/2 true first",
	}, found)
	is, err = client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: aws.String("heads/2")})
	require.NoError(t, err)
	require.Equal(t, types.ObjectLockModeCompliance, is.ObjectLockMode)
}

func TestNotesURLs(t *testing.T) {
	for text, want := range map[string]string{
		"s3://bucket/p?lock=30":            "lock=30 in the URL of the bucket: write a number of days from 1d to 36500d",
		"s3://bucket/p?lock=0d":            "lock=0d in the URL",
		"s3://bucket/p?lock=10y":           "lock=10y in the URL",
		"s3://bucket/p?lock=3d&nosuch=1":   `unknown parameter "nosuch"`,
		"s3://ada:canary@bucket/p?lock=3d": "holds a user or password",
		"s3://bucket/p?a;b=canary":         "cannot be read",
	} {
		err := s3store.CheckNotes(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
	for _, text := range []string{"s3://bucket", "s3://bucket/p?lock=3650d", "s3://bucket/p?endpoint=http://127.0.0.1:7070&lock=1d&path_style=true"} {
		require.NoError(t, s3store.CheckNotes(text))
	}
}
