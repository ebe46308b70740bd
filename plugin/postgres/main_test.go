package postgres

import (
	"os"
	"testing"

	"waymark/tests/services"
)

func TestMain(m *testing.M) {
	if writerWasStarted() {
		os.Exit(runWriter())
	}
	os.Exit(services.Main(m))
}
