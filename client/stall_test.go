package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"waymark/internal/sqlitefile"
)

// TestClockSetBack: it is said for as long as the clock is behind, and not of one that is set forward or corrected a little.
func TestClockSetBack(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := wallClock{begun}
	for _, test := range []struct {
		shows  string
		passed time.Duration
		says   string
	}{
		{"12:00:20", 20 * time.Second, ""},
		{"12:00:17", 20 * time.Second, ""},
		{"13:00:20", 20 * time.Second, ""},
		{
			"11:00:20", 20 * time.Second,
			"this machine's clock was set back by 1h0m0s: what waits for a time, such as another attempt, waits until 2026-03-01 12:00:20, or until the clock is set right",
		},
		{
			"11:30:20", 30*time.Minute + 20*time.Second,
			"this machine's clock was set back by 1h0m0s: what waits for a time, such as another attempt, waits until 2026-03-01 12:30:20, or until the clock is set right",
		},
	} {
		shows, err := time.Parse("2006-01-02 15:04:05", "2026-03-01 "+test.shows)
		require.NoError(t, err)
		require.Equal(t, test.says, clock.behind(shows, test.passed), test.shows)
	}
	now := time.Now()
	require.Zero(t, wallClock{now}.setBack(now.Add(time.Hour), time.Hour), "readings of a running process")
}

// TestLocksOfOthers: a lock that was there at the last look as well is told, one that changed hands or came just now is not.
func TestLocksOfOthers(t *testing.T) {
	holders := map[string]*sqlitefile.Holder{}
	l := lockWatch{files: []string{"temporal.db", "landscape.db"}}
	look := func() string { return l.look(func(path string) *sqlitefile.Holder { return holders[path] }) }
	require.Empty(t, look())
	holders["landscape.db"] = &sqlitefile.Holder{PID: 7, Name: "sqlite3"}
	require.Empty(t, look())
	require.Equal(t, "process 7 (sqlite3) keeps landscape.db locked", look())
	holders["landscape.db"] = &sqlitefile.Holder{PID: 8}
	require.Empty(t, look())
	require.Equal(t, "process 8 keeps landscape.db locked", look())
	delete(holders, "landscape.db")
	require.Empty(t, look())
}

// TestAtWork: what works is told in the workflow's words, or by its name where these are not known; what waits is not.
func TestAtWork(t *testing.T) {
	now := time.Now()
	working := func(id, name string, since time.Duration) *workflow.PendingActivityInfo {
		return &workflow.PendingActivityInfo{
			ActivityId: id, ActivityType: &common.ActivityType{Name: name}, State: enums.PENDING_ACTIVITY_STATE_STARTED,
			LastStartedTime: timestamppb.New(now.Add(-since)),
		}
	}
	activities := []*workflow.PendingActivityInfo{
		working("7", "Fold", 34*time.Second), working("8", "Read", time.Minute),
		{ActivityId: "9", State: enums.PENDING_ACTIVITY_STATE_SCHEDULED},
	}
	require.Equal(t, `"fold totals · end 3" for 34s, "Read" for 1m0s`, atWork(activities, map[string]string{"7": "fold totals · end 3"}, now))
	require.Empty(t, atWork(activities[2:], nil, now))
}
