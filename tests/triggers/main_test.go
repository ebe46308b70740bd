// Package triggers_test lets files, objects, outputs and deliveries arrive at the triggers of a served pipeline.
package triggers_test

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
