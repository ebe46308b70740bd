// Package serve_test starts runs beside `waymark serve` in all ways there are, kills it, and follows them.
package serve_test

import (
	"os"
	"testing"

	"waymark/tests/services"
	"waymark/tests/serving"
)

// patience is how long something is waited for that comes at once on an idle machine.
const patience = serving.Patience

// atOnce is how many tests go on at the same time, unless -parallel says otherwise: they mostly wait.
const atOnce = 4

func TestMain(m *testing.M) {
	services.SideBySide(atOnce)
	os.Exit(services.Main(m))
}
