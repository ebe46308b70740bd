// Package pages_test looks at the web pages of `waymark serve`, and at those of Temporal beside them, as people do: in a browser, and by what is in their HTML.
package pages_test

import (
	"os"
	"testing"

	"waymark/tests/services"
	"waymark/tests/serving"
)

// patience is how long something is waited for that comes at once on an idle machine.
const patience = serving.Patience

func TestMain(m *testing.M) { os.Exit(services.MainWaiting(m)) }
