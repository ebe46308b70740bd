package local

import (
	"context"

	"waymark/audit/archive"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/worker/storage"
)

// archives looks whether the bundle of each archived run is there with its size, or nothing if no run is archived. It reads none.
func (d doctor) archives(ctx context.Context) client.Check {
	if _, _, place, err := d.runs(ctx); err != nil || place == "" {
		return client.Check{} // other checks say so
	}
	var all []landscape.Archive
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		all, err = stores.Log.Archives(ctx)
		return err
	})
	if err == nil && all == nil {
		return client.Check{}
	}
	check := client.Good("%s archived", text.Count(int64(len(all)), "run"))
	if err != nil {
		check = client.Warning("", "which runs are archived could not be found out: %v", err)
	}
	wrong, first := 0, error(nil)
	for _, a := range all {
		if err := archive.There(a); err != nil {
			if wrong++; first == nil {
				first, check.About = err, a.Place()
			}
		}
	}
	if wrong > 0 {
		about := check.About
		check = client.Failure(client.RestoreBundle, "of %s, the bundles of %d cannot be used, such as that of run %v", text.Count(int64(len(all)), "archived run"), wrong, first)
		check.About = about
	}
	return check
}
