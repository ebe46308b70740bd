package local

import (
	"context"
	"errors"
	"maps"
	"slices"

	"waymark/audit"
	"waymark/client"
	"waymark/internal/text"
	"waymark/payload"
)

// storedPayloads reads every payload that the run needs: its document, its tables, the records of its sources, what came out of barriers, and their states.
func (p patient) storedPayloads(ctx context.Context) ([]client.Check, error) {
	deposit, err := p.Deposit(ctx, false)
	if err != nil {
		return one(client.Failure(client.CheckPayloads, "%v", err))
	}
	needed, err := p.needed(ctx)
	if err != nil {
		return nil, err
	}
	var checks []client.Check
	for _, digest := range slices.Sorted(maps.Keys(needed)) {
		_, err := deposit.Payloads.Get(ctx, digest)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		checks = append(checks, about(string(digest), lostPayload(needed[digest], err)))
	}
	forgotten, err := p.stores.Log.ForgottenIn(ctx, p.run.ID)
	if forgotten > 0 {
		checks = append(checks, client.Warning("", "%s of the run forgotten: its record says so, and has nothing of them any more", text.Count(forgotten, "row")))
	}
	if len(checks) == 0 {
		checks = append(checks, client.Good("%s stored, and as their digests say", text.Count(int64(len(needed)), "payload")))
	}
	return checks, err
}

// lostPayload says what became of a payload, and what of the run needs it.
func lostPayload(what string, err error) client.Check {
	switch {
	case errors.Is(err, payload.ErrPurged):
		return client.Warning("", "%s: %v", what, err)
	case errors.Is(err, payload.ErrCorrupt), errors.Is(err, payload.ErrNotFound):
		return client.Failure(client.RestorePayload, "%s: %v", what, err)
	default:
		return client.Failure(client.CheckPayloads, "%s: %v", what, err)
	}
}

// needed returns the payloads that the run needs, with what they are for people. Those of before rows were forgotten it needs no more.
func (p patient) needed(ctx context.Context) (map[payload.Digest]string, error) {
	needed := map[payload.Digest]string{}
	err := audit.EachUse(ctx, p.stores.Log.Reader, p.run, func(digest payload.Digest, use audit.Use) error {
		if !use.Before {
			needed[digest] = use.What
		}
		return nil
	})
	return needed, err
}
