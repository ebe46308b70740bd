package pipeline

// Schedule says when runs are due, and which slot of time each is about.
type Schedule struct {
	Every  Every       `yaml:"every"`                           // minute, hour, day, week, month, quarter, year, a length of time such as 15m, {cron: "0 2 * * MON-FRI"} or {days: [mon, thu]}
	At     string      `yaml:"at,omitempty" text:"name"`        // the time of day, such as "02:00"; default "00:00"
	Zone   string      `yaml:"zone,omitempty" text:"name"`      // whose clocks and days count, such as Europe/Berlin; a time of day needs one; default UTC
	Covers string      `yaml:"covers,omitempty" text:"name"`    // what a slot covers: day before (default; or week before, and so on), same day, since last, or a range such as -2d..-1d
	Except []string    `yaml:"except,omitempty" text:"name"`    // days for which no run is due, such as 2026-12-25
	Jitter Duration    `yaml:"jitter,omitempty" range:"1s 12h"` // the most that a run starts after it is due
	Params Map[string] `yaml:"params,omitempty" text:"exact"`   // parameter → its value in the runs of this schedule
}

// Every says how often a schedule rings. In YAML a word or a length of time, {cron: …} or {days: …}.
type Every struct {
	Word string   // minute, hour, day, week, month, quarter, year, or a length of time; "" if one of the others is given
	Cron string   `yaml:"cron,omitempty" text:"name" one:"rule"` // minute, hour, day of the month, month and day of the week, as crontab has them
	Days []string `yaml:"days,omitempty" text:"name" one:"rule"` // days of the week: mon, tue, wed, thu, fri, sat, sun
}
