package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/worker/storage"
)

func TestReserved(t *testing.T) {
	r := storage.Options{Landscape: "sqlite:state/landscape.db", Payloads: "file:state/payloads"}.Reserved()
	require.Equal(t, storage.Reserved{Files: []string{
		"state/landscape.db", "state/landscape.db-wal", "state/landscape.db-shm", "state/landscape.db-journal", "state/payloads",
	}}, r)
	const payloads = "s3://bucket/pay/loads?endpoint=http://127.0.0.1:7070"
	r = storage.Options{Landscape: "postgres://me@db/record", Payloads: payloads}.Reserved()
	require.Equal(t, storage.Reserved{Bucket: "bucket", Prefixes: []string{"pay/loads/"}}, r)
	r = storage.Options{Landscape: "postgres://me@db/record", Payloads: "s3://bucket"}.Reserved()
	require.Equal(t, storage.Reserved{Bucket: "bucket", Prefixes: []string{"objects/", "quarantine/"}}, r)
	require.Zero(t, storage.Options{Landscape: "mysql://x", Payloads: "s3://Bad Bucket"}.Reserved())
}
