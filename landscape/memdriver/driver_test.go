package memdriver_test

import (
	"testing"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/memdriver"
)

func TestDriver(t *testing.T) {
	landscapetest.Run(t, func(*testing.T) landscape.Driver { return memdriver.New() })
}
