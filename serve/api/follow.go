package api

import (
	"time"

	"waymark/landscape"
	"waymark/pipeline"
)

// progressPause is how often a stream looks how far its run is.
const progressPause = time.Second / 4

// followRun streams how far a run is, until it has ended.
func followRun(c *call) (any, error) {
	id := c.PathValue("run")
	if _, err := c.record(); err != nil {
		if _, missing := c.started(id); missing != nil {
			return nil, missing
		}
	}
	stream, err := c.stream()
	if err != nil {
		return nil, err
	}
	var last landscape.Progress
	for first := true; ; first = false {
		progress, run, err := c.progress(id)
		if err != nil {
			return nil, err
		}
		if run != nil && !c.sees(run.Pipeline, run.Actor, run.Trigger) { // somebody else's, under the same id
			return nil, noRun(id)
		}
		if first || progress != last {
			if err := stream.send("", "progress", progress); err != nil {
				return nil, err
			}
			last = progress
		}
		ended := run != nil && run.Status != pipeline.Running
		if run == nil { // it may never begin
			if ended, err = c.ended(id); err != nil {
				return nil, err
			}
		}
		if ended {
			report, err := c.reportOf(id)
			if err != nil {
				return nil, err
			}
			return nil, stream.send("", "ended", report)
		}
		if more, err := stream.pause(progressPause); !more {
			return nil, err
		}
	}
}

// progress returns how far a run is; run is nil as long as it is not recorded. All streams of a run have it from one
// look.
func (c *call) progress(id string) (progress landscape.Progress, run *landscape.Run, err error) {
	type point struct {
		landscape.Progress
		run *landscape.Run
	}
	at, err := recent(c, "progress "+id, progressPause, func(c *call) (at point, err error) {
		recorded, err := c.server.Home.Recorded(c.Context(), id)
		if isMissing(err) {
			return at, nil
		}
		if err == nil {
			at.Progress, err = c.server.Home.ProgressOf(c.Context(), id)
		}
		at.run = &recorded
		return at, err
	})
	return at.Progress, at.run, err
}
