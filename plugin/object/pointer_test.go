package object

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// TestPointer makes an object lead to one output after the other, from several sides at once, and leaves alone what it did not put.
func TestPointer(t *testing.T) {
	place := newTestPlace(t, "")
	pointerTo := func(key string) plugin.Pointer {
		place, err := file.Access{Remote: place.remote}.Destination("out", ".jsonl", pipeline.FileTarget{
			Path: "s3://" + place.bucket.Name + "/out/1", Parts: true, Latest: "s3://" + place.bucket.Name + "/" + key, S3: bucketOf(place.bucket),
		})
		require.NoError(t, err)
		return place.Latest()
	}
	pointer := pointerTo("out/latest.json")
	require.NoError(t, pointer.Check(t.Context()), "nothing is there")
	to, err := pointer.Leads(t.Context())
	require.NoError(t, err)
	require.Empty(t, to)
	first := plugin.Latest{Run: "a", For: "2026-11-22", Output: "s3://b/out/a", Rows: 3, SHA256: "00"}
	require.NoError(t, pointer.Lead(t.Context(), first))
	require.JSONEq(t, `{"waymark": "latest-v1", "run": "a", "for": "2026-11-22", "output": "s3://b/out/a", "rows": 3, "sha256": "00",
		"manifest": "s3://b/out/a/manifest.json"}`, string(place.get("out/latest.json")))
	require.NoError(t, pointer.Check(t.Context()))
	to, err = pointer.Leads(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.Output, to)

	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			errs[i] = pointerTo("out/latest.json").Lead(t.Context(), plugin.Latest{Run: "b", Output: "s3://b/out/b"})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Contains(t, string(place.get("out/latest.json")), `"s3://b/out/b/manifest.json"`)

	place.put("out/other.json", []byte(`{"mine": true}`), nil)
	other := pointerTo("out/other.json")
	_, err = other.Leads(t.Context())
	for _, err := range []error{err, other.Check(t.Context()), other.Lead(t.Context(), first)} {
		fault := new(plugin.TargetError)
		require.ErrorAs(t, err, &fault)
		require.Equal(t, "TARGET_EXISTS", fault.Code)
	}
	require.JSONEq(t, `{"mine": true}`, string(place.get("out/other.json")))
}
