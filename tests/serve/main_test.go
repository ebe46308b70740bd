// Package serve_test starts runs beside `waymark serve` in all ways there are, kills it, and follows them; asks it by
// its HTTP API, and by the commands that ask a server; and lets files, outputs, rows and deliveries arrive at its
// triggers.
package serve_test

import (
	"os"
	"testing"

	"waymark/tests/services"
	"waymark/tests/serving"
)

// patience is how long something is waited for that comes at once on an idle machine.
const patience = serving.Patience

func TestMain(m *testing.M) { os.Exit(services.MainWaiting(m)) }
