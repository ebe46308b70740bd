package local

import (
	"context"
	"fmt"
	"time"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape/sqlitestore"
	"waymark/worker/storage"
)

// quickLimit is how long doctor looks through the pages of the landscape's file. Measured on a file in memory: 2 GB a
// second of blobs, 200 MB a second of short rows.
const quickLimit = 5 * time.Second

// database looks whether the pages of the landscape's file can be read and fit each other.
func (d doctor) database(ctx context.Context) client.Check {
	path, elsewhere := storage.LandscapePath(d.Landscape)
	switch {
	case elsewhere != nil:
		return client.Good("a server keeps the record: its own tools look for damaged pages")
	case !exists(path):
		return client.Good("none yet; the first run makes it")
	}
	began := time.Now()
	found, err := sqlitestore.QuickCheck(ctx, path, quickLimit)
	if err != nil {
		return client.Warning(client.CureOther, "%v", err)
	}
	return quickCheck(path, found, time.Since(began))
}

func quickCheck(path string, found sqlitestore.Quick, took time.Duration) client.Check {
	if len(found.Damaged) > 0 {
		first := found.Damaged[0]
		more := ""
		if others := int64(len(found.Damaged) - 1); others > 0 {
			more = fmt.Sprintf("; and %s more", text.Count(others, "table"))
		}
		return client.Failure(client.RestoreFile, "%s is damaged: table %s: %s%s", path, first.Table, first.What, more)
	}
	looked := text.Count(int64(found.Tables), "table")
	if found.Left > 0 {
		return client.Good("no damaged page in %s of %d; SQLite's quick check was stopped after %s; waymark verify looks through all", looked, found.Tables+found.Left, quickLimit)
	}
	return client.Good("no damaged page in %s (SQLite's quick check, %.1f s)", looked, took.Seconds())
}
