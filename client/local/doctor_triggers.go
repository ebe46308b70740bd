package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/client"
	"waymark/internal/text"
	"waymark/worker/storage"
)

// mostTroubled is how many triggers a check names.
const mostTroubled = 5

// triggers looks for triggers that begin no runs, or at which something waits for too long, or nothing if there is no trigger.
func (d doctor) triggers(ctx context.Context) client.Check {
	if _, _, place, err := d.runs(ctx); err != nil || place == "" {
		return client.Check{} // other checks say so
	}
	var list []client.Trigger
	var now time.Time
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		now = stores.Log.Now().Time()
		list, err = (&Home{options: *d.Options}).with(stores).Triggers(ctx, "")
		return err
	})
	switch {
	case err != nil:
		return client.Warning("", "how triggers are could not be found out: %v", err)
	case len(list) == 0:
		return client.Check{}
	}
	return triggersCheck(list, now)
}

func triggersCheck(list []client.Trigger, now time.Time) client.Check {
	var waiting int64
	var troubled, cures []string
	for i := range list {
		waiting += list[i].Waiting
		trouble, cure := list[i].Trouble(now)
		if trouble == "" {
			continue
		}
		troubled = append(troubled, list[i].ID+": "+trouble)
		if len(troubled) <= mostTroubled && !slices.Contains(cures, cure) {
			cures = append(cures, cure)
		}
	}
	found := fmt.Sprintf("%s, %s waiting", text.Count(int64(len(list)), "trigger"), text.Count(waiting, "arrival"))
	if len(troubled) == 0 {
		return client.Good("%s", found)
	}
	more := ""
	if n := len(troubled) - mostTroubled; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
		cures = append(cures, "see the others with waymark triggers")
	}
	told := strings.Join(troubled[:min(len(troubled), mostTroubled)], "; ")
	check := client.Warning(client.LookAtTriggers, "%s; %s%s", found, told, more)
	check.Advice = strings.Join(cures, "; ")
	return check
}
