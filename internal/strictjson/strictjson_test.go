package strictjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/strictjson"
)

type pair struct {
	B string `json:"b"`
	A int    `json:"a"`
}

func TestOneForm(t *testing.T) {
	const text = `{"b":"<ü>","a":1}` + "\n"
	encoded, err := strictjson.Encode(pair{"<ü>", 1})
	require.NoError(t, err)
	require.Equal(t, text, string(encoded))
	decoded, err := strictjson.Decode[pair](encoded)
	require.NoError(t, err)
	require.Equal(t, pair{"<ü>", 1}, decoded)
	for _, other := range []string{
		`{"b":"<ü>","a":1}`, `{"a":1,"b":"<ü>"}` + "\n", `{"b":"\u003cü>","a":1}` + "\n", `{"b":"<ü>", "a":1}` + "\n", `{"B":"<ü>","a":1}` + "\n",
		`{"b":"x","b":"<ü>","a":1}` + "\n", text + text,
	} {
		_, err := strictjson.Decode[pair]([]byte(other))
		require.ErrorIs(t, err, strictjson.ErrForm, other)
	}
	_, err = strictjson.Decode[pair]([]byte(`{"b":"<ü>","a":1,"c":2}` + "\n"))
	require.ErrorContains(t, err, "unknown field")
}
