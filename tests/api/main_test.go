// Package api_test asks a server by its HTTP API, and by the commands that ask a server.
package api_test

import (
	"os"
	"testing"

	"waymark/tests/services"
	"waymark/tests/serving"
)

// patience is how long something is waited for that comes at once on an idle machine.
const patience = serving.Patience

func TestMain(m *testing.M) { os.Exit(services.MainWaiting(m)) }
