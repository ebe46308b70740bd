package resume_test

import (
	"os"
	"testing"

	"waymark/tests/services"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }
