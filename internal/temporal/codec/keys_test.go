package codec_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/temporal/codec"
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

func TestKeysComeFromAFileOrAVariable(t *testing.T) {
	secret := ":" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("of-file"+secret+"\n"), 0o600))
	for _, test := range []struct{ file, text, want string }{
		{file, "of-variable" + secret, "of-file"},
		{"", "of-variable" + secret, "of-variable"},
	} {
		c, err := codec.Load(test.file, test.text, false)
		require.NoError(t, err)
		require.Equal(t, test.want, string(encode(t, c, "text").Metadata["encryption-key-id"]))
	}

	c, err := codec.Load("", "", false)
	require.NoError(t, err)
	require.Nil(t, c, "nothing is encrypted without keys")
	_, err = codec.Load("", "", true)
	require.ErrorContains(t, err, "--codec-keys-file")
	_, err = codec.Load(file+".gone", "of-variable"+secret, false)
	require.ErrorIs(t, err, os.ErrNotExist, "a file that is named must be there")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = codec.Load(file, "of-variable"+secret, false)
	require.ErrorContains(t, err, "is empty")
}
