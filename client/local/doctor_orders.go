package local

import (
	"context"
	"fmt"
	"strings"

	"waymark/client"
	"waymark/worker/storage"
)

// orders looks for orders that one person executed, and that too few others looked at, or nothing if there is none.
func (d doctor) orders(ctx context.Context) client.Check {
	if _, _, place, err := d.runs(ctx); err != nil || place == "" {
		return client.Check{} // other checks say so
	}
	var found []string
	err := d.withLandscape(ctx, func(stores *storage.Storage) error {
		records, err := stores.Log.Orders(ctx)
		if err != nil || records == nil {
			return err
		}
		court, err := (&Home{options: *d.Options, stores: stores}).readingCourt()
		if err != nil {
			return err
		}
		for _, record := range records {
			one, err := court.consider(ctx, record)
			if err != nil {
				return err
			}
			if one.Unreviewed() {
				found = append(found, fmt.Sprintf("%s %.12s by %s (%s)", one.Verb, one.Digest, one.Executor, one.Emergency))
			}
		}
		return nil
	})
	if err != nil || found == nil {
		return client.Check{} // the check of the record says why it cannot be read
	}
	return client.Failure(client.ReviewOrder, "executed by one person: %s", strings.Join(found, ", "))
}
