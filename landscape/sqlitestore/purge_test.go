package sqlitestore_test

import (
	"testing"

	"waymark/landscape/landscapetest"
)

func TestPurges(t *testing.T) {
	store, _ := create(t)
	landscapetest.Purges(t, store)
}
