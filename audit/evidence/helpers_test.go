package evidence_test

import (
	"log/slog"
	"testing"
)

// testLogger fails the test if anything is logged.
func testLogger(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(fails{t}, nil))
}

type fails struct{ t *testing.T }

func (f fails) Write(p []byte) (int, error) {
	f.t.Errorf("logged: %s", p)
	return len(p), nil
}
