package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReserved(t *testing.T) {
	r := Options{Landscape: "sqlite:state/landscape.db", Payloads: "file:state/payloads"}.Reserved()
	require.Equal(t, Reserved{Files: []string{
		"state/landscape.db", "state/landscape.db-wal", "state/landscape.db-shm", "state/landscape.db-journal", "state/payloads",
	}}, r)
	r = Options{Landscape: "postgres://me@db/record", Payloads: "s3://bucket/pay/loads?endpoint=http://127.0.0.1:7070"}.Reserved()
	require.Equal(t, Reserved{Bucket: "bucket", Prefixes: []string{"pay/loads/"}}, r)
	r = Options{Landscape: "postgres://me@db/record", Payloads: "s3://bucket"}.Reserved()
	require.Equal(t, Reserved{Bucket: "bucket", Prefixes: []string{"objects/", "quarantine/"}}, r)
	require.Zero(t, Options{Landscape: "mysql://x", Payloads: "s3://Bad Bucket"}.Reserved())
}
