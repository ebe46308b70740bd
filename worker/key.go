package worker

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// KeyBytes is the length of a fingerprint key.
const KeyBytes = 32

// FingerprintKey returns the key in the file, or else the one in text, which is how an environment variable has it; nil if both are
// empty. It is written in hex digits. Errors repeat nothing of it.
func FingerprintKey(file, text string) ([]byte, error) {
	from := "WAYMARK_FINGERPRINT_KEY"
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("fingerprint key: %w", err)
		}
		from, text = file, string(content)
	} else if text == "" {
		return nil, nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != KeyBytes {
		return nil, fmt.Errorf("fingerprint key: %s is not %d hex digits, as `openssl rand -hex %d` makes them", from, 2*KeyBytes, KeyBytes)
	}
	return key, nil
}
