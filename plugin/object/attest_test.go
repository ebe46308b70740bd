package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/plugin"
	"waymark/plugin/plugintest"
	"waymark/tests/services/buckets"
)

// TestAttestObjects overwrites, removes and adds objects of a bucket that keeps versions.
func TestAttestObjects(t *testing.T) {
	b := buckets.Locking(t)
	b.Setenv(t)
	p := &testDestination{t, b, newRemote(local(), nil), "k,v\n", map[string]bool{}}
	o := plugintest.NewOutput(p.header, "a,1\nb,2\n", "c,3\n")
	o.Parts[1].Rows = 1
	o.Write(t, p.target("one", true))
	artifact, err := p.target("one", true).Publish(t.Context(), o.Header, o.Parts)
	require.NoError(t, err)
	var since []plugin.WrittenBy
	attest := func() (findings []string) {
		t.Helper()
		found, err := p.target("one", true).(plugin.Attester).Attest(t.Context(), plugin.Written{
			Artifact: artifact, Header: o.Header, Parts: o.Parts, Lines: true, Look: func(plugin.Part) bool { return true },
			Data:  func(_ context.Context, part plugin.Part) ([]byte, error) { return o.Data[part.Ordinal], nil },
			Later: func(context.Context) ([]plugin.WrittenBy, error) { return since, nil },
		})
		require.NoError(t, err)
		require.EqualValues(t, 3, found.LookedAt)
		require.Len(t, found.Findings, int(found.LookedAt-found.Equal))
		for _, f := range found.Findings {
			findings = append(findings, fmt.Sprintf("%s %d %s", f.State, f.Line, f.Why))
		}
		return findings
	}
	require.Empty(t, attest())
	requireFiles(t, p.target("one", true).(plugin.Returner), artifact.SHA256, "k,v\na,1\nb,2\n", "k,v\nc,3\n")

	const key = "out/all/one/part-00000.csv"
	edited := []byte("k,v\na,1\nb,X\n")
	sum := sha256.Sum256(edited)
	head, err := b.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Name, Key: new(string(key))})
	require.NoError(t, err)
	head.Metadata[aboutWhole] = hex.EncodeToString(sum[:])
	p.put(key, edited, head.Metadata) // as who wants it to look like the run's
	head, err = b.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Name, Key: new(string(key))})
	require.NoError(t, err)
	require.Equal(t, []string{"changed 2 " + key + " does not hold what was written: its version is " + *head.VersionId}, attest())

	p.put(key, []byte("k;v\na,1\nb,2\n"), nil)
	require.Contains(t, attest()[0], "changed 0 the header of "+key+" is not the one that was written")
	_, err = b.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.Name, Key: new(string(key))})
	require.NoError(t, err)
	require.Equal(t, []string{"missing 0 there is no " + key}, attest())
	p.put(key, []byte("k,v\na,1\nb,2\n"), nil)
	require.Empty(t, attest(), "the same bytes again, without what the run noted of them")

	p.put("out/all/one/stray.csv", nil, nil)
	require.Equal(t, []string{"changed 0 the folder out/all/one/ holds an object that the run did not write"}, attest())
	_, err = b.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.Name, Key: new("out/all/one/stray.csv")})
	require.NoError(t, err)
	manifest := p.get(manifestKey)
	p.put(manifestKey, bytes.Replace(manifest, []byte(`"rows": 3`), []byte(`"rows": 4`), 1), nil)
	require.Contains(t, attest()[0], "changed 0 "+manifestKey+" is not the one that was written: its version is ")
	_, err = b.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.Name, Key: new(string(manifestKey))})
	require.NoError(t, err)
	require.Equal(t, []string{"missing 0 there is no " + manifestKey}, attest())
	_, err = p.target("one", true).(plugin.Returner).Files(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	p.put(manifestKey, append(manifest, ' '), nil)
	require.Contains(t, attest()[0], "is not the one that was written", "the same in other words")

	later := plugintest.NewOutput(p.header, "d,4\n")
	later.Write(t, p.target("two", true))
	second, err := p.target("two", true).Publish(t.Context(), later.Header, later.Parts)
	require.NoError(t, err)
	require.Equal(t, []string{"changed 0 " + manifestKey + " is the one of run two"}, attest(), "no such run is recorded")
	since = []plugin.WrittenBy{{Run: "two", Written: plugin.Written{Artifact: second}}}
	require.Equal(t, []string{"replaced 0 " + manifestKey + " is the one of run two"}, attest(), "the parts are still there")
	p.put(key, edited, nil)
	require.Equal(t, []string{"replaced 0 " + manifestKey + " is the one of run two", "changed 2 " + key + " does not hold what was written"}, cutVersions(attest()),
		"nobody replaces a part")
	p.put(key, []byte("k,v\na,1\nb,2\n"), nil)
	p.put(manifestKey, append(p.get(manifestKey), ' '), nil)
	require.Equal(t, []string{"changed 0 " + manifestKey + " is the one of run two; and it is not as run two wrote it, which published there since"}, attest())
	_, err = b.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.Name, Key: new(string(manifestKey))})
	require.NoError(t, err)
	require.Equal(t, []string{"missing 0 there is no " + manifestKey + "; and it is not as run two wrote it, which published there since"}, attest())
}

// cutVersions leaves out the versions of objects, which nobody knows before.
func cutVersions(findings []string) []string {
	for i := range findings {
		findings[i], _, _ = strings.Cut(findings[i], ": its version is ")
	}
	return findings
}

// requireFiles requires that a target gives back its manifest with this digest, and parts with these bytes.
func requireFiles(t *testing.T, target plugin.Returner, manifest string, parts ...string) {
	t.Helper()
	files, err := target.Files(t.Context())
	require.NoError(t, err)
	require.Len(t, files, 1+len(parts))
	require.Equal(t, manifest, files[0].SHA256)
	for i, file := range files {
		from, err := file.Open(t.Context())
		require.NoError(t, err)
		data, err := io.ReadAll(from)
		require.NoError(t, errors.Join(err, from.Close()))
		sum := sha256.Sum256(data)
		require.Equal(t, file.SHA256, hex.EncodeToString(sum[:]))
		require.True(t, i == 0 || string(data) == parts[i-1], "%s", data)
	}
}
