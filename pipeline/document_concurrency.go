package pipeline

// Concurrency limits how many runs of the pipeline there are at once, and says how runs wait.
type Concurrency struct {
	Runs     int      `yaml:"runs,omitempty" range:"1 1000"`                      // how many runs of the pipeline are running at once, at most; default: any number
	Key      string   `yaml:"key,omitempty" text:"path"`                          // makes that a limit for each value, as in ${param:tenant}
	WhenFull string   `yaml:"when_full,omitempty" words:"queue skip cancel join"` // what becomes of one more run: it waits (queue, the default), does not begin (skip), waits until the oldest is cancelled (cancel), or gives the result of the one that is running (join)
	Queue    RunQueue `yaml:"queue,omitempty"`                                    // how many runs wait, and for how long
	Priority int      `yaml:"priority,omitempty" range:"1 5"`                     // of runs that wait, 1 goes first; default 3
}

// RunQueue limits how runs wait. A zero field is no limit.
type RunQueue struct {
	Max  int      `yaml:"max,omitempty" range:"1 100000"` // how many runs of the pipeline, or with its key, wait at most: one more is refused
	Wait Duration `yaml:"wait,omitempty" range:"1s 30d"`  // how long a run waits at most: then it is refused
}
