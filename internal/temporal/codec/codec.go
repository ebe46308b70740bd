// Package codec encrypts what Temporal stores: inputs, results, memos, summaries, heartbeats and the texts of failures. Temporal's
// servers, and those who run them, see names, times and sizes, and nothing else.
//
// An encrypted payload says "binary/encrypted" and the id of its key in its metadata. Its data is a nonce of 12 bytes and the
// AES-256-GCM of the whole payload, its own metadata included. That metadata is authenticated as well.
package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// Words in the metadata of payloads. Stored in histories; never rename.
const (
	encoding = "binary/encrypted"
	keyID    = "encryption-key-id"
)

// Codec encrypts payloads with its first key, and decrypts those of all its keys. It is safe for concurrent use. A nil Codec has no
// keys: it encrypts nothing, and says of what is encrypted that it is.
type Codec struct {
	keys    map[string]cipher.AEAD
	first   string
	require bool
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New returns a Codec. Of several keys the first encrypts; the others are those that were first earlier, or will be. With require,
// payloads that are not encrypted are refused; without, they pass: people start runs by hand.
//
// With random nonces one key is good for 2^32 payloads.
func New(keys []Key, require bool) (*Codec, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key to encrypt with")
	}
	c := &Codec{keys: map[string]cipher.AEAD{}, first: keys[0].ID, require: require}
	for _, key := range keys {
		block, err := aes.NewCipher(key.Secret[:])
		if err != nil {
			return nil, err
		}
		if c.keys[key.ID], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Keys returns the id of the key that encrypts, and those of the others that decrypt, in order; empty and nil of a nil Codec.
func (c *Codec) Keys() (first string, others []string) {
	if c == nil {
		return "", nil
	}
	for id := range c.keys {
		if id != c.first {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	return c.first, others
}

// Encode encrypts payloads.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c == nil {
		return payloads, nil
	}
	return each(payloads, c.encrypt)
}

// Decode decrypts payloads. Payloads that are not encrypted pass, unless the Codec requires that all are. An error about a payload is an
// *UnreadableError.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.decrypt)
}

func each(payloads []*commonpb.Payload, change func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	changed := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		var err error
		if changed[i], err = change(payload); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

func (c *Codec) encrypt(payload *commonpb.Payload) (*commonpb.Payload, error) {
	plain, err := proto.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding), keyID: []byte(c.first)},
		Data:     c.keys[c.first].Seal(nil, nil, plain, bound(c.first)),
	}, nil
}

// bound is what is authenticated besides the data: what the metadata says.
func bound(id string) []byte { return []byte(encoding + "\x00" + id) }

// UnreadableError says why a payload cannot be read with the keys that there are.
type UnreadableError struct {
	// Plain says that the payload is not encrypted, and that the Codec requires that all are.
	Plain bool
	why   string
}

// Error says what to do, too.
func (e *UnreadableError) Error() string { return e.why }

func unreadable(format string, args ...any) error {
	return &UnreadableError{why: fmt.Sprintf(format, args...)}
}

// Encrypted reports whether the payload is encrypted, with whatever key.
func Encrypted(payload *commonpb.Payload) bool {
	return string(payload.GetMetadata()[converter.MetadataEncoding]) == encoding
}

func (c *Codec) decrypt(payload *commonpb.Payload) (*commonpb.Payload, error) {
	if !Encrypted(payload) {
		if c != nil && c.require {
			return nil, &UnreadableError{Plain: true, why: "the payload is not encrypted, and --codec-require says that all must be: " +
				"the program that starts a run needs the codec keys of the workers"}
		}
		return payload, nil
	}
	id := string(payload.GetMetadata()[keyID])
	if c == nil {
		return nil, unreadable("the payload is encrypted with key %q, and this program has no codec keys: give it those of the workers of the queue", id)
	}
	key, known := c.keys[id]
	if !known {
		return nil, unreadable("the payload is encrypted with key %q, which this program does not have: add it to the codec keys", id)
	}
	plain, err := key.Open(nil, nil, payload.GetData(), bound(id))
	if err != nil {
		return nil, unreadable("the payload was changed, or its key is not the key %q that this program has", id)
	}
	decrypted := new(commonpb.Payload)
	if err := proto.Unmarshal(plain, decrypted); err != nil {
		return nil, fmt.Errorf("the payload that was encrypted with key %q: %w", id, err)
	}
	return decrypted, nil
}

// ClientOptions makes clients with these options, and workers on them, encrypt all they store in Temporal, the texts and stack
// traces of failures included. Without a Codec nothing is encrypted, and errors say what is.
func ClientOptions(o *client.Options, c *Codec) {
	o.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
	o.FailureConverter = failures{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: o.DataConverter, EncodeCommonAttributes: c != nil,
	}), c}
}

// failures says of a failure whose text cannot be read why that is. Temporal's own converter has "Encoded failure" for all of them.
type failures struct {
	converter.FailureConverter
	codec *Codec
}

// FailureToError converts a failure to an error, and leaves the failure as it is: Temporal's own converter decrypts it in place, and the SDK stores some failures after that.
func (f failures) FailureToError(failure *failurepb.Failure) error {
	copied, _ := proto.Clone(failure).(*failurepb.Failure)
	f.explain(copied)
	return f.FailureConverter.FailureToError(copied)
}

// explain replaces the texts of a failure and of its causes that cannot be read.
func (f failures) explain(failure *failurepb.Failure) {
	for ; failure != nil; failure = failure.GetCause() {
		text := failure.GetEncodedAttributes()
		if text == nil {
			continue
		}
		if _, why := f.codec.Decode([]*commonpb.Payload{text}); why != nil {
			failure.Message, failure.EncodedAttributes = "the text of this failure cannot be read here: "+why.Error(), nil
		}
	}
}
