package pipeline

// Schedule says when runs are due, and which slot of time each is about.
type Schedule struct {
	Every  Every       `yaml:"every,omitempty"`                 // minute, hour, day, week, month, quarter, year, a length of time such as 15m, {cron: "0 2 * * MON-FRI"} or {days: [mon, thu]}
	At     string      `yaml:"at,omitempty" text:"name"`        // the time of day, such as "02:00"; default "00:00"
	Zone   string      `yaml:"zone,omitempty" text:"name"`      // whose clocks and days count, such as Europe/Berlin; a time of day needs one; default UTC
	Covers string      `yaml:"covers,omitempty" text:"name"`    // what a slot covers: day before (default; or week before, and so on), same day, since last, a range such as -2d..-1d, or nothing for slots without time, which have no every
	Except []string    `yaml:"except,omitempty" text:"name"`    // days for which no run is due, such as 2026-12-25
	Jitter Duration    `yaml:"jitter,omitempty" range:"1s 12h"` // the most that a run starts after it is due
	Params Map[string] `yaml:"params,omitempty" text:"exact"`   // parameter → its value in the runs of this schedule

	ForEach Map[Each] `yaml:"for_each,omitempty" json:",omitempty"` // name → values, for each of which there is a slot of its own: tenant: [acme, umbrella]

	Overlap    string         `yaml:"overlap,omitempty" json:",omitempty" words:"queue skip cancel allow"` // what becomes of a slot while the run of an earlier one continues: it waits (queue, the default), gets no run (skip), cancels that (cancel), or runs beside it (allow)
	After      string         `yaml:"after,omitempty" json:",omitempty" words:"previous"`                  // previous: a run begins only when the slot before is done
	CatchUp    CatchUp        `yaml:"catch_up,omitempty" json:",omitzero"`                                 // what becomes of slots that were due while nobody served
	Retry      ScheduledRetry `yaml:"retry,omitempty" json:",omitzero"`                                    // what becomes of a slot whose run failed
	PauseAfter int            `yaml:"pause_after,omitempty" json:",omitempty" range:"1 1000"`              // the schedule is paused when so many slots failed one after the other
	Promise    Promise        `yaml:"promise,omitempty" json:",omitzero"`                                  // by when the output of a slot is there
}

// CatchUp says what becomes of slots that were due while nobody served.
type CatchUp struct {
	Slots  string   `yaml:"slots,omitempty" words:"all last none"` // which of them get a run: all (default), the last one, or none
	Within Duration `yaml:"within,omitempty" range:"1m 365d"`      // those that were due longer ago get none; default 7d
	AtOnce int      `yaml:"at_once,omitempty" range:"1 100"`       // how many of the schedule's runs go on at a time, with overlap: queue; default 1
	Order  string   `yaml:"order,omitempty" words:"oldest newest"` // which slot comes first; default oldest
}

// ScheduledRetry says what becomes of a slot whose run failed.
type ScheduledRetry struct {
	Times int      `yaml:"times" range:"1 100"`          // how often the run is resumed, or begun again if it had not begun
	Wait  Duration `yaml:"wait,omitempty" range:"1s 7d"` // how long after it failed; default 1m
}

// Promise says by when the output of a slot is there. One of the two is given.
type Promise struct {
	By     string   `yaml:"by,omitempty" text:"name" one:"time"`         // a time of day after it is due, such as "06:00"
	Within Duration `yaml:"within,omitempty" range:"1s 365d" one:"time"` // how long after it is due
}

// Every says how often a schedule fires. In YAML a word or a length of time, {cron: …} or {days: …}.
type Every struct {
	Word string   // minute, hour, day, week, month, quarter, year, or a length of time; "" if one of the others is given
	Cron string   `yaml:"cron,omitempty" text:"name" one:"rule"` // minute, hour, day of the month, month and day of the week, as crontab has them
	Days []string `yaml:"days,omitempty" text:"name" one:"rule"` // days of the week: mon, tue, wed, thu, fri, sat, sun
}

// Each are the values of a schedule's for_each. In YAML a list of them, or a mapping that says where they are.
type Each struct {
	Values []string `json:",omitempty"`                          // of a file: the values that it has, as far as they are known
	File   string   `yaml:"file" text:"name" json:",omitempty"`  // a CSV file beside the document, with a header; a version of the pipeline has it with it
	Field  string   `yaml:"field" text:"name" json:",omitempty"` // the column of the values, as the header names it
}
