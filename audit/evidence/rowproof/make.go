package rowproof

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/seal"
)

// Shown says which fields of a row a proof shows.
type Shown struct {
	Names []string
	// Fields returns what can be disclosed of the rows of a chunk, computed again.
	Fields func(ctx context.Context, chunk landscape.Chunk) ([]seal.Fields, error)
}

// Make proves what is recorded of one row of a source or barrier. The error wraps landscape.ErrUnsealed if the run, or the chunk with the row, has
// no seal; landscape.ErrSealBroken if the record does not fit its seals; landscape.ErrNotFound if there is no such row or no entry about the seal;
// evidence.ErrUnsigned if no signed head covers the entry yet; landscape.ErrForgotten if the row was forgotten.
func Make(ctx context.Context, log *landscape.Reader, run landscape.Run, source string, row int64) (*Proof, error) {
	return prove(ctx, log, run, source, row, nil)
}

// Show proves some fields of one row, and shows nothing else of it. The error is as of Make; it wraps ErrNotShown if the run, or the row, has no such field
// that can be shown.
func Show(ctx context.Context, log *landscape.Reader, run landscape.Run, source string, row int64, shown Shown) (*Proof, error) {
	if err := declared(ctx, log, run.ID, shown.Names); err != nil {
		return nil, err
	}
	return prove(ctx, log, run, source, row, &shown)
}

func prove(ctx context.Context, log *landscape.Reader, run landscape.Run, source string, row int64, shown *Shown) (*Proof, error) {
	m, err := begin(ctx, log, run.ID)
	if err != nil {
		return nil, err
	}
	m.shown = shown
	for _, step := range []func() error{
		func() error { return m.addRow(ctx, source, row) },
		func() error { return m.addNoted(ctx) },
		func() error { return m.addEntries(ctx) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("prove row %d of %s in run %s: %w", row, source, run.ID, err)
		}
	}
	return m.proof, nil
}

