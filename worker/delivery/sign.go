// Package delivery delivers the events of the outbox to endpoints: signed as Standard Webhooks say, again until they are taken, in order.
package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// secretPrefix is what a secret of Standard Webhooks begins with.
const secretPrefix = "whsec_"

// Lengths of the key in a secret. Source: Standard Webhooks, "Signature scheme".
const (
	leastKeyBytes = 24
	mostKeyBytes  = 64
)

// keyOf returns the key that a secret holds. The error does not repeat it.
func keyOf(name, secret string) ([]byte, error) {
	encoded, marked := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !marked || err != nil || len(key) < leastKeyBytes || len(key) > mostKeyBytes {
		return nil, fmt.Errorf("secret %s is not %s and base64 of %d to %d bytes, such as: printf '%s%%s' \"$(openssl rand -base64 32)\"", name, secretPrefix, leastKeyBytes, mostKeyBytes, secretPrefix)
	}
	return key, nil
}

// signatures returns the value of the header webhook-signature: one for each key, so that a receiver that knows one of them can verify.
func signatures(keys [][]byte, id string, at time.Time, body []byte) string {
	signed := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signed[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signed, " ")
}
