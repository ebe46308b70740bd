package crash

import (
	"os"
	"testing"
	"time"

	"waymark/tests/services"
)

// atOnce is how many of the tests that kill servers go on at a time, unless -parallel says otherwise: they wait for timeouts.
const atOnce = 8

// patience is how long anything may take before a test gives up: on a busy machine all takes longer.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	services.SideBySide(atOnce)
	os.Exit(m.Run())
}
