package seal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"waymark/pipeline/row"
)

// A Member is a column of a record, by name.
type Member struct {
	Name  string
	Value any // nil, int64, string or []byte
}

// AppendLine appends the line of a record: the canonical form (docs/canonical-form.md) of an object with its table and its columns, in which
// bytes are lower-case hex digits. members are sorted.
func AppendLine(dst []byte, table string, members []Member) []byte {
	members = append(members, Member{"table", table})
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = row.AppendValue(dst, row.StringValue(m.Name))
		dst = row.AppendValue(append(dst, ':'), value(m.Value))
	}
	return append(dst, '}')
}

func value(v any) row.Value {
	switch v := v.(type) {
	case nil:
		return row.NullValue()
	case int64:
		return row.IntValue(v)
	case string:
		return row.StringValue(v)
	case []byte:
		return row.StringValue(hex.EncodeToString(v))
	default:
		panic(fmt.Sprintf("a %T cannot be sealed", v))
	}
}

// Digest returns the hash of a line, as it stands in the body of a row.
func Digest(line []byte) Hash { return sha256.Sum256(line) }
