package embedded

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
)

// TestShortLives: a server that may have but a moment notes soon what it has done, or the next one does it again. One that
// stays takes its time.
func TestShortLives(t *testing.T) {
	for _, queue := range []dynamicconfig.GlobalDurationSetting{
		dynamicconfig.TransferProcessorUpdateAckInterval, dynamicconfig.TimerProcessorUpdateAckInterval,
		dynamicconfig.VisibilityProcessorUpdateAckInterval,
	} {
		every := func(o Options) time.Duration {
			return queue.Get(dynamicconfig.NewCollection(o.dynamicConfig(), log.NewNoopLogger()))()
		}
		require.Equal(t, noteEvery, every(Options{}), queue.Key())
		require.Greater(t, every(Options{Schedules: true}), time.Second, queue.Key())
	}
}
