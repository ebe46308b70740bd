package embedded

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"go.temporal.io/api/enums/v1"
)

// OpenQueue returns the task queue of a workflow that is open in a database which no server uses; empty if it is not open, or the database is not
// there. What a server that was killed did in its last moments may be missing. The error says that it cannot be known now, such as while another
// process keeps the database locked.
func OpenQueue(ctx context.Context, databasePath, workflow string) (queue string, err error) {
	if _, err := os.Stat(databasePath); err != nil {
		return "", nil // a server makes it
	}
	db, err := openToLook(databasePath)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	open := "select task_queue from executions_visibility where workflow_id = ? and status = ? order by start_time desc, run_id limit 1"
	err = db.QueryRowContext(ctx, open, workflow, enums.WORKFLOW_EXECUTION_STATUS_RUNNING).Scan(&queue)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return queue, err
}
