package pipeline

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Duration is a length of time, written as 250ms, 30s, 1h30m or 2d; a day has 24 hours.
type Duration time.Duration

const day = 24 * time.Hour

// duration is what time.ParseDuration reads, without signs, with days in front.
var duration = regexp.MustCompile(`^(?:([0-9]+)d)?((?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s|us))*)$`)

// UnmarshalText reads a duration. The error says how one is written.
func (d *Duration) UnmarshalText(text []byte) error {
	parts := duration.FindSubmatch(text)
	if parts == nil || len(text) == 0 {
		return fmt.Errorf("%s is not a length of time: write it as 250ms, 30s, 1h30m or 2d", quote(string(text)))
	}
	days, tooMany := strconv.ParseInt("0"+string(parts[1]), 10, 64)
	rest, err := time.ParseDuration("0s" + string(parts[2]))
	if tooMany != nil || days > int64(math.MaxInt64/day) || err != nil || rest > math.MaxInt64-time.Duration(days)*day {
		return fmt.Errorf("%s is too long a time", quote(string(text)))
	}
	*d = Duration(time.Duration(days)*day + rest)
	return nil
}

// String returns the duration as Go writes it, such as 1h30m0s.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalJSON reads what package json writes of a duration: nanoseconds.
func (d *Duration) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*int64)(d)) }
