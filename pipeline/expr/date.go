package expr

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"waymark/pipeline/row"
)

// A dateValue is a day without a time, as days since 1970-01-01, in the years 0001 to 9999.
type dateValue int64

var dateType = cel.OpaqueType("date")

const (
	secondsPerDay = 86_400
	firstDay      = -719_162  // 0001-01-01
	lastDay       = 2_932_896 // 9999-12-31
)

// midnight returns the first instant of the day in UTC.
func (d dateValue) midnight() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d dateValue) text() string { return d.midnight().Format(time.DateOnly) }

// ConvertToNative implements ref.Val.
func (d dateValue) ConvertToNative(target reflect.Type) (any, error) {
	return nil, fmt.Errorf("a date does not convert to %v", target)
}

// ConvertToType implements ref.Val.
func (d dateValue) ConvertToType(target ref.Type) ref.Val {
	if target.TypeName() == types.StringType.TypeName() {
		return types.String(d.text())
	}
	return types.NewErr("type conversion error from date to %s", target.TypeName())
}

// Equal implements ref.Val.
func (d dateValue) Equal(other ref.Val) ref.Val { return types.Bool(other == d) }

// Type implements ref.Val.
func (d dateValue) Type() ref.Type { return dateType }

// Value implements ref.Val.
func (d dateValue) Value() any { return int64(d) }

func parseDate(v ref.Val) ref.Val {
	value, err := row.Parse(row.Date, string(v.(types.String)))
	if err != nil {
		return types.WrapErr(refused(err))
	}
	return dateValue(value.Int())
}

// dateOfTimestamp returns the day of a timestamp in UTC.
func dateOfTimestamp(v ref.Val) ref.Val {
	seconds := v.(types.Timestamp).Unix()
	days := seconds / secondsPerDay
	if seconds%secondsPerDay < 0 {
		days--
	}
	return dateValue(days)
}

// shift returns the date so many days later.
func shift(d dateValue, days int64) ref.Val {
	if days < firstDay-int64(d) || days > lastDay-int64(d) {
		return types.WrapErr(evalErrorf(CodeOverflow, `"%s" and "%d" days is outside the years 0001 to 9999`, d.text(), days))
	}
	return d + dateValue(days)
}

// dateOperators returns date ± days, the days between two dates, and the comparisons.
func dateOperators() []operator {
	return append(comparisons(dateType, dateType, func(a, b ref.Val) int { return cmp.Compare(a.(dateValue), b.(dateValue)) }),
		operator{operators.Add, "", []*cel.Type{dateType, cel.IntType}, dateType, func(v ...ref.Val) ref.Val {
			return shift(v[0].(dateValue), int64(v[1].(types.Int)))
		}},
		operator{operators.Subtract, "", []*cel.Type{dateType, cel.IntType}, dateType, func(v ...ref.Val) ref.Val {
			days := max(int64(v[1].(types.Int)), -math.MaxInt64) // the least int has no negative
			return shift(v[0].(dateValue), -days)
		}},
		operator{operators.Subtract, "", []*cel.Type{dateType, dateType}, cel.IntType, func(v ...ref.Val) ref.Val {
			return types.Int(v[0].(dateValue) - v[1].(dateValue))
		}})
}

// toTimestamp is timestamp(v). A text is read as a field is, which CEL reads in fewer forms, and with digits that it
// drops.
func toTimestamp(v ...ref.Val) ref.Val {
	switch v := v[0].(type) {
	case types.String:
		value, err := row.Parse(row.Timestamp, string(v))
		if err != nil {
			return types.WrapErr(refused(err))
		}
		return toCEL(value)
	case dateValue:
		return types.Timestamp{Time: v.midnight()}
	case types.Int, types.Timestamp:
		return v.ConvertToType(types.TimestampType)
	}
	return types.NewErr("no such overload: timestamp")
}

// dateFunctions returns the conversions from and to dates, and the parts of a date.
func dateFunctions() []cel.EnvOption {
	part := func(name string, of func(time.Time) int) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("date_"+name, []*cel.Type{dateType}, cel.IntType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.Int(of(v.(dateValue).midnight())) })))
	}
	return []cel.EnvOption{
		cel.Function("date",
			cel.Overload("string_to_date", []*cel.Type{cel.StringType}, dateType, cel.UnaryBinding(parseDate)),
			cel.Overload("timestamp_to_date", []*cel.Type{cel.TimestampType}, dateType, cel.UnaryBinding(dateOfTimestamp))),
		cel.Function("timestamp", cel.Overload("date_to_timestamp", []*cel.Type{dateType}, cel.TimestampType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.Timestamp{Time: v.(dateValue).midnight()} }))),
		cel.Function("string", cel.Overload("date_to_string", []*cel.Type{dateType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(v.(dateValue).text()) }))),
		part("year", time.Time.Year),
		part("month", func(t time.Time) int { return int(t.Month()) }),
		part("day", time.Time.Day),
	}
}
