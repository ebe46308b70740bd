package codec

import (
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"
)

const keyBytes = 32

// Key encrypts payloads.
type Key struct {
	ID     string // is written beside every payload
	Secret [keyBytes]byte
}

// String returns the id, so that no log shows the secret.
func (k Key) String() string { return "key " + k.ID }

// GoString is String.
func (k Key) GoString() string { return k.String() }

var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ParseKeys reads keys of the form `ID:BASE64`, separated by commas or line ends. Lines that are empty or begin with # are left
// out. The result has at least one key. Errors name keys by their place, and repeat nothing.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	known := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range strings.Split(line, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			key, err := parseKey(word)
			if err == nil && known[key.ID] {
				err = fmt.Errorf("there are two with the id %s", key.ID)
			}
			if err != nil {
				return nil, fmt.Errorf("codec key %d: %w", len(keys)+1, err)
			}
			known[key.ID] = true
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("there is no codec key: %s", form)
	}
	return keys, nil
}

// form says how to write a key, and how to make one.
const form = "write ID:BASE64, with 32 bytes as `openssl rand -base64 32` makes them"

func parseKey(word string) (Key, error) {
	id, encoded, found := strings.Cut(word, ":")
	if !found || !idForm.MatchString(id) {
		return Key{}, fmt.Errorf("it does not begin with an id of letters, digits, '.', '_' and '-': %s", form)
	}
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(secret) != keyBytes {
		return Key{}, fmt.Errorf("%s is not the base64 of %d bytes: %s", id, keyBytes, form)
	}
	return Key{ID: id, Secret: [keyBytes]byte(secret)}, nil
}

// Load returns the Codec for the keys in the file, or else for those in text, which is how an environment variable has them; nil if
// both are empty. require is that of New.
func Load(file, text string, require bool) (*Codec, error) {
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("codec keys: %w", err)
		}
		text = string(content)
		if text == "" {
			return nil, fmt.Errorf("codec keys: %s is empty: %s", file, form)
		}
	}
	if text == "" {
		if require {
			return nil, fmt.Errorf("payloads must be encrypted, and there is no codec key: give some with --codec-keys-file or WAYMARK_CODEC_KEYS; %s", form)
		}
		return nil, nil
	}
	keys, err := ParseKeys(text)
	if err != nil {
		return nil, err
	}
	return New(keys, require)
}
