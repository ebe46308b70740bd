// Package blank makes landscapes for tests. The schema takes a tenth of a second: it is made once in each process, and copied.
package blank

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"waymark/landscape/sqlitestore"
)

// file is that of a landscape in which nothing is recorded.
var file = sync.OnceValues(func() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "blank")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "landscape.db")
	store, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{Create: true})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Open opens the landscape at path, and makes one if there is none.
func Open(ctx context.Context, path string) (*sqlitestore.Store, error) {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		content, err := file()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	return sqlitestore.Open(ctx, path, sqlitestore.Options{Create: true})
}
