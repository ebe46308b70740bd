package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// DigestLen is the length of a Digest in bytes.
const DigestLen = 2 * sha256.Size

// A Digest names a payload: the SHA-256 of its bytes as 64 lower-case hex digits, as `sha256sum` prints it.
//
// A value that came from outside the program must pass ParseDigest. Store and every Backend check again, so a forged
// Digest gives ErrBadKey and never reaches a path.
type Digest string

// Of returns the Digest of data.
func Of(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:]))
}

// ParseDigest returns s as a Digest. The error wraps ErrBadKey unless s is exactly 64 bytes of 0-9 and a-f.
func ParseDigest(s string) (Digest, error) {
	if len(s) != DigestLen {
		return "", badKey(s)
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", badKey(s)
		}
	}
	return Digest(s), nil
}

// badKey quotes s, cut to a length that fits in a log line.
func badKey(s string) error {
	const most = 80
	if len(s) > most {
		return fmt.Errorf("%w: %q… (%d bytes) is not 64 lower-case hex digits", ErrBadKey, s[:most], len(s))
	}
	return fmt.Errorf("%w: %q is not 64 lower-case hex digits", ErrBadKey, s)
}
