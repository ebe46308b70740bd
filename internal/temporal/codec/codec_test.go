package codec_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"

	"waymark/internal/temporal/codec"
)

// key returns a key that is made of one byte.
func key(id string, b byte) codec.Key {
	return codec.Key{ID: id, Secret: [32]byte(bytes.Repeat([]byte{b}, 32))}
}

func newCodec(t *testing.T, keys ...codec.Key) *codec.Codec {
	t.Helper()
	c, err := codec.New(keys, false)
	require.NoError(t, err)
	return c
}

func payload(text string) []*commonpb.Payload {
	return []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(text)}}
}

func encode(t *testing.T, c *codec.Codec, text string) *commonpb.Payload {
	t.Helper()
	encoded, err := c.Encode(payload(text))
	require.NoError(t, err)
	require.Len(t, encoded, 1)
	return encoded[0]
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	c := newCodec(t, key("k1", 1))
	for _, text := range []string{"", `"secret"`, strings.Repeat("x", 1<<20)} {
		encoded := encode(t, c, text)
		require.Equal(t, "binary/encrypted", string(encoded.Metadata["encoding"]))
		require.Equal(t, "k1", string(encoded.Metadata["encryption-key-id"]))
		require.NotContains(t, string(encoded.Data), "secret")
		require.NotContains(t, string(encoded.Data), "json/plain", "the metadata is encrypted as well")
		decoded, err := c.Decode([]*commonpb.Payload{encoded})
		require.NoError(t, err)
		require.True(t, proto.Equal(payload(text)[0], decoded[0]))
	}
}

func TestEqualPayloadsLookDifferent(t *testing.T) {
	c := newCodec(t, key("k1", 1))
	require.NotEqual(t, encode(t, c, "same").Data, encode(t, c, "same").Data)
}

func TestTheFirstKeyEncryptsAndAllDecrypt(t *testing.T) {
	before := encode(t, newCodec(t, key("k1", 1)), "text")
	c := newCodec(t, key("k2", 2), key("k1", 1))
	decoded, err := c.Decode([]*commonpb.Payload{before, encode(t, c, "text")})
	require.NoError(t, err)
	require.Equal(t, "text", string(decoded[0].Data))
	require.Equal(t, "text", string(decoded[1].Data))
	_, err = newCodec(t, key("k1", 1)).Decode([]*commonpb.Payload{encode(t, c, "text")})
	require.ErrorContains(t, err, `key "k2", which this program does not have`)
}

func TestNothingOfAPayloadCanBeChanged(t *testing.T) {
	c := newCodec(t, key("k1", 1), key("k2", 1)) // of the same bytes: only the id tells them apart
	for name, change := range map[string]func(*commonpb.Payload){
		"data":      func(p *commonpb.Payload) { p.Data[20] ^= 1 },
		"nonce":     func(p *commonpb.Payload) { p.Data[0] ^= 1 },
		"last byte": func(p *commonpb.Payload) { p.Data[len(p.Data)-1] ^= 1 },
		"cut":       func(p *commonpb.Payload) { p.Data = p.Data[:len(p.Data)-1] },
		"empty":     func(p *commonpb.Payload) { p.Data = nil },
		"key id":    func(p *commonpb.Payload) { p.Metadata["encryption-key-id"] = []byte("k2") },
	} {
		t.Run(name, func(t *testing.T) {
			encoded := encode(t, c, "a text to be changed")
			change(encoded)
			_, err := c.Decode([]*commonpb.Payload{encoded})
			require.ErrorContains(t, err, "was changed")
		})
	}
}

func TestPlainPayloadsUnlessRequired(t *testing.T) {
	c := newCodec(t, key("k1", 1))
	decoded, err := c.Decode(payload("plain"))
	require.NoError(t, err)
	require.Equal(t, "plain", string(decoded[0].Data))

	strict, err := codec.New([]codec.Key{key("k1", 1)}, true)
	require.NoError(t, err)
	_, err = strict.Decode(payload("plain"))
	require.ErrorContains(t, err, "not encrypted")
	decoded, err = strict.Decode([]*commonpb.Payload{encode(t, c, "text")})
	require.NoError(t, err)
	require.Equal(t, "text", string(decoded[0].Data))
}

func TestACodecNeedsAKey(t *testing.T) {
	_, err := codec.New(nil, false)
	require.Error(t, err)
}

func TestPayloadsAreNotChangedByTheCodec(t *testing.T) {
	c := newCodec(t, key("k1", 1))
	given := payload("text")
	encoded, err := c.Encode(given)
	require.NoError(t, err)
	require.True(t, proto.Equal(payload("text")[0], given[0]))
	was := proto.CloneOf(encoded[0])
	_, err = c.Decode(encoded)
	require.NoError(t, err)
	require.True(t, proto.Equal(was, encoded[0]))
}

func TestKeysDoNotShowTheirSecrets(t *testing.T) {
	k := key("k1", 'S')
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(form, k)
		require.Equal(t, "key k1", text)
		require.NotContains(t, fmt.Sprintf(form, []codec.Key{k}), "83", "the byte of the secret, as a number")
	}
}
