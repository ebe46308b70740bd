package barrier

import (
	"flag"
	"os"
	"testing"
)

// TestMain has rapid try fewer cases by day than it does of itself: -rapid.checks has it try more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
