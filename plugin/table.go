package plugin

import (
	"crypto/sha256"
	"encoding/hex"

	"waymark/pipeline/row"
)

// Table is a small table that rows are enriched from. It is immutable and safe for concurrent use.
type Table struct {
	Path    string // as the document has it
	Content []byte // the file as it is on disk
	SHA256  string // of Content, lower-case hex
	Rows    int64
	On      []string     // fields of the row, in document order
	Keys    []TableField // of the table: one for each of On
	Fields  []TableField // that it adds to the row, in document order, by their names in the row

	index map[string][]row.Value
}

// TableField is what is known of a column of a Table.
type TableField struct {
	Name     string
	Kind     row.Kind
	Optional bool // it may be null
}

// NewTable returns a table. index has the values of Fields by AppendTableKey of the values of Keys; the table owns it.
func NewTable(path string, content []byte, rows int64, on []string, keys, fields []TableField, index map[string][]row.Value) *Table {
	sum := sha256.Sum256(content)
	return &Table{
		Path: path, Content: content, SHA256: hex.EncodeToString(sum[:]), Rows: rows,
		On: on, Keys: keys, Fields: fields, index: index,
	}
}

// AppendTableKey appends what stands for the values of a key, in canonical form, each followed by a comma: 1 and 23 are not 12
// and 3.
func AppendTableKey(dst []byte, key []row.Value) []byte {
	for _, value := range key {
		dst = append(row.AppendValue(dst, value.Key()), ',')
	}
	return dst
}

// Find returns the values of Fields for a key, which has one value for each of On, and whether there are any. The caller
// must not change them. scratch is a buffer that the next call may use again, as it is returned.
func (t *Table) Find(key []row.Value, scratch []byte) (values []row.Value, found bool, reuse []byte) {
	scratch = AppendTableKey(scratch[:0], key)
	values, found = t.index[string(scratch)]
	return values, found, scratch
}