// OfRun proves records of a run: those of its leaves that it is to show. The proof has no row. The error is as of Make.
func OfRun(ctx context.Context, log *landscape.Reader, run string, shows func(landscape.RunLeaf) bool) (*Proof, error) {
	m, err := begin(ctx, log, run)
	if err == nil {
		err = m.addRecords(ctx, shows)
	}
	if err == nil {
		err = m.addEntries(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("prove records of run %s: %w", run, err)
	}
	return m.proof, nil
}

// begin finds the seal of a run that has ended, and the entry of the log about it.
func begin(ctx context.Context, log *landscape.Reader, run string) (*maker, error) {
	m := &maker{log: log.Marked(), run: run, proof: &Proof{Proof: formVersion}}
	sealed, about, err := evidence.CheckedSeal(ctx, m.log, run)
	if err == nil && about == nil {
		err = fmt.Errorf("run %s: the log has no entry about its seal %d: %w", run, sealed.Seq, landscape.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	m.sealed, m.about = sealed, *about
	m.salts, err = m.log.RunSalts(ctx, run, sealed.Seq)
	return m, err
}

type maker struct {
	log    *landscape.Reader
	run    string
	sealed landscape.RunSeal
	about  int64 // the entry of the log about the seal
	salts  seal.RunSalts
	lines  map[string]bool // of the records that the proof shows
	first  string          // the first of them
	shown  *Shown          // nil: the body of the row
	proof  *Proof
}

// addRow adds the row, and finds which records of the run say what it is about.
func (m *maker) addRow(ctx context.Context, source string, row int64) error {
	chunk, err := m.log.ChunkOf(ctx, m.run, source, row)
	if err != nil {
		return err
	}
	root, err := landscape.Select[landscape.ChunkSeal](ctx, m.log, m.run, source, chunk.Chunk)
	if err == nil && len(root) == 0 {
		err = fmt.Errorf("chunk %d: %w", chunk.Chunk, landscape.ErrUnsealed)
	}
	if err != nil {
		return err
	}
	rows, err := m.log.SealedRows(ctx, chunk)
	if err != nil {
		return err
	}
	i := int(row - chunk.FirstRow)
	if _, ok := rows.Forgotten[i]; ok {
		return landscape.ErrForgotten
	}
	salts, err := m.log.ChunkSalts(ctx, chunk)
	if err != nil {
		return err
	}
	if m.shown != nil {
		return m.addFields(ctx, chunk, root[0], rows, salts, i)
	}
	salt, path, ok := rows.Prove(salts, i)
	if !ok {
		return fmt.Errorf("chunk %d: its salt is gone: %w", chunk.Chunk, landscape.ErrSealBroken)
	}
	m.proof.Body = rows.Body(i)
	m.proof.Row = Leaf{int64(i), chunk.Rows, hex.EncodeToString(salt[:]), pathOf(path)}
	if err := m.proof.Row.checkRow(m.proof.Body, seal.Hash(root[0].Root)); err != nil {
		return fmt.Errorf("chunk %d: %w", chunk.Chunk, landscape.ErrSealBroken)
	}
	m.find(root[0])
	return m.findWays(ctx)
}

// find notes that the proof shows the seal of the chunk.
func (m *maker) find(chunk landscape.ChunkSeal) {
	m.first = lineOf(chunk)
	m.lines = map[string]bool{m.first: true}
}

// findWays notes that the proof shows the ways that the body names.
func (m *maker) findWays(ctx context.Context) error {
	body, err := seal.ParseBody(m.proof.Body)
	if err != nil {
		return err
	}
	for _, way := range body.Ways {
		records, err := landscape.Select[landscape.WayRecord](ctx, m.log, m.run, way.ID)
		if err != nil {
			return err
		}
		for _, record := range records {
			m.lines[lineOf(record)] = true
		}
	}
	return nil
}

// lineOf returns the line of a record, as it is a leaf of its run.
func lineOf(r landscape.Record) string { return string(landscape.TableOf(r).AppendLine(nil, r)) }

// addNoted adds the records of the run that were noted.
func (m *maker) addNoted(ctx context.Context) error {
	if err := m.addRecords(ctx, func(leaf landscape.RunLeaf) bool { return m.lines[string(leaf.Line)] }); err != nil {
		return err
	}
	slices.SortStableFunc(m.proof.Records, func(a, b Line) int { // the chunk's comes first
		switch m.first {
		case a.Line:
			return -1
		case b.Line:
			return 1
		}
		return 0
	})
	if len(m.proof.Records) != len(m.lines) {
		return fmt.Errorf("seal %d does not bind the chunk or a way: %w", m.sealed.Seq, landscape.ErrSealBroken)
	}
	return nil
}

// addRecords adds the records of the run that it is to show, with their paths to its root.
func (m *maker) addRecords(ctx context.Context, shows func(landscape.RunLeaf) bool) error {
	var leaves []seal.Hash
	err := m.log.RunLeaves(ctx, m.run, func(leaf landscape.RunLeaf) bool {
		i := int64(len(leaves))
		salt, kept := m.salts.Salt(int(i))
		hash, _ := m.salts.Leaf(int(i), leaf.Line)
		leaves = append(leaves, hash)
		if kept && shows(leaf) { // what was forgotten has none
			m.proof.Records = append(m.proof.Records, Line{Leaf{Index: i, Salt: hex.EncodeToString(salt[:])}, string(leaf.Line)})
		}
		return true
	})
	if err != nil {
		return err
	}
	for i := range m.proof.Records {
		r := &m.proof.Records[i]
		r.Leaves, r.Path = int64(len(leaves)), pathOf(seal.Path(leaves, int(r.Index)))
		if err := r.check([]byte(r.Line), seal.Hash(m.sealed.Root)); err != nil {
			return fmt.Errorf("seal %d: %w", m.sealed.Seq, landscape.ErrSealBroken)
		}
	}
	return nil
}

// addEntries adds the entries of the log that say that the seal counts.
func (m *maker) addEntries(ctx context.Context) error {
	proofs, err := evidence.ProofsOfSeal(ctx, m.log, m.sealed)
	if err != nil {
		return err
	}
	for _, p := range proofs {
		if p.Position > m.about && !p.Rotates() { // sealers' keys of later say nothing of it; who signs the head does
			continue
		}
		entry, head, err := entryOf(p)
		if err != nil {
			return err
		}
		m.proof.Entries, m.proof.Head = append(m.proof.Entries, entry), head
	}
	return nil
}
