package barrier

import (
	"fmt"
	"math"

	"waymark/pipeline/row"
)

// Days of which package row makes dates: 0001-01-01 to 9999-12-31, counted from 1970-01-01.
const (
	minDay        = -719_162
	maxDay        = 2_932_896
	secondsPerDay = 86_400
)

func (r *reader) value() row.Value {
	switch kind := row.Kind(r.take(1)[0]); kind {
	case row.Null:
		return row.NullValue()
	case row.Bool:
		return row.BoolValue(r.natural(1) == 1)
	case row.Int:
		return row.IntValue(r.signed())
	case row.Float:
		return r.float()
	case row.Date:
		return row.DateValue(r.within(minDay, maxDay))
	case row.Timestamp:
		return row.TimestampValue(r.within(minDay*secondsPerDay, (maxDay+1)*secondsPerDay-1), uint32(r.natural(999_999_999)))
	case row.String, row.Decimal, row.JSON:
		return r.parsed(kind)
	default:
		r.failf("there is no kind %d", kind)
		return row.Value{}
	}
}

func (r *reader) float() row.Value {
	f := r.bits()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.failf("a value is %v", f)
		return row.Value{}
	}
	return row.FloatValue(f)
}

func (r *reader) within(least, most int64) int64 {
	n := r.signed()
	if n < least || n > most {
		r.failf("a time is out of range")
		return 0
	}
	return n
}

// parsed reads a value that is its text, in the one form that it has.
func (r *reader) parsed(kind row.Kind) row.Value {
	text := r.text()
	if r.err != nil {
		return row.Value{}
	}
	value, err := row.Parse(kind, text)
	if err == nil && value.Text() != text {
		err = fmt.Errorf("a %s is not in its own form", kind)
	}
	if err != nil {
		r.fail(err)
		return row.Value{}
	}
	return value
}
