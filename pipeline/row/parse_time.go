package row

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseFixed returns the number that the digits text[start:end] denote, and false if one of them is not a digit.
func parseFixed(text string, start, end int) (n int, ok bool) {
	for _, c := range []byte(text[start:end]) {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// parseDate reads the first ten bytes of text. It reports a wrong form, and a day that does not exist, by code.
func parseDate(text string) (days int64, code string) {
	if len(text) < len("2001-01-31") || text[4] != '-' || text[7] != '-' {
		return 0, CodeFormat
	}
	year, okYear := parseFixed(text, 0, 4)
	month, okMonth := parseFixed(text, 5, 7)
	day, okDay := parseFixed(text, 8, 10)
	switch {
	case !okYear || !okMonth || !okDay:
		return 0, CodeFormat
	case !validDate(year, month, day):
		return 0, CodeTimeRange
	}
	return daysOf(year, month, day), ""
}

func parseDateValue(text string) (Value, error) {
	days, code := parseDate(text)
	if code == CodeFormat || len(text) != len("2001-01-31") {
		return Value{}, formatError(Date, text)
	}
	if code != "" {
		return Value{}, convertError(code, Date, text, "there is no such day in the years 0001 to 9999")
	}
	return DateValue(days), nil
}

func parseTimestampValue(text string) (Value, error) {
	days, code := parseDate(text)
	if code == CodeFormat || len(text) < len("2001-01-31T23:59:59Z") || !beginsClock(text[10]) {
		return Value{}, formatError(Timestamp, text)
	}
	clock, ok := parseClock(text[11:19])
	nanos, zone, okFraction := parseFraction(text[19:])
	offset, okZone := parseZone(zone)
	seconds := days*secondsPerDay + int64(clock) - int64(offset)
	switch {
	case !ok || !okFraction || !okZone:
		return Value{}, formatError(Timestamp, text)
	case code != "" || clock < 0 || seconds < minDay*secondsPerDay || seconds >= (maxDay+1)*secondsPerDay:
		return Value{}, convertError(CodeTimeRange, Timestamp, text, "there is no such time in the years 0001 to 9999 UTC; 24:00:00 and leap seconds are not accepted")
	}
	return TimestampValue(seconds, nanos), nil
}

// parseClock reads 23:59:59 as seconds, which are -1 if the form is right but there is no such time.
func parseClock(text string) (seconds int, ok bool) {
	hour, okHour := parseFixed(text, 0, 2)
	minute, okMinute := parseFixed(text, 3, 5)
	second, okSecond := parseFixed(text, 6, 8)
	if !okHour || !okMinute || !okSecond || text[2] != ':' || text[5] != ':' {
		return 0, false
	}
	if hour > 23 || minute > 59 || second > 59 {
		return -1, true
	}
	return hour*3600 + minute*60 + second, true
}

// parseFraction reads a point and one to nine digits from the front of text, if there is a point, and returns the rest.
func parseFraction(text string) (nanos uint32, rest string, ok bool) {
	if text[0] != '.' {
		return 0, text, true
	}
	end := digitsEnd(text, 1)
	if end == 1 || end > 10 {
		return 0, "", false
	}
	n, _ := parseFixed(text, 1, end)
	for range 10 - end {
		n *= 10
	}
	return uint32(n), text[end:], true
}

// beginsClock reports whether c stands between a date and a time.
func beginsClock(c byte) bool { return c == 'T' || c == 't' || c == ' ' }

// parseZone reads Z or an offset such as +01:00, +0100 or +01 as the seconds east of UTC. It refuses -00:00, by which
// RFC 3339 says that the local time is not known.
func parseZone(text string) (offset int, ok bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) < len("+01") || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	hour, okHour := parseFixed(text, 1, 3)
	minute, okMinute := 0, true
	switch rest := text[3:]; {
	case len(rest) == len(":00") && rest[0] == ':':
		minute, okMinute = parseFixed(rest, 1, 3)
	case len(rest) == len("00"):
		minute, okMinute = parseFixed(rest, 0, 2)
	case rest != "":
		return 0, false
	}
	if !okHour || !okMinute || hour > 23 || minute > 59 || text[0] == '-' && hour == 0 && minute == 0 {
		return 0, false
	}
	offset = hour*3600 + minute*60
	if text[0] == '-' {
		return -offset, true
	}
	return offset, true
}

// timestampTrouble says where a text that is no timestamp leaves the form of one.
func timestampTrouble(text string) string {
	for i, want := range "0000-00-00T00:00:00" {
		if i == len(text) {
			return "; it ends after " + strconv.Quote(text)
		}
		c, name := text[i], strconv.QuoteRune(want)
		fits := c == byte(want)
		switch want {
		case '0':
			fits, name = isDigit(c), "a digit"
		case 'T':
			fits = beginsClock(c)
		}
		if !fits {
			found, _ := utf8.DecodeRuneInString(text[i:])
			return fmt.Sprintf("; character %d is %q and not %s", i+1, found, name)
		}
	}
	rest := text[len("2001-01-31T23:59:59"):]
	if strings.HasPrefix(rest, ",") {
		return "; character 20 is ',' and not '.'"
	}
	if strings.HasPrefix(rest, ".") {
		_, zone, ok := parseFraction(rest)
		if !ok {
			return "; a fraction of a second has one to nine digits"
		}
		rest = zone
	}
	switch {
	case rest == "":
		return "; it has no zone: add Z or an offset such as +01:00"
	case strings.HasPrefix(rest, "-00"):
		return "; -00:00 says that its zone is not known"
	}
	return fmt.Sprintf("; %.40q is no zone: write Z or an offset such as +01:00", rest)
}
