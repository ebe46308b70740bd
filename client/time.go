package client

import (
	"encoding/json"
	"time"

	"waymark/landscape"
)

// Time is a point in time. In JSON it is a string of RFC 3339 in UTC; null, or left out, if it has not come.
type Time landscape.Micros

// Known reports whether the time has come.
func (t Time) Known() bool { return t != 0 }

// Time returns the time in UTC.
func (t Time) Time() time.Time { return landscape.Micros(t).Time() }

// MarshalJSON writes a string, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if !t.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(t.Time().Format(time.RFC3339Nano))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Time) UnmarshalJSON(text []byte) error {
	var at *time.Time
	err := json.Unmarshal(text, &at)
	if *t = 0; err == nil && at != nil {
		*t = Time(landscape.MicrosOf(*at))
	}
	return err
}
