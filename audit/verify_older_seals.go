package audit

import (
	"context"
	"slices"

	"waymark/landscape"
)

// compareOlder compares, where the records have the root of the last seal, what older seals say of records that were there and never change. Their
// salts are destroyed once a row was forgotten: then nothing is compared.
func (c *sealedRecords) compareOlder(ctx context.Context, v *verification, seals []landscape.RunSeal) error {
	if keys, err := v.keysBesideRoot(ctx); err != nil || len(keys) > 0 {
		return err
	}
	for _, older := range seals {
		if older.Seq >= c.seal.Seq {
			continue
		}
		salts, err := v.log.RunSalts(ctx, v.run.ID, older.Seq)
		if err != nil {
			return err
		}
		o := &sealedRecords{seal: older, salts: salts, leaves: c.leaves}
		if !o.fitsLater() {
			v.add(SealBroken, "run_seals", "the records have the root of the seal %d, and tables or marks of the seal %d are not what was recorded before: "+
				"the seal was changed, not they", c.seal.Seq, older.Seq)
		}
	}
	return nil
}

// fitsLater reports whether the records, which are those of a later seal, can be what has come of those of this one.
func (c *sealedRecords) fitsLater() bool {
	tables, err := c.seal.Records()
	if err != nil || int64(len(c.seal.Marks)) != landscape.MarkBytes*c.seal.Leaves {
		return false
	}
	for _, t := range landscape.Tables() {
		if !c.among(t, c.leaves[t.Name], tables[t.Name]) {
			return false
		}
	}
	return c.next == c.seal.Leaves
}

// among reports whether the seal's next leaves, of which it has so many for the table, can be records that the table has
// now. Records may have been added since. None is ever removed, and in most tables none ever changes.
func (c *sealedRecords) among(t *landscape.Table, now []landscape.RunLeaf, sealed int64) bool {
	end := c.next + sealed
	if slices.ContainsFunc(t.Columns, func(column landscape.Column) bool { return column.Move }) {
		c.next = end
		return sealed <= int64(len(now))
	}
	for _, leaf := range now {
		if c.next < end && c.fits(leaf) {
			c.next++
		}
	}
	return c.next == end
}
