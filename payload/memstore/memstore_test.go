package memstore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/payload/payloadtest"
)

func TestBackend(t *testing.T) {
	payloadtest.Run(t, func(*testing.T) payloadtest.Subject {
		s := &memstore.Store{}
		return payloadtest.Subject{Backend: s, Rot: func(_ *testing.T, key string, data []byte) { s.Rot(key, data) }}
	})
}

func TestOnWriteDecidesTheFate(t *testing.T) {
	lost := errors.New("lost")
	key := string(payload.Of([]byte("x")))
	for name, fate := range map[string]struct {
		keep bool
		err  error
	}{
		"kept":         {keep: true},
		"lost request": {keep: false, err: lost},
		"lost reply":   {keep: true, err: lost},
	} {
		t.Run(name, func(t *testing.T) {
			s := &memstore.Store{OnWrite: func(got string) (bool, error) {
				require.Equal(t, key, got)
				return fate.keep, fate.err
			}}
			require.Equal(t, fate.err, s.Write(t.Context(), key, []byte("x")))
			_, err := s.Read(t.Context(), key, 1)
			require.Equal(t, fate.keep, err == nil)
		})
	}
}

func TestDeleteRemovesWhatWasSetAside(t *testing.T) {
	s := &memstore.Store{}
	key, other := string(payload.Of([]byte("x"))), string(payload.Of([]byte("y")))
	for _, k := range []string{key, other} {
		s.Plant(k, []byte("poison"))
		_, err := s.Quarantine(t.Context(), k)
		require.NoError(t, err)
	}
	require.NoError(t, s.Delete(t.Context(), key))
	require.Equal(t, map[string][]byte{"quarantine/" + other + ".0": []byte("poison")}, s.Aside())
}
