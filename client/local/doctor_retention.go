package local

import (
	"context"
	"strings"

	"waymark/audit/retain"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/worker/storage"
)

// retention looks at the periods after which what is due is deleted: whether those of the settings are in force, and
// whether a process deletes. There is nothing to say if none were ever configured.
func (d doctor) retention(ctx context.Context) client.Check {
	if _, _, place, err := d.runs(ctx); err != nil || place == "" {
		return client.Check{} // other checks say so
	}
	var check client.Check
	err := d.withLandscape(ctx, func(stores *storage.Storage) error {
		outlook, err := retain.NewOutlook(ctx, stores.Log.Reader, stores.Log.Now().Time())
		if err == nil {
			check = d.retained(outlook)
		}
		return err
	})
	if err != nil {
		return client.Warning(client.CureOther, "what is due is unknown: %v", err)
	}
	return check
}

// retained says what an outlook means.
func (d doctor) retained(o *retain.Outlook) client.Check {
	settings := &d.Retention
	now := "nothing is deleted until then"
	if o.InForce.Given {
		now = "until then what counts is " + o.InForce.Told()
	}
	switch {
	case o.Asked != nil:
		return client.Warning(client.ApprovePeriods, "shorter periods wait for approval (%s); %s",
			strings.Join(o.Shorter, "; "), now)
	case settings.Given && settings.String() != o.InForce.String():
		return client.Warning(client.StartRetaining, "no process has the periods of these settings, %s; %s",
			settings.Told(), now)
	case !o.InForce.Given && (o.Last == nil || o.Last.Problem == ""):
		return client.Check{}
	}
	var found []string
	if o.InForce.Given {
		found = append(found, o.InForce.Told())
	}
	if o.Due != nil && len(o.Due.Payloads) > 0 {
		found = append(found, text.Count(int64(len(o.Due.Payloads)), "payload")+" due")
	}
	if o.Due != nil && len(o.Due.Held) > 0 {
		found = append(found, text.Count(o.Due.HeldRuns(), "run")+" kept by holds")
	}
	if o.Good != nil {
		found = append(found, "last executed "+atText(o.Good.At))
	}
	said := strings.Join(found, ", ")
	switch {
	case o.Last != nil && o.Last.Problem != "":
		return client.Failure(client.LetPurge, "%s: %s; %s", atText(o.Last.At), o.Last.Problem, said)
	case o.Late:
		return client.Warning(client.StartRetaining, "no process deletes what is due: %s", said)
	}
	return client.Good("%s", said)
}

func atText(at landscape.Micros) string { return at.Time().UTC().Format("2006-01-02 15:04:05 MST") }
