package rowproof

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/landscape/seal"
)

// ErrNotShown says that a field cannot be shown, because it was not declared or the row does not have it.
var ErrNotShown = errors.New("nothing to show")

// notShown is an error that wraps ErrNotShown.
type notShown string

func (e notShown) Error() string { return string(e) }

func (notShown) Unwrap() error { return ErrNotShown }

// declared requires that sinks of the run declare the fields.
func declared(ctx context.Context, log *landscape.Reader, run string, names []string) error {
	nodes, err := log.Nodes(ctx, run)
	if err != nil {
		return err
	}
	var all, told []string
	for _, node := range nodes {
		var config struct{ Disclose []string }
		if node.Kind != landscape.SinkNode || json.Unmarshal([]byte(node.Config), &config) != nil || len(config.Disclose) == 0 {
			continue
		}
		all = append(all, config.Disclose...)
		told = append(told, fmt.Sprintf("%s at sink %s", strings.Join(config.Disclose, ", "), node.Node))
	}
	if all == nil {
		return notShown(fmt.Sprintf("the document of run %s declares no field that can be shown: without --show, the row can be proved as a whole; to show fields of later runs, list them with disclose at a sink", run))
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return notShown(fmt.Sprintf("the document of run %s does not declare that %q can be shown; it declares %s", run, name, strings.Join(told, ", ")))
		}
	}
	return nil
}

// addFields adds the fields of the row that the proof shows.
func (m *maker) addFields(ctx context.Context, chunk landscape.Chunk, sealed landscape.ChunkSeal, rows *seal.Rows, salts seal.Cover, i int) error {
	root, path, ok := rows.ProveFields(salts, i)
	if !ok {
		return notShown("it reached no sink that declares fields with disclose, so nothing of it can be shown: without --show, it can be proved as a whole")
	}
	fields, err := m.shown.Fields(ctx, chunk)
	if err != nil {
		return err
	}
	leaves, err := m.log.Commitments(ctx, chunk, i, fields)
	if err != nil {
		return err
	}
	m.proof.Root = hex.EncodeToString(root[:])
	m.proof.Row = Leaf{Index: int64(i), Leaves: chunk.Rows, Path: pathOf(path)}
	if err := m.proof.Row.checkFields(root, seal.Hash(sealed.Root)); err != nil {
		return fmt.Errorf("chunk %d: %w", chunk.Chunk, landscape.ErrSealBroken)
	}
	m.find(sealed)
	return m.showFields(leaves)
}

// showFields adds those of the leaves over the fields of the row that are asked for.
func (m *maker) showFields(leaves []seal.Commitment) error {
	hashes := make([]seal.Hash, len(leaves))
	for i, leaf := range leaves {
		hashes[i] = seal.LeafHash(leaf.Salt, leaf.Line)
	}
	found := map[string]bool{}
	for i, leaf := range leaves {
		field, err := parseField(string(leaf.Line))
		if err != nil {
			return err
		}
		if slices.Contains(m.shown.Names, field.Name) {
			found[field.Name] = true
			m.proof.Fields = append(m.proof.Fields, Line{Leaf{int64(i), int64(len(leaves)), hex.EncodeToString(leaf.Salt[:]), pathOf(seal.Path(hashes, i))}, string(leaf.Line)})
		}
	}
	for _, name := range m.shown.Names {
		if !found[name] {
			return notShown(fmt.Sprintf("it did not reach the sink that declares %q, or does not have the field: leave it out, or prove the row as a whole without --show", name))
		}
	}
	return nil
}

// Field is a field of a row that a proof shows.
type Field struct {
	Name  string          `json:"field"`
	Lane  int64           `json:"lane"`
	Sink  string          `json:"sink"`
	Value json.RawMessage `json:"value"` // in canonical form
}

// parseField reads the line of a leaf of the tree over the fields of a row.
func parseField(line string) (f struct {
	Field
	Row int64 `json:"row"`
}, err error) {
	if err = json.Unmarshal([]byte(line), &f); err != nil || f.Name == "" || f.Sink == "" || f.Value == nil {
		err = errors.New("it is not the line of a field")
	}
	return f, err
}

// leavesOut reports whether a check is not one of this proof.
func (p *Proof) leavesOut(check string) bool {
	return p.Fields == nil && check == "fields" || p.Fields != nil && check == "ways"
}

// fieldsForm requires of a proof with fields that it has what it should, and nothing else.
func (p *Proof) fieldsForm() error {
	if p.Body != nil || p.Row.Salt != "" || len(p.Records) != 1 {
		return errors.New("with fields there is one record, and neither a body of the row nor a salt of it")
	}
	for i, f := range p.Fields {
		if f.Leaves != p.Fields[0].Leaves || i > 0 && f.Index <= p.Fields[i-1].Index {
			return errors.New("the fields are not in order, or not of one row")
		}
	}
	return nil
}

// fields verifies that the fields that are shown are those of the row.
func (v *verification) fields() error {
	root, err := hashOf(v.proof.Root)
	if err != nil {
		return err
	}
	for k, f := range v.proof.Fields {
		said, err := parseField(f.Line)
		if err != nil {
			return fmt.Errorf("number %d: %w", k+1, err)
		}
		name, sink := escaped(said.Name), escaped(said.Sink)
		if err := f.check([]byte(f.Line), root); err != nil {
			return fmt.Errorf("%s of sink %s: its name or its value is not what was sealed as field %d of %d of the row: %w", name, sink, f.Index+1, f.Leaves, err)
		}
		if k > 0 && said.Row != v.Row {
			return fmt.Errorf("%s of sink %s: it is of row %d, and the others are of row %d", name, sink, said.Row, v.Row)
		}
		v.Row, v.Fields = said.Row, append(v.Fields, said.Field)
	}
	v.Hidden = v.proof.Fields[0].Leaves - int64(len(v.Fields))
	return nil
}
