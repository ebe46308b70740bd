package sqlitestore

import (
	"fmt"

	"modernc.org/sqlite"

	"waymark/landscape"
)

func noSpace(path string, err *sqlite.Error) error {
	return fmt.Errorf("landscape %s: %w: make space in its folder: %w", path, landscape.ErrFull, err)
}
