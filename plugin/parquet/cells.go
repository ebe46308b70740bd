package parquet

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// naturalKinds are the kinds of the values of a column that need no parsing once they are in a record, if they are declared so.
var naturalKinds = [...]row.Kind{
	formBool: row.Bool, formInt: row.Int, formUint: row.Int, formFloat: row.Float, formHalf: row.Float, formText: row.String,
	formBytes: plugin.CellText, formJSON: plugin.CellText, formDecimal: plugin.CellText, formDate: row.Date, formTime: row.String,
	formTimestamp: row.Timestamp, formInt96: row.Timestamp, formUUID: row.String, formInterval: plugin.CellText,
	formNull: plugin.CellText,
}

// kind returns the kind of the values of a column if a record does not show it, else Null.
func (n *node) kind() row.Kind {
	if n.shape != leafShape || n.repeated {
		return row.Null
	}
	switch n.leaf.form {
	case formDecimal:
		return row.Decimal
	case formJSON:
		return row.JSON
	case formFloat, formHalf, formDate, formTimestamp, formInt96:
		return naturalKinds[n.leaf.form]
	}
	return row.Null
}

// cellKind returns the kind of the cells of a column that is declared to have values of a kind.
func (n *node) cellKind(declared row.Kind) row.Kind {
	if n.shape != leafShape || n.repeated || naturalKinds[n.leaf.form] != declared {
		return plugin.CellText
	}
	return declared
}

// cell is the value of a column in one row: what plugin.Cells say of it, but for where it is in its record.
type cell struct {
	kind  row.Kind
	value uint64
}

// number returns the value in plugin.Cells of a cell whose JSON begins at this byte of the record.
func (c cell) number(at, size int) uint64 {
	switch c.kind {
	case row.String:
		return plugin.Span(at+len(`"`), size-len(`""`))
	case plugin.CellText:
		return plugin.Span(at, size)
	}
	return c.value
}

// cell returns the cell of a value of this kind, whose JSON has so many bytes.
func (l *leaf) cell(kind row.Kind, v []byte, size int) cell {
	asText := cell{kind: plugin.CellText}
	if kind == plugin.CellText {
		return asText
	}
	switch l.form {
	case formInt:
		return cell{kind, uint64(l.integer(v))}
	case formUint:
		n := uint64(l.integer(v))
		if l.physical == format.Int32 {
			n = uint64(binary.LittleEndian.Uint32(v))
		}
		if n > math.MaxInt64 {
			return asText
		}
		return cell{kind, n}
	case formFloat:
		return cell{kind, math.Float64bits(l.float(v))}
	case formHalf:
		return cell{kind, math.Float64bits(half(binary.LittleEndian.Uint16(v)))}
	case formBool:
		return cell{kind, uint64(v[0])}
	case formDate:
		return cell{kind, uint64(l.integer(v))}
	case formTimestamp:
		return l.timestampCell(v)
	case formInt96:
		return int96Cell(v)
	case formText:
		if size != len(v)+len(`""`) { // it has escapes
			return asText
		}
	}
	return cell{kind: kind}
}

// timestampCell returns the cell of a time within the years 0001 to 9999. One with parts of a microsecond is parsed.
func (l *leaf) timestampCell(v []byte) cell {
	n := l.integer(v)
	switch {
	case l.units <= 1e6:
		n *= 1e6 / l.units
	case n%1e3 != 0:
		return cell{kind: plugin.CellText}
	default:
		n /= 1e3
	}
	return cell{row.Timestamp, uint64(n)}
}

func int96Cell(v []byte) cell {
	nanos, day := int64(binary.LittleEndian.Uint64(v)), int64(binary.LittleEndian.Uint32(v[8:]))
	if nanos%1e3 != 0 {
		return cell{kind: plugin.CellText}
	}
	return cell{row.Timestamp, uint64((day-julianEpoch)*secondsPerDay*1e6 + nanos/1e3)}
}
