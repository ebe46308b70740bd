package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
)

// ScrubReport counts what Scrub saw.
type ScrubReport struct {
	payload.ScrubReport
	Missing int // payloads that the record names, and that are not stored although nobody purged them
}

// Scrub reads every payload and compares its hash with its name. Then it looks for every payload that the record names: those of runs, and of deployed
// versions. It calls onProblem for each that could not be confirmed, in order of digests, and then for each that is missing, with an error that wraps
// payload.ErrNotFound. It changes nothing.
func (c *Client) Scrub(ctx context.Context, onProblem func(payload.Problem)) (report ScrubReport, err error) {
	defer c.edge(ctx, &err)
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return report, err
	}
	if report.ScrubReport, err = deposit.Payloads.Scrub(ctx, onProblem); err != nil {
		return report, err
	}
	missing, err := c.missingPayloads(ctx, deposit.Payloads)
	for _, digest := range missing {
		onProblem(payload.Problem{Digest: digest, Err: fmt.Errorf("%w: the record names it, and nobody purged it", payload.ErrNotFound)})
	}
	report.Missing = len(missing)
	return report, err
}

// missingPayloads returns the payloads that the record names, and that are not stored although nobody purged them, in order.
func (c *Client) missingPayloads(ctx context.Context, stored *payload.Store) (missing []payload.Digest, err error) {
	named, err := c.namedPayloads(ctx)
	if err != nil {
		return nil, err
	}
	for digest := range named {
		has, err := stored.Has(ctx, digest)
		switch {
		case has || errors.Is(err, payload.ErrCorrupt): // the store's own scrub names what is wrong with it
			delete(named, digest)
		case err != nil:
			return nil, err
		}
	}
	if len(named) > 0 { // what is purged meanwhile is recorded before it is deleted, so it is in the record by now
		err = c.log.EachPurged(ctx, func(digest string) bool { delete(named, payload.Digest(digest)); return true })
	}
	return slices.Sorted(maps.Keys(named)), err
}

// namedPayloads returns the payloads that runs, requests for runs, deliveries and deployed versions need.
func (c *Client) namedPayloads(ctx context.Context) (map[payload.Digest]bool, error) {
	named := map[payload.Digest]bool{}
	name := func(digest string) bool { named[payload.Digest(digest)] = true; return true }
	var runs []string
	if err := c.log.RunHeads(ctx, func(run landscape.RunHead) bool { runs = append(runs, run.ID); return true }); err != nil {
		return nil, err
	}
	for _, run := range runs {
		for _, class := range landscape.Classes {
			if err := c.log.PayloadsOf(ctx, run, class, name); err != nil {
				return nil, err
			}
		}
	}
	if err := landscape.Each(ctx, c.log, func(t landscape.LookupTable) bool { return name(t.SHA256) }); err != nil {
		return nil, err
	}
	if err := landscape.Each(ctx, c.log, func(a landscape.Arrival) bool { return a.Payload == "" || name(a.Payload) }); err != nil {
		return nil, err
	}
	if err := c.namedByStarts(ctx, name); err != nil {
		return nil, err
	}
	return named, c.namedByVersions(ctx, name)
}

// namedByStarts names the payloads of rows that came with requests.
func (c *Client) namedByStarts(ctx context.Context, name func(digest string) bool) error {
	var unread error
	err := landscape.Each(ctx, c.log, func(s landscape.Start) bool {
		if s.Decided != 0 && s.State != landscape.StartBegun {
			return true // nobody reads them
		}
		rows, err := s.RequestRows()
		for _, of := range rows {
			name(of.Payload)
		}
		unread = errors.Join(unread, err)
		return true
	})
	return errors.Join(err, unread)
}

// namedByVersions names the payloads of which versions of pipelines consist.
func (c *Client) namedByVersions(ctx context.Context, name func(digest string) bool) error {
	var unread error
	err := landscape.Each(ctx, c.log, func(b landscape.Bundle) bool {
		manifest, err := bundle.Parse([]byte(b.Manifest))
		for _, file := range manifest.Files {
			name(string(file.SHA256))
		}
		unread = errors.Join(unread, err)
		return name(b.SHA256)
	})
	return errors.Join(err, unread)
}
