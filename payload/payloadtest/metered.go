package payloadtest

import (
	"context"

	"waymark/payload"
)

// Metered is a backend that counts the bytes that are read from it. It is not safe for concurrent use.
type Metered struct {
	payload.Backend
	Bytes int
}

// Read reads from the Backend, and counts.
func (m *Metered) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := m.Backend.Read(ctx, key, limit)
	m.Bytes += len(data)
	return data, err
}

// ReadRange reads from the Backend, and counts.
func (m *Metered) ReadRange(ctx context.Context, key string, offset, length int64) ([]byte, int64, error) {
	data, size, err := m.Backend.ReadRange(ctx, key, offset, length)
	m.Bytes += len(data)
	return data, size, err
}
