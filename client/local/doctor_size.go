package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"waymark/client"
	"waymark/internal/text"
	"waymark/worker/storage"
)

// largeLog is how large SQLite's write-ahead log may be until that deserves a look. It is emptied at about 4 MB, unless somebody reads all the while.
const largeLog = 1 << 30

// size says how large the landscape is, and of one in a file how large its write-ahead log.
func (d doctor) size(ctx context.Context) client.Check {
	path, elsewhere := storage.LandscapePath(d.Landscape)
	if elsewhere != nil {
		return d.sizeOfDatabase(ctx)
	}
	database, err := fileSize(path)
	log, failed := fileSize(path + "-wal")
	switch {
	case err != nil || failed != nil:
		return client.Warning(client.CureOther, "unknown: %v", errors.Join(err, failed))
	case database < 0:
		return client.Good("none yet; the first run makes it")
	}
	found := fmt.Sprintf("%s, write-ahead log %s", text.Size(database), text.Size(max(log, 0)))
	if log > largeLog {
		return client.Warning(client.EndHolder, "%s: somebody has been reading for long, and keeps it from being emptied", found)
	}
	return client.Good("%s", found)
}

// sizeOfDatabase is that of one that a server keeps.
func (d doctor) sizeOfDatabase(ctx context.Context) client.Check {
	var bytes int64
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		bytes, err = stores.Size(ctx)
		return err
	})
	if err != nil {
		return client.Warning(client.CureOther, "the record cannot be asked")
	}
	return client.Good("%s in the database", text.Size(bytes))
}

// fileSize is how many bytes a file has; -1 if there is none.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
