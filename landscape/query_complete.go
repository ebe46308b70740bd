package landscape

import (
	"context"

	"waymark/pipeline"
)

// CompleteRun is what of a complete run says when its outputs are to be read again.
type CompleteRun struct {
	Status         pipeline.RunStatus `db:"status,key"`
	ID             string             `db:"run_id,key"`
	Host           string             `db:"host"`
	DocumentSHA256 string             `db:"document_sha256"`
	Finished       Micros             `db:"finished_us,null"`
}

// Table returns runs.
func (CompleteRun) Table() string { return "runs" }

// CompleteRuns calls yield with every complete run, by status and id. yield must not use the reader.
func (r *Reader) CompleteRuns(ctx context.Context, yield func(CompleteRun)) error {
	for _, status := range []pipeline.RunStatus{pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty} {
		err := each(ctx, r.from, []any{string(status)}, func(run CompleteRun) bool {
			yield(run)
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}
