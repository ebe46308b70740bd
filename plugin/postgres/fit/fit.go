// Package fit tells which values Postgres would change as it writes them, without saying so: it rounds numbers and
// moments to what a column keeps, leaves out a time of day or a zone, and cuts names and blanks.
package fit

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/pipeline/row"
)

// Column reports whether a column keeps the value that a text means to Postgres. It need not know of values that
// Postgres refuses.
type Column func(text string) bool

// The object ids of types. Source: https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/catalog/pg_type.dat
const (
	char        = 18
	name        = 19
	float4      = 700
	float8      = 701
	money       = 790
	bpchar      = 1042
	varchar     = 1043
	date        = 1082
	clock       = 1083
	timestamp   = 1114
	timestamptz = 1184
	timetz      = 1266
	numeric     = 1700
)

// unlimited is the modifier of a type without one; the modifiers of texts and numbers count their own size, too.
const (
	unlimited  = -1
	headerSize = 4
)

// Of returns what a column of this type keeps of values of this kind; of any kind if it is row.Null. It is nil if that is
// every value which Postgres does not refuse.
func Of(oid uint32, modifier int32, kind row.Kind) Column {
	if holds(oid, modifier, kind) {
		return nil
	}
	switch oid {
	case numeric:
		if modifier == unlimited {
			return nil
		}
		const bits, sign = 0x7ff, 0x400
		return places((int(modifier-headerSize)&bits ^ sign) - sign)
	case money:
		return places(2)
	case float4:
		return float(32)
	case float8:
		return float(64)
	case date:
		return func(text string) bool { return !hasClock.MatchString(text) }
	case clock, timestamp:
		fraction := seconds(modifier)
		return func(text string) bool { return fraction(text) && !hasZone.MatchString(text) }
	case timestamptz, timetz:
		return seconds(modifier)
	case bpchar, varchar:
		if modifier == unlimited {
			return nil
		}
		return blanks(int(modifier - headerSize))
	case char:
		return bytes(1)
	case name:
		return bytes(63)
	}
	return nil
}

// holds reports whether a type has all values of a kind, as the types of tables that a sink makes do.
func holds(oid uint32, modifier int32, kind row.Kind) bool {
	switch kind {
	case row.Float:
		return oid == float8
	case row.Date:
		return oid == date
	case row.Timestamp:
		return (oid == timestamp || oid == timestamptz) && modifier == unlimited // the encoder refuses nanoseconds
	}
	return false
}

// blanks is a column of so many characters. Postgres cuts surplus blanks, and refuses other texts that are longer.
func blanks(most int) Column {
	return func(text string) bool {
		return utf8.RuneCountInString(text) <= most || utf8.RuneCountInString(strings.TrimRight(text, " ")) > most
	}
}

// Elements is a column of arrays, of JSON arrays with such elements. It keeps other texts.
func Elements(of Column) Column {
	var keeps func(element json.RawMessage) bool
	keeps = func(element json.RawMessage) bool {
		var elements []json.RawMessage
		var text string
		switch {
		case string(element) == "null":
			return true
		case json.Unmarshal(element, &elements) == nil:
			return !slices.ContainsFunc(elements, func(e json.RawMessage) bool { return !keeps(e) })
		case json.Unmarshal(element, &text) == nil:
			return of(text)
		}
		return of(string(element))
	}
	return func(text string) bool {
		return !strings.HasPrefix(text, "[") || !json.Valid([]byte(text)) || keeps(json.RawMessage(text))
	}
}

// bytes is a column that cuts longer texts.
func bytes(most int) Column { return func(text string) bool { return len(text) <= most } }

var (
	hasClock = regexp.MustCompile(`[1-9]\d?:|:.*[1-9]`)              // which is not midnight
	hasZone  = regexp.MustCompile(`:\d\d(\.\d*)? ?[+-][0-9:]*[1-9]`) // other than UTC, which a column without zones leaves out
	fraction = regexp.MustCompile(`:\d\d\.(\d+)`)
)

// seconds is a column of moments or times of day with so many digits of fractions of a second.
func seconds(modifier int32) Column {
	most := int(modifier)
	if modifier == unlimited {
		most = 6
	}
	return func(text string) bool {
		found := fraction.FindStringSubmatch(text)
		return found == nil || len(strings.TrimRight(found[1], "0")) <= most
	}
}

// places is a column of numbers with so many digits after the point; before it, if negative.
func places(most int) Column {
	return func(text string) bool {
		if plain, after := plainNumber(text); plain && after <= most {
			return true
		}
		n, is := number(text)
		return !is || n.text == "" || n.after <= most
	}
}

// float is a column of floats. One keeps a number that it is exactly, and one that is printed of it, also as a double.
func float(size int) Column {
	return func(text string) bool {
		want, is := number(text)
		if !is {
			return true
		}
		text = strings.TrimSpace(text)
		f, err := strconv.ParseFloat(text, size)
		if err != nil {
			return true // it is refused
		}
		if printed(f, size) == want {
			return true
		}
		double, err := strconv.ParseFloat(text, 64)
		return err == nil && f != 0 && double == f && (printed(f, 64) == want || isExactly(f, want, text))
	}
}

// printed returns the shortest number of which a float is the nearest.
func printed(f float64, size int) digits {
	shortest, _ := number(strconv.FormatFloat(f, 'e', -1, size))
	return shortest
}

// mostExact is how many digits a number may have that a float is exactly: with more of them, none is.
const mostExact = 1100

func isExactly(f float64, want digits, text string) bool {
	if len(want.text) > mostExact {
		return false
	}
	exact, is := new(big.Rat).SetString(text)
	return is && new(big.Rat).SetFloat64(f).Cmp(exact) == 0
}

var decimal = regexp.MustCompile(`^\s*[+-]?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?\s*$`)

// digits are those of a number, without zeros at its ends.
type digits struct {
	text  string // empty for zero
	after int    // how many of them are after the point; less than none if zeros follow them
}

// plainNumber reports whether a text is digits with a sign and a point, as most numbers are, and how many are after the
// point.
func plainNumber(text string) (is bool, after int) {
	point := -1
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
		case c == '.' && point < 0:
			point = i
		case c != '-' || i > 0:
			return false, 0
		}
	}
	if point >= 0 {
		after = len(text) - point - 1
	}
	return len(text) > 0, after
}

// number reads a number.
func number(text string) (digits, bool) {
	found := decimal.FindStringSubmatch(text)
	if found == nil || found[1]+found[2] == "" {
		return digits{}, false
	}
	exponent := 0
	if found[3] != "" {
		exponent, _ = strconv.Atoi(found[3]) // the pattern bounds it
	}
	all := found[1] + found[2]
	short := strings.TrimRight(all, "0")
	after := len(found[2]) - exponent - (len(all) - len(short))
	if short = strings.TrimLeft(short, "0"); short == "" {
		after = 0
	}
	return digits{short, after}, true
}
