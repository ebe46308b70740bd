package local

import (
	"context"
	"fmt"
	"time"

	"waymark/audit"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/worker/storage"
)

// outputs looks at what became of the outputs that are attested on schedule, and whether that is overdue, or nothing if there is none. It reads no target.
func (d doctor) outputs(ctx context.Context) client.Check {
	if _, _, place, err := d.runs(ctx); err != nil || place == "" {
		return client.Check{} // other checks say so
	}
	var now landscape.Micros
	var due audit.DueAttestations
	var altered []landscape.Attestation
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		schedule := audit.NewAttestSchedule(stores.Log.Reader)
		now = stores.Log.Now()
		if due, err = schedule.Look(ctx, now); err == nil {
			altered, err = schedule.Altered(ctx, now)
		}
		return err
	})
	check := outputsCheck(due, altered, now)
	switch {
	case err != nil:
		check = client.Warning("", "whether outputs are to be attested could not be found out: %v", err)
	case due.Scheduled == 0:
		return client.Check{}
	}
	return check
}

func outputsCheck(due audit.DueAttestations, altered []landscape.Attestation, now landscape.Micros) client.Check {
	found := text.Count(int64(due.Scheduled), "run") + " attested on schedule"
	overdue := due.Overdue(now)
	if overdue > 0 {
		found += fmt.Sprintf(", %d of them overdue, %s since %s", overdue, due.Due[0].Run, due.Due[0].Since.Time().UTC().Format(time.RFC3339))
	}
	switch {
	case len(altered) > 0:
		first := altered[0]
		check := client.Warning(client.ShowOutputs, "%s; %s found changed or missing, such as %s of run %s, %s", found, text.Count(int64(len(altered)), "output"), first.Sink, first.Run, first.Result)
		check.About = first.Path
		return check
	case overdue > 0:
		return client.Warning(client.StartAttester, "%s", found)
	}
	return client.Good("%s", found)
}
