package parquet

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// form is how the values of a column are written as JSON.
type form uint8

const (
	formBool form = iota
	formInt
	formUint
	formFloat // of 4 or 8 bytes
	formHalf  // of 2
	formText
	formBytes // \x and hexadecimal digits
	formJSON
	formDecimal
	formDate
	formTime
	formTimestamp
	formInt96 // the timestamp of Impala and old Spark
	formUUID
	formInterval
	formNull // of whatever physical type
)

// leaf is the type of a column.
type leaf struct {
	physical format.Type
	length   int // of values of fixed length
	form     form
	scale    int   // of a decimal
	bits     int   // of an integer that is narrower than its physical type; 0: it is not
	units    int64 // of a time: how many a second has
}

// physicalForms are how values are written of which the schema says no more than the physical type.
var physicalForms = [...]form{
	format.Boolean: formBool, format.Int32: formInt, format.Int64: formInt, format.Int96: formInt96,
	format.Float: formFloat, format.Double: formFloat, format.ByteArray: formBytes, format.FixedLenByteArray: formBytes,
}

func newLeaf(element *format.SchemaElement) (leaf, error) {
	physical := element.Type.V
	if physical < 0 || int(physical) >= len(physicalForms) {
		return leaf{}, fault(codeUnsupported, "the column %q has the unknown physical type %d", element.Name, physical)
	}
	l := leaf{physical: physical, form: physicalForms[physical]}
	if element.TypeLength.V < 0 {
		return leaf{}, fault(codeCorrupt, "the column %q declares values of %d bytes", element.Name, element.TypeLength.V)
	}
	if physical == format.FixedLenByteArray {
		l.length = int(element.TypeLength.V)
		if l.length < 1 {
			return leaf{}, fault(codeCorrupt, "the column %q declares values of %d bytes", element.Name, l.length)
		}
		if l.length > maxFixedBytes {
			return leaf{}, fault(codeTooLarge, "the column %q has values of %d bytes; at most %d are read",
				element.Name, l.length, maxFixedBytes)
		}
	}
	if !l.annotate(element) {
		l.annotateOld(element)
		if l.form == formDecimal && !element.Precision.Valid {
			return leaf{}, fault(codeCorrupt, "the column %q has decimals without a precision", element.Name)
		}
	}
	switch {
	case l.units == unknownUnit:
		return leaf{}, fault(codeUnsupported, "the column %q counts time in a unit that is not known here: when you write the file, cast it to another one", element.Name)
	case l.form == formDecimal && l.scale < 0:
		return leaf{}, fault(codeCorrupt, "the column %q has decimals with %d places", element.Name, l.scale)
	case l.form == formDecimal && l.scale > 1000:
		return leaf{}, fault(codeTooLarge, "the column %q has decimals with %d places; at most 1,000 are read",
			element.Name, l.scale)
	}
	return l, nil
}

// annotate takes what the logical type says, and reports whether it says something. An annotation that does not fit the
// physical type says nothing.
func (l *leaf) annotate(element *format.SchemaElement) bool {
	integer := l.physical == format.Int32 || l.physical == format.Int64
	text := l.physical == format.ByteArray
	switch logical := element.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType:
		return l.is(text, formText)
	case *format.JsonType:
		return l.is(text, formJSON)
	case *format.UUIDType:
		return l.is(l.length == 16, formUUID)
	case *format.Float16Type:
		return l.is(l.length == 2, formHalf)
	case *format.NullType:
		return l.is(true, formNull)
	case *format.DateType:
		return l.is(l.physical == format.Int32, formDate)
	case *format.IntType:
		if integer && !logical.IsSigned {
			l.form = formUint
		}
		if l.physical == format.Int32 && (logical.BitWidth == 8 || logical.BitWidth == 16) {
			l.bits = int(logical.BitWidth)
		}
		return integer
	case *format.DecimalType:
		l.scale = int(logical.Scale)
		return l.is(integer || text || l.length > 0, formDecimal)
	case *format.TimeType:
		l.units = perSecond(logical.Unit)
		return l.is(integer && l.units > 0, formTime)
	case *format.TimestampType:
		l.units = perSecond(logical.Unit)
		return l.is(l.physical == format.Int64 && l.units > 0, formTimestamp)
	}
	return false
}

func (l *leaf) is(fits bool, f form) bool {
	if fits {
		l.form = f
	}
	return fits
}

func perSecond(unit format.TimeUnit) int64 {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	case *format.NanoSeconds:
		return 1e9
	}
	return unknownUnit
}

// unknownUnit is of a logical type that is newer than this program.
const unknownUnit = -1

// narrow has how many bits the integers have that are stored with more.
var narrow = map[deprecated.ConvertedType]int{deprecated.Int8: 8, deprecated.Uint8: 8, deprecated.Int16: 16, deprecated.Uint16: 16}

// annotateOld takes what the type says by which logical types were named before they existed.
func (l *leaf) annotateOld(element *format.SchemaElement) {
	if !element.ConvertedType.Valid {
		return
	}
	small, big, text := l.physical == format.Int32, l.physical == format.Int64, l.physical == format.ByteArray
	if small {
		l.bits = narrow[element.ConvertedType.V]
	}
	switch element.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum:
		l.is(text, formText)
	case deprecated.Json:
		l.is(text, formJSON)
	case deprecated.Date:
		l.is(small, formDate)
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		l.is(small || big, formUint)
	case deprecated.Decimal:
		l.scale = int(element.Scale.V)
		l.is(small || big || text || l.length > 0, formDecimal)
	case deprecated.TimeMillis:
		l.units = 1e3
		l.is(small, formTime)
	case deprecated.TimeMicros:
		l.units = 1e6
		l.is(big, formTime)
	case deprecated.TimestampMillis:
		l.units = 1e3
		l.is(big, formTimestamp)
	case deprecated.TimestampMicros:
		l.units = 1e6
		l.is(big, formTimestamp)
	case deprecated.Interval:
		l.is(l.length == 12, formInterval)
	}
}
