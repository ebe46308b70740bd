package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issue writes a new certificate with a serial number, and its key, as they were written at a moment.
func issue(t *testing.T, cert, key string, serial int64, at time.Time) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Chtimes(file, at, at))
	}
}

// TestARenewedCertificateCounts for the next connection, and one of which only a half is written does not.
func TestARenewedCertificateCounts(t *testing.T) {
	folder, at := t.TempDir(), time.Now().Add(-time.Hour)
	c := &certificate{cert: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem")}
	issue(t, c.cert, c.key, 1, at)
	_, err := c.load()
	require.NoError(t, err)
	var log bytes.Buffer
	c.logs(slog.New(slog.NewTextHandler(&log, nil)))
	serial := func() int64 {
		served, err := c.get(nil)
		require.NoError(t, err)
		return served.Leaf.SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial())
	require.Empty(t, log.String())

	issue(t, c.cert, filepath.Join(folder, "other.pem"), 2, at.Add(time.Minute))
	require.Equal(t, int64(1), serial(), "the key is another one's")
	require.Contains(t, log.String(), "level=WARN")
	require.NoError(t, os.Rename(filepath.Join(folder, "other.pem"), c.key))
	require.Equal(t, int64(2), serial())
	require.Contains(t, log.String(), "was read again")
	require.NoError(t, os.Truncate(c.cert, mostCertificate+1))
	require.Equal(t, int64(2), serial(), "it is too long")
	require.Contains(t, log.String(), "it must be a file of at most 1048576 bytes")
	require.NoError(t, os.Remove(c.cert))
	require.Equal(t, int64(2), serial(), "it is away")
}
