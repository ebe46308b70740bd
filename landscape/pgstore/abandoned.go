package pgstore

import (
	"context"
	"time"
)

const (
	// lockPatience is how long a statement waits for records that another transaction has, unless the URL's lock_timeout
	// says otherwise.
	lockPatience = 20 * time.Second

	// abandonedAfter is the age at which a transaction that holds records counts as abandoned, if its process sends
	// nothing. A live process sends the whole transaction at once.
	abandonedAfter = time.Minute
)

// patiently does work that waits for records which others have. A process that stands still, as its machine does, keeps
// what it has until it continues: the server hears nothing of it. A Store that waited too long for records ends such
// transactions, which then have left no trace, and tries again.
func (s *Store) patiently(ctx context.Context, work func() error) error {
	return again(ctx, func() error {
		err := work()
		if codeOf(err) == lockNotAvailable {
			s.endAbandoned(ctx)
		}
		return err
	})
}

// endAbandoned ends the connections of the same role whose transactions hold records and are abandoned. An error is
// ignored: the next Store that waits too long does the same.
func (s *Store) endAbandoned(ctx context.Context) {
	_, _ = s.pool.Exec(ctx, `select pg_terminate_backend(a.pid) from pg_stat_activity a
		where a.datname = current_database() and a.usename = current_user and a.pid <> pg_backend_pid()
			and a.wait_event in ('ClientRead', 'ClientWrite')
			and a.xact_start < clock_timestamp() - make_interval(secs => $1)
			and exists (select from pg_locks l
				where l.pid = a.pid and l.granted and l.mode in ('RowShareLock', 'RowExclusiveLock'))`,
		s.abandonedAfter.Seconds())
}
