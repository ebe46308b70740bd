package row

import "strconv"

const (
	secondsPerDay = 86_400
	minDay        = -719_162  // 0001-01-01 in days since 1970-01-01
	maxDay        = 2_932_896 // 9999-12-31
)

// daysOf returns the days from 1970-01-01 to the date, which exists in the proleptic Gregorian calendar.
// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil; years count from March.
func daysOf(year, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := year / 400
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return int64(era)*146_097 + int64(dayOfEra) - 719_468
}

// civilOf is the inverse of daysOf for days from minDay to maxDay. Years count from March, and the divisions are by multiplying.
// Source: Cassio Neri and Lorenz Schneider, "Euclidean Affine Functions and their Application to Calendar Algorithms", figure 12.
func civilOf(days int64) (year, month, day int) {
	const daysOfEra = 146_097 // 400 years
	inQuarters := 4*uint32(days+719_468) + 3
	century := inQuarters / daysOfEra
	product := 2_939_745 * uint64(inQuarters%daysOfEra|3)
	yearOfCentury, dayOfYear := uint32(product>>32), uint32(product)/2_939_745/4
	inMonth := 2141*dayOfYear + 197_913
	year, month, day = int(100*century+yearOfCentury), int(inMonth>>16), int(inMonth&0xFFFF/2141)+1
	if dayOfYear >= 306 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

var monthDays = [...]int{1: 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// validDate reports whether the date exists, in the years 1 to 9999.
func validDate(year, month, day int) bool {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 {
		return false
	}
	leapDay := month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0)
	return day <= monthDays[month] || leapDay && day == 29
}

// appendDate appends 2001-01-31. It panics if the year is not 0001 to 9999.
func appendDate(dst []byte, days int64) []byte {
	if days < minDay || days > maxDay {
		panic("row: day " + strconv.FormatInt(days, 10) + " is outside the years 0001 to 9999; callers of DateValue and TimestampValue refuse it")
	}
	year, month, day := civilOf(days)
	y, c, m, d := two(year/100), two(year%100), two(month), two(day)
	return append(dst, y[0], y[1], c[0], c[1], '-', m[0], m[1], '-', d[0], d[1])
}

// appendTimestamp appends 2001-01-31T23:59:59.5Z, the fraction without trailing zeros. It panics as appendDate does.
func appendTimestamp(dst []byte, seconds int64, nanos uint32) []byte {
	days, clock := floorDay(seconds)
	h, m, s := two(clock/3600), two(clock/60%60), two(clock%60)
	dst = append(appendDate(dst, days), 'T', h[0], h[1], ':', m[0], m[1], ':', s[0], s[1])
	if nanos != 0 {
		dst = append(dst, '.')
		for scale := uint32(100_000_000); nanos != 0; scale /= 10 {
			dst = append(dst, '0'+byte(nanos/scale))
			nanos %= scale
		}
	}
	return append(dst, 'Z')
}

// floorDay splits seconds since 1970 into days and the seconds within the day.
func floorDay(seconds int64) (days int64, clock int) {
	days, rest := seconds/secondsPerDay, seconds%secondsPerDay
	if rest < 0 {
		days, rest = days-1, rest+secondsPerDay
	}
	return days, int(rest)
}

// twoDigits are the numbers from 00 to 99.
const twoDigits = "0001020304050607080910111213141516171819" +
	"2021222324252627282930313233343536373839" +
	"4041424344454647484950515253545556575859" +
	"6061626364656667686970717273747576777879" +
	"8081828384858687888990919293949596979899"

// two returns the two digits of n, which is from 0 to 99.
func two(n int) string { return twoDigits[2*n : 2*n+2] }
