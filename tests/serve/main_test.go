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

func TestMain(m *testing.M) { os.Exit(services.MainWaiting(m)) }
