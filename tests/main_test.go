package tests

import (
	"os"
	"testing"

	"waymark/tests/services"
	"waymark/tests/serving"
	"waymark/tests/system"
)

// patience is how long something is waited for that comes at once on an idle machine.
const patience = serving.Patience

func TestMain(m *testing.M) { os.Exit(system.Sharing(func() int { return services.MainWaiting(m) })) }
