package crash

import (
	"os"
	"testing"

	"waymark/tests/services"
)

// atOnce is how many of the tests that kill servers go on at a time, unless -parallel says otherwise: they wait for timeouts.
const atOnce = 8

func TestMain(m *testing.M) {
	services.SideBySide(atOnce)
	os.Exit(m.Run())
}
