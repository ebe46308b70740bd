package payload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/payloadtest"
)

func TestParseDigest(t *testing.T) {
	for _, s := range []string{string(payload.Of(nil)), strings.Repeat("0", 64), strings.Repeat("0123456789abcdef", 4)} {
		d, err := payload.ParseDigest(s)
		require.NoError(t, err)
		require.EqualValues(t, s, d)
	}
	for name, s := range payloadtest.BadKeys() {
		d, err := payload.ParseDigest(s)
		require.ErrorIs(t, err, payload.ErrBadKey, name)
		require.Empty(t, d, name)
		require.NotContains(t, err.Error(), "\n", name)
		require.NotContains(t, err.Error(), "\x00", name)
	}
}

// TestEveryByteIsJudged replaces each byte of a digest with every byte value.
func TestEveryByteIsJudged(t *testing.T) {
	good := string(payload.Of(nil))
	for i := range good {
		for c := range 256 {
			_, err := payload.ParseDigest(good[:i] + string([]byte{byte(c)}) + good[i+1:])
			require.Equal(t, strings.IndexByte("0123456789abcdef", byte(c)) >= 0, err == nil, "byte %d is %#x", i, c)
		}
	}
}

func TestOfIsSHA256(t *testing.T) {
	require.EqualValues(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", payload.Of(nil))
	require.EqualValues(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", payload.Of([]byte("abc")))
}
