package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities/bundle"
	"waymark/payload"
	"waymark/payload/memstore"
)

func TestBundles(t *testing.T) {
	payloads := payload.New(&memstore.Store{}, payload.Options{})
	made := bundle.Bundle{Name: "orders.yaml", Source: []byte("name: orders\n"), Files: map[string][]byte{"b.csv": []byte("b"), "<a>.csv": []byte("a")}}
	m := made.Manifest()
	require.Equal(t, `{"waymark":"bundle-v1","document":"orders.yaml","files":[`+
		`{"path":"orders.yaml","sha256":"`+string(payload.Of(made.Source))+`","bytes":13,"role":"document"},`+
		`{"path":"<a>.csv","sha256":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","bytes":1,"role":"table"},`+
		`{"path":"b.csv","sha256":"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d","bytes":1,"role":"table"}]}`, string(m.JSON()))
	require.EqualValues(t, 15, m.Bytes())
	_, err := bundle.Get(t.Context(), payloads, m.Digest())
	require.ErrorIs(t, err, payload.ErrNotFound)
	for range 2 {
		require.NoError(t, bundle.Put(t.Context(), payloads, made))
	}
	found, err := bundle.Get(t.Context(), payloads, m.Digest())
	require.NoError(t, err)
	require.Equal(t, made, found)
	other := made
	other.Files = map[string][]byte{"b.csv": []byte("b"), "a.csv": []byte("a")}
	require.NotEqual(t, m.Digest(), other.Manifest().Digest(), "another path is another bundle")

	require.NoError(t, payloads.Delete(t.Context(), payload.Of([]byte("b"))))
	_, err = bundle.Get(t.Context(), payloads, m.Digest())
	require.ErrorContains(t, err, "b.csv: ")
	for text, says := range map[string]string{
		`[]`: "cannot be read", `{"waymark":"bundle-v2"}`: `has the format "bundle-v2"; this program knows "bundle-v1"`, `{"waymark":"bundle-v1"}`: "has no document",
	} {
		digest, err := payloads.Put(t.Context(), []byte(text))
		require.NoError(t, err)
		_, err = bundle.Get(t.Context(), payloads, digest)
		require.ErrorContains(t, err, says)
	}
}
