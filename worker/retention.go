package worker

import "waymark/pipeline"

// Admits refuses a document of which no run may begin here, because it would keep something for a shorter time than the
// settings say. The error is pipeline.Problems. A run that is recorded is not asked: it began when other settings
// counted, and the longer time of the two counts.
func (p Planner) Admits(document *pipeline.Document) error {
	if p.Rerun != nil {
		return nil
	}
	return p.Periods.Admits(document)
}
