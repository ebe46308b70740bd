package evidence

import (
	"context"
	"errors"

	"waymark/landscape"
)

// check verifies the cosignatures that are kept, and compares the witness's last head with those of the log. It changes nothing at the witness.
func (w Witness) check(ctx context.Context, c *checker, said int64) error {
	if err := w.checkReceipts(ctx, c); err != nil {
		return err
	}
	last, err := signedHead(ctx, c.log, c.ring.log, c.Signed)
	if err != nil {
		return err
	}
	if last.Size == 0 { // nothing to show
		c.has(w, 0, said)
		return nil
	}
	size, err := w.ask(ctx, last)
	if err == nil && size <= c.Signed && size > 0 && !c.heads[size] && !c.gaps.have(size-1) {
		c.problem("log_heads", "the head of %d entries is at %s, and is not recorded: somebody removed it", size, w)
	}
	if err == nil && c.heads[size] {
		err = w.askOlder(ctx, here{log: c.log, by: c.ring.log}, size, last.Size)
	}
	_, forked := errors.AsType[*ForkedError](err)
	switch {
	case c.away(err):
		return nil
	case forked:
		c.problem(w.String(), "cosigned another head: %v", err)
	case err != nil:
		return err
	case size > c.Signed:
		c.problem(w.String(), "cosigned a head of %d entries, and the last signed head here has %d", size, c.Signed)
	}
	c.has(w, size, said)
	return nil
}

// checkReceipts verifies the cosignatures of this witness that the landscape keeps.
func (w Witness) checkReceipts(ctx context.Context, c *checker) error {
	kept, err := landscape.Select[landscape.Anchored](ctx, c.log, w.String())
	if err != nil {
		return err
	}
	for _, k := range kept {
		if !c.heads[k.Size] { // compareSaid says so
			continue
		}
		head, err := signedHead(ctx, c.log, c.ring.log, k.Size)
		if err != nil {
			return err
		}
		if line, wrong := w.cosignature(k.Receipt, head); wrong != nil || line != k.Receipt {
			c.problem("log_anchors", "the cosignature of %s under the head of %d entries does not verify: somebody changed it, or the key of the witness is another one", w, k.Size)
		}
	}
	return nil
}
