package codec_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/codec"
)

func TestKeysAreRead(t *testing.T) {
	one, two := key("2026-11", 1), key("2026-05", 2)
	first := one.ID + ":" + base64.StdEncoding.EncodeToString(one.Secret[:])
	second := two.ID + ":" + base64.StdEncoding.EncodeToString(two.Secret[:])
	for name, text := range map[string]string{
		"commas":        first + "," + second,
		"lines":         first + "\n" + second + "\n",
		"comments":      "# since November, they say\r\n" + first + "\r\n\r\n  # until October\n " + second,
		"mixed, spaces": " " + first + " ,\n" + second + ",",
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := codec.ParseKeys(text)
			require.NoError(t, err)
			require.Equal(t, []codec.Key{one, two}, keys)
		})
	}
}

func TestWrongKeysAreRefusedAndNotRepeated(t *testing.T) {
	good := "k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	for text, want := range map[string]string{
		"":                            "there is no codec key",
		"# nothing\n,\n":              "there is no codec key",
		"canary":                      "codec key 1: it does not begin with an id",
		good + ",canary:":             "codec key 2: canary is not the base64 of 32 bytes",
		"k:cGFzc3dvcmQgY2FuYXJ5":      "codec key 1: k is not the base64 of 32 bytes",
		"k:*canary*":                  "codec key 1: k is not the base64 of 32 bytes",
		":" + good[3:]:                "codec key 1: it does not begin with an id",
		"a b:" + good[3:]:             "codec key 1: it does not begin with an id",
		strings.Repeat("i", 65) + ":": "codec key 1: it does not begin with an id",
		good + "\n" + good:            "codec key 2: there are two with the id k1",
	} {
		_, err := codec.ParseKeys(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "cGFzc3dvcmQ")
		require.NotContains(t, err.Error(), "*canary*")
	}
}
