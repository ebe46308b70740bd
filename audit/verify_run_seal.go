package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"

	"waymark/landscape"
	"waymark/landscape/seal"
	"waymark/pipeline"
)

// verifyRunSeal compares what is recorded of a run that ended with what its last seal binds.
func (v *verification) verifyRunSeal(ctx context.Context) error {
	key, err := v.log.SealKey(ctx, v.run.ID)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil // which verifySeals says
	}
	if err != nil {
		return err
	}
	seals, err := v.log.RunSeals(ctx, v.run.ID)
	if err != nil {
		return err
	}
	switch {
	case v.run.Status == pipeline.Running:
		v.skipped(CheckedSeals, v.run.ID, "the run is running: it is sealed when it ends")
		return nil
	case len(seals) == 0:
		v.skipped(CheckedSeals, v.run.ID, "the run has ended, and nothing sealed its records: waymark seal %s", v.run.ID)
		return nil
	}
	for i, s := range seals {
		if s.Seq != int64(i) {
			v.add(SealBroken, "run_seals", "the seal %d of the run is missing", i)
			break
		}
	}
	return v.compareSeal(ctx, key, seals[len(seals)-1])
}

// compareSeal compares what is recorded with a seal, unless the run was resumed or sealed again meanwhile.
func (v *verification) compareSeal(ctx context.Context, key seal.Key, sealed landscape.RunSeal) error {
	c := &sealedRecords{seal: sealed, key: key, tree: seal.NewRunTree(key, sealed.Seq)}
	counts, err := sealed.Records()
	if err != nil || len(sealed.Marks) != landscape.MarkBytes*int(sealed.Leaves) {
		v.add(SealBroken, "run_seals", "the seal %d makes no sense: its tables or marks were changed", sealed.Seq)
		return nil //nolint:nilerr // it is a problem of the record
	}
	leaves := map[string][]landscape.RunLeaf{}
	err = v.log.RunLeaves(ctx, v.run.ID, func(leaf landscape.RunLeaf) bool {
		leaf.Line = bytes.Clone(leaf.Line)
		leaves[leaf.Table] = append(leaves[leaf.Table], leaf)
		return true
	})
	if err != nil {
		return err
	}
	if changed, err := v.sealedAgain(ctx, sealed); changed || err != nil {
		return err
	}
	for _, t := range landscape.Tables() {
		c.align(t.Name, leaves[t.Name], counts[t.Name])
	}
	c.conclude(v)
	return nil
}

// sealedAgain reports, and notes, that the run was resumed or got another seal since the last was read.
func (v *verification) sealedAgain(ctx context.Context, last landscape.RunSeal) (bool, error) {
	run, err := v.log.Run(ctx, v.run.ID)
	if err != nil {
		return false, err
	}
	seals, err := v.log.RunSeals(ctx, v.run.ID)
	changed := run.RunHead != v.run.RunHead || seals[len(seals)-1].Seq != last.Seq
	if changed {
		v.skipped(CheckedSeals, v.run.ID, "something was recorded of the run meanwhile: verify it again")
	}
	return changed, err
}

// sealedRecords holds the records of a run against a seal.
type sealedRecords struct {
	seal  landscape.RunSeal
	key   seal.Key
	tree  *seal.RunTree // of the records that are where the seal has one
	next  int64         // leaf of the seal
	wrong []Problem
}

// align compares the records of one table with the next leaves of the seal, of which it has so many.
func (c *sealedRecords) align(table string, leaves []landscape.RunLeaf, sealed int64) {
	end := c.next + sealed
	for len(leaves) > 0 || c.next < end {
		surplus := int64(len(leaves)) - (end - c.next)
		switch {
		case len(leaves) > 0 && c.next < end && c.fits(leaves[0]):
			leaves = c.take(leaves)
		case surplus < 0:
			c.problem(table, "a record that was sealed is gone, "+before(leaves))
			c.next++
		case surplus > 0:
			c.problem(table, leaves[0].Key+" was added")
			leaves = leaves[1:]
		default:
			c.problem(table, leaves[0].Key+" is not as it was sealed")
			leaves = c.take(leaves)
		}
	}
}

// take adds the first record to the tree, in the place of the next leaf.
func (c *sealedRecords) take(leaves []landscape.RunLeaf) []landscape.RunLeaf {
	c.tree.Add(leaves[0].Line)
	c.next++
	return leaves[1:]
}

// fits reports whether a record has the mark of the next leaf.
func (c *sealedRecords) fits(leaf landscape.RunLeaf) bool {
	hash := seal.LeafHash(seal.RunSalt(c.key, c.seal.Seq, c.next), leaf.Line)
	return bytes.HasPrefix(hash[:], c.seal.Marks[landscape.MarkBytes*c.next:][:landscape.MarkBytes])
}

func before(leaves []landscape.RunLeaf) string {
	if len(leaves) == 0 {
		return "the last of its table"
	}
	return "before " + leaves[0].Key
}

func (c *sealedRecords) problem(table, detail string) {
	c.wrong = append(c.wrong, Problem{SealBroken, table, detail})
}

// conclude reports what differs. The marks only say where; what counts is the root.
func (c *sealedRecords) conclude(v *verification) {
	root := c.tree.Root()
	same := bytes.Equal(root[:], c.seal.Root) && c.next == c.seal.Leaves && c.seal.Epoch == v.run.Epoch
	for i, problem := range c.wrong {
		if i == maxNamed {
			v.add(SealBroken, v.run.ID, "%s more are not as they were sealed", plural(int64(len(c.wrong)-maxNamed), "record"))
			break
		}
		v.addProblem(problem)
	}
	if !same && c.wrong == nil {
		v.add(SealBroken, "run_seals", "the records do not have the root %s of the seal %d, and none of them differs: the seal or the salts were changed",
			hex.EncodeToString(c.seal.Root), c.seal.Seq)
	}
	detail := "the run's root over %s, computed from what is recorded"
	if c.seal.Late {
		detail += "; the seal is late: it proves only that nothing changed since"
	}
	v.compared(CheckedSeals, v.run.ID, detail, plural(c.seal.Leaves, "record"))
	v.report.Sealed = &Sealed{Seal: c.seal.Seq, Root: hex.EncodeToString(c.seal.Root), Records: c.seal.Leaves, Late: c.seal.Late}
}

// Sealed is the seal that a report compared the run's records with.
type Sealed struct {
	Seal    int64  `json:"seal"` // which of the run's, from 0
	Root    string `json:"root"` // in hex
	Records int64  `json:"records"`
	Late    bool   `json:"late,omitempty"`
}
