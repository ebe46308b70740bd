package landscape

import (
	"context"
	"fmt"
	"strings"
)

// Limit says how many places a pool has, until the next one does.
type Limit struct {
	Gate   string `db:"gate,key"` // pool:NAME
	Seq    int64  `db:"seq,key"`  // from 0; set by Log
	Places int64  `db:"places"`   // 0 lets nobody in
	Actor  string `db:"actor"`
	Why    string `db:"why"`
	At     Micros `db:"at_us"` // set by Log
}

// Table returns limits.
func (Limit) Table() string { return "limits" }

// PoolGate is the gate of a pool.
func PoolGate(pool string) string { return poolPrefix + pool }

const poolPrefix = "pool:"

// RunsGate is the gate of the runs of a pipeline in an environment, or of those with a key, if that is not empty. A file has no environment,
// and the gate of the default one.
func RunsGate(environment, pipeline, key string) string {
	gate := "pipeline:" + pipeline
	if environment != "" && environment != DefaultEnvironment {
		gate += "@" + environment
	}
	if key != "" {
		gate += "/" + key
	}
	return gate
}

// SetLimit says how many places a pool has from now on. Runs that have more keep them to their ends.
func (l *Log) SetLimit(ctx context.Context, limit Limit) error {
	if !strings.HasPrefix(limit.Gate, poolPrefix) || limit.Places < 0 {
		return fmt.Errorf("limit of %q to %d: only a pool has one, and it is not negative", limit.Gate, limit.Places)
	}
	return settle(limit.Table(), func() error {
		before, err := Select[Limit](ctx, l, limit.Gate)
		if err != nil {
			return err
		}
		limit.Seq, limit.At = int64(len(before)), l.now()
		return l.insert(ctx, limit)
	})
}

// Limits returns how many places each pool has, by gate; nil if nobody ever said.
func (r *Reader) Limits(ctx context.Context) ([]Limit, error) {
	return lastOfEach(ctx, r.from, func(l Limit) string { return l.Gate })
}
