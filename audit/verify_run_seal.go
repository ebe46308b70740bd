package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"maps"

	"waymark/landscape"
	"waymark/landscape/seal"
	"waymark/pipeline"
)

// verifyRunSeal compares what is recorded of a run that ended with what its last seal binds.
func (v *verification) verifyRunSeal(ctx context.Context) error {
	seals, err := v.log.RunSeals(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for i, s := range seals {
		if s.Seq != int64(i) {
			v.add(SealBroken, "run_seals", "the seal %d of the run is missing", i)
			break
		}
	}
	last, err := v.log.LastSeal(ctx, v.run.ID)
	switch {
	case !errors.Is(err, landscape.ErrUnsealed):
	case v.run.Status == pipeline.Running:
		v.skipped(CheckedSeals, v.run.ID, "the run is running: it is sealed when it ends")
		return nil
	case seals != nil:
		v.skipped(CheckedSeals, v.run.ID, "the run was resumed after its last seal, and has ended; no seal since then is recorded: "+unsealedCure, v.run.ID)
		return nil
	default:
		v.skipped(CheckedSeals, v.run.ID, "the run has ended, and no seal of it is recorded: "+unsealedCure, v.run.ID)
		return nil
	}
	if err != nil {
		return err
	}
	return v.compareSeal(ctx, last, seals)
}

// unsealedCure says of a run that ended without a seal what that may mean, and what to do.
const unsealedCure = "somebody may have removed it; waymark log check compares, and waymark seal %s seals the run now"

// compareSeal compares the record with the run's last seal, unless the run was resumed or sealed again meanwhile.
func (v *verification) compareSeal(ctx context.Context, sealed landscape.RunSeal, seals []landscape.RunSeal) error {
	salts, err := v.log.RunSalts(ctx, v.run.ID, sealed.Seq)
	if errors.Is(err, landscape.ErrIncomplete) {
		v.add(SealBroken, "salts", "%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	c := &sealedRecords{seal: sealed, salts: salts, leaves: map[string][]landscape.RunLeaf{}, counts: map[string]int64{}}
	tree := seal.NewRunTree(salts)
	err = v.log.RunLeaves(ctx, v.run.ID, func(leaf landscape.RunLeaf) bool {
		hash := tree.Add(leaf.Line)
		c.marks = append(c.marks, hash[:landscape.MarkBytes]...)
		leaf.Line = bytes.Clone(leaf.Line)
		c.leaves[leaf.Table] = append(c.leaves[leaf.Table], leaf)
		c.counts[leaf.Table]++
		c.records++
		return true
	})
	if err != nil {
		return err
	}
	if changed, err := v.sealedAgain(ctx, sealed); changed || err != nil {
		return err
	}
	if root := tree.Root(); bytes.Equal(root[:], sealed.Root) {
		c.compareSelf(v)
		err = c.compareOlder(ctx, v, seals)
		v.report.Believed = BelievedSealed
	} else {
		c.nameRecords(v)
	}
	c.conclude(v)
	return err
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
	seal    landscape.RunSeal
	salts   seal.RunSalts
	leaves  map[string][]landscape.RunLeaf // by table
	counts  map[string]int64               // of them
	records int64
	marks   []byte // that a seal of them has
	next    int64  // leaf of the seal
	wrong   []Problem
}

// compareSelf compares, where the records have the root, what else the seal says of them: if that differs it is the seal that was changed.
func (c *sealedRecords) compareSelf(v *verification) {
	tables, err := c.seal.Records()
	for _, column := range []struct {
		name string
		same bool
	}{
		{"epoch", c.seal.Epoch == v.run.Epoch},
		{"leaves", c.seal.Leaves == c.records},
		{"tables", err == nil && maps.Equal(tables, c.counts)},
		{"marks", bytes.Equal(c.seal.Marks, c.marks)},
	} {
		if !column.same {
			v.add(SealBroken, "run_seals", "the records have the root of the seal %d, and %s of the seal is not that of the records: the seal was changed, not they", c.seal.Seq, column.name)
		}
	}
}

// nameRecords names, where the records do not have the root, those that differ, as far as the marks of the seal tell.
func (c *sealedRecords) nameRecords(v *verification) {
	if v.run.Status == pipeline.Running {
		v.add(SealBroken, "runs", "the run is running in epoch %d, and the seal %d says that it ended in epoch %d", v.run.Epoch, c.seal.Seq, c.seal.Epoch)
	}
	tables, err := c.seal.Records()
	if err != nil || len(c.seal.Marks) != landscape.MarkBytes*int(c.seal.Leaves) {
		v.add(SealBroken, "run_seals", "the records do not have the root %s of the seal %d, and its tables or marks, which tell which differ, make no sense",
			hex.EncodeToString(c.seal.Root), c.seal.Seq)
		return
	}
	for _, t := range landscape.Tables() {
		c.align(t.Name, c.leaves[t.Name], tables[t.Name])
	}
	for i, problem := range c.wrong {
		if i == maxNamed {
			v.add(SealBroken, v.run.ID, "%s more are not as they were sealed", plural(int64(len(c.wrong)-maxNamed), "record"))
			break
		}
		v.addProblem(problem)
	}
	if c.wrong == nil {
		v.add(SealBroken, "run_seals", "the records do not have the root %s of the seal %d, and none of them differs: the seal or the salts were changed",
			hex.EncodeToString(c.seal.Root), c.seal.Seq)
	}
}

// align compares the records of one table with the next leaves of the seal, of which it has so many.
func (c *sealedRecords) align(table string, leaves []landscape.RunLeaf, sealed int64) {
	end := c.next + sealed
	for len(leaves) > 0 || c.next < end {
		surplus := int64(len(leaves)) - (end - c.next)
		switch {
		case len(leaves) > 0 && c.next < end && c.fits(leaves[0]):
			leaves = leaves[1:]
			c.next++
		case surplus < 0:
			c.problem(table, "a record that was sealed is gone, "+before(leaves))
			c.next++
		case surplus > 0:
			c.problem(table, leaves[0].Key+" was added")
			leaves = leaves[1:]
		default:
			c.problem(table, leaves[0].Key+" is not as it was sealed")
			leaves = leaves[1:]
			c.next++
		}
	}
}

// fits reports whether a record has the mark of the next leaf.
func (c *sealedRecords) fits(leaf landscape.RunLeaf) bool {
	hash, _ := c.salts.Leaf(int(c.next), leaf.Line)
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

// conclude notes what was compared.
func (c *sealedRecords) conclude(v *verification) {
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
