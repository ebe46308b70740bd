package payloadtest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
)

func runRot(t *testing.T, newSubject func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"write replaces rotten bytes": writeReplacesRot,
		"store heals rotten bytes":    storeHealsRot,
	} {
		t.Run(name, func(t *testing.T) { test(t, newSubject(t)) })
	}
}

// writeReplacesRot: whether an object is what it should be is told by its bytes, and by nothing that is kept beside them.
func writeReplacesRot(t *testing.T, s Subject) {
	key, data := object(5000, 12)
	require.NoError(t, s.Write(t.Context(), key, data))
	rotten := rot(data)
	s.Rot(t, key, rotten)
	holds(t, s, key, rotten)
	require.NoError(t, s.Write(t.Context(), key, data))
	holds(t, s, key, data)
}

// storeHealsRot: the first Put of a process reads what is there, sets it aside, replaces it and reports that once. The next
// process finds it good.
func storeHealsRot(t *testing.T, s Subject) {
	var heals []payload.Heal
	process := func() *payload.Store {
		return payload.New(s.Backend, payload.Options{OnHeal: func(h payload.Heal) { heals = append(heals, h) }})
	}
	key, data := object(5000, 13)
	_, err := process().Put(t.Context(), data)
	require.NoError(t, err)
	s.Rot(t, key, rot(data))
	requirePoisoned(t, process(), payload.Digest(key))

	for _, store := range []*payload.Store{process(), process()} {
		d, err := store.Put(t.Context(), data)
		require.NoError(t, err)
		requireGet(t, store, d, data)
		require.Len(t, heals, 1)
		require.Equal(t, d, heals[0].Digest)
	}
}

// rot returns data with one bit flipped.
func rot(data []byte) []byte {
	rotten := bytes.Clone(data)
	rotten[len(rotten)/2] ^= 1
	return rotten
}
