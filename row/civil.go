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

// civilOf is the inverse of daysOf for days from minDay to maxDay. Source: the same, civil_from_days.
func civilOf(days int64) (year, month, day int) {
	shifted := int(days + 719_468)
	era := shifted / 146_097
	dayOfEra := shifted - era*146_097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shiftedMonth := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*shiftedMonth+2)/5 + 1
	month = (shiftedMonth+2)%12 + 1
	year = yearOfEra + era*400
	if month <= 2 {
		year++
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
	dst = appendTwo(appendTwo(dst, year/100), year%100)
	dst = appendTwo(append(dst, '-'), month)
	return appendTwo(append(dst, '-'), day)
}

// appendTimestamp appends 2001-01-31T23:59:59.5Z, the fraction without trailing zeros. It panics as appendDate does.
func appendTimestamp(dst []byte, seconds int64, nanos uint32) []byte {
	days, clock := floorDay(seconds)
	dst = appendTwo(append(appendDate(dst, days), 'T'), clock/3600)
	dst = appendTwo(append(dst, ':'), clock/60%60)
	dst = appendTwo(append(dst, ':'), clock%60)
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

func appendTwo(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10), '0'+byte(n%10)) }
