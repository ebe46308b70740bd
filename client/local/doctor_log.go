package local

import (
	"context"
	"fmt"
	"time"

	"waymark/client"
	"waymark/evidence"
	"waymark/worker/storage"
)

// longWait is how long an entry of the log may wait for its signature, or for an anchor, before that deserves a look.
const longWait = 15 * time.Minute

// log looks how far the landscape's log is signed and anchored. What waits stops no run.
func (d doctor) log(ctx context.Context) client.Check {
	if _, _, place, err := d.runs(ctx); err != nil || place == "" {
		return client.Good("none yet; the first run begins it")
	}
	anchors := d.logAnchors()
	if d.Cluster != nil {
		anchors = d.LogAnchors // the state folder's own is of runs here
	}
	var b evidence.Backlog
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		b, err = evidence.BacklogOf(ctx, stores.Log.Reader, anchors)
		return err
	})
	found := fmt.Sprintf("%d entries, %d signed", b.Entries, b.Signed)
	for _, anchor := range b.Anchors {
		found += fmt.Sprintf(", %d at %s", anchor.Entries, anchor.Anchor)
	}
	switch {
	case err != nil:
		return client.Warning(client.CureOther, "%v", err)
	case b.Entries == 0:
		return client.Good("none yet; the first run begins it")
	case !b.Oldest.IsZero() && time.Since(b.Oldest) > longWait:
		return client.Warning(client.SignLog, "%s; the oldest of the others waits since %s", found, b.Oldest.Format(time.RFC3339))
	}
	return client.Good("%s", found)
}
