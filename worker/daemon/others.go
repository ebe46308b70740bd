package daemon

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"waymark/internal/temporal/cluster"
)

// othersCount is for how long a task of another landscape keeps the process from being ready: some worker of its queue has that landscape.
const othersCount = 5 * time.Minute

// others knows of tasks that came to this process and belong to another landscape than its own.
type others struct {
	*process
	mu   sync.Mutex
	last time.Time // when one came
	said time.Time // when that was last logged
	err  error
}

// told is told of each of them.
func (o *others) told(workflow string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.err = time.Now(), fmt.Errorf("%s came to this worker: %w", workflow, err)
	if time.Since(o.said) >= tellPause {
		o.said = time.Now()
		o.logger.Error("a run of another landscape: the task goes back, for a worker that has it", "workflow", workflow, "error", err)
	}
}

// check returns an error if one came a short while ago.
func (o *others) check(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.last) < othersCount {
		return o.err
	}
	return nil
}

// identity is by what Temporal knows the process.
func (d *process) identity() string { return fmt.Sprintf("%d@%s", os.Getpid(), d.files()) }

// facts is what the workers of a queue have in common, as it stands behind their identities: doctor compares it.
func (d *process) facts(id string) string {
	return cluster.FactsText(map[string]string{cluster.FactLandscape: id, cluster.FactValues: d.valuesDigest()})
}

// valuesDigest is of what the process gives to documents besides what is recorded; "" without a fingerprint key. Who does not have that
// learns nothing of the values.
func (d *process) valuesDigest() string {
	if d.fingerprintKey == nil {
		return ""
	}
	hash := hmac.New(sha256.New, d.fingerprintKey)
	fmt.Fprintf(hash, "%q", d.Environment)
	for _, name := range slices.Sorted(slices.Values(d.AllowEnv)) {
		value, set := d.Env(name)
		fmt.Fprintf(hash, " %q %q %t", name, value, set)
	}
	return hex.EncodeToString(hash.Sum(nil)[:4])
}
