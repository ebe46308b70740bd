package pg

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// createRole is the statement that makes a role that may connect with a password.
func createRole(name, password string) string {
	return fmt.Sprintf(`create role %s login password '%s'`, name, verifier(password))
}

// verifier is what Postgres stores of a password (RFC 5803). Its key is derived in one round, where Postgres itself
// would take 4,096: both sides would pay for these at each of the thousands of connections of a package's tests.
func verifier(password string) string {
	const salt, firstBlock = "0123456789abcdef", "\x00\x00\x00\x01"
	salted := mac([]byte(password), salt+firstBlock)
	stored := sha256.Sum256(mac(salted, "Client Key"))
	return fmt.Sprintf("SCRAM-SHA-256$1:%s$%s:%s",
		encode([]byte(salt)), encode(stored[:]), encode(mac(salted, "Server Key")))
}

func mac(key []byte, message string) []byte {
	hash := hmac.New(sha256.New, key)
	_, _ = hash.Write([]byte(message)) // it never fails
	return hash.Sum(nil)
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
