package api

import (
	"slices"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
)

// accessTokens lists the access tokens that are about no other pipelines than the caller's.
func accessTokens(c *call) (any, error) { return whole(c.tokens()) }

func (c *call) tokens() ([]client.Access, error) {
	list, err := c.server.Home.AccessTokens(c.Context())
	return slices.DeleteFunc(list, func(t client.Access) bool { return !c.token.Covers(t.Pipelines) }), err
}

// revoke ends an access token that the caller sees.
func revoke(c *call) (any, error) {
	asked, err := ordering(c, func(r *remote.OrderRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	id := c.PathValue("token")
	token, err := c.server.Home.AccessToken(c.Context(), id)
	if err == nil && !c.token.Covers(landscape.Listed(token.Pipelines)) {
		err = client.NoAccess(id)
	}
	if err != nil {
		return nil, err
	}
	changed, err := c.server.Home.RevokeAccess(c.Context(), id, c.by(asked.Why))
	return remote.Ordered{Order: "revoke", Changed: changed}, err
}

// disclosures lists who was shown values of runs that the caller sees.
func disclosures(c *call) (any, error) {
	known := map[string]bool{} // by run
	from := func(after string, limit int) ([]client.Disclosure, error) {
		return c.server.Home.Disclosures(c.Context(), after, limit)
	}
	sees := func(d client.Disclosure) (bool, error) { return c.seesRun(d.Run, known) }
	return seenOf(c, func(d client.Disclosure) string { return d.ID }, from, sees)
}

// seesRun reports whether the caller sees a run, and keeps the answer.
func (c *call) seesRun(id string, known map[string]bool) (bool, error) {
	if len(landscape.Listed(c.token.Pipelines)) == 0 {
		return true, nil
	}
	if visible, asked := known[id]; asked {
		return visible, nil
	}
	run, err := c.server.Home.Recorded(c.Context(), id)
	if err != nil && !isMissing(err) {
		return false, err
	}
	known[id] = err == nil && c.token.Sees(run.Pipeline)
	return known[id], nil
}
