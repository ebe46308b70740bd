package client

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
)

// quick is a host whose process executes a run from its beginning to its end before it answers the second question.
type quick struct {
	nobody
	asked *int
	play  func() error
}

func (q quick) Reach(context.Context) (*Executor, error) {
	*q.asked++
	if *q.asked == 2 {
		return nil, q.play()
	}
	return nil, nil
}

// TestFollowARunThatEndsMeanwhile checks that a run can be followed that is not on record when it is looked for, and has ended when it is looked for who executes it.
func TestFollowARunThatEndsMeanwhile(t *testing.T) {
	log := landscape.New(blank.New(t), nil)
	asked := 0
	c := New(log, "memory", quick{asked: &asked, play: func() error {
		return landscapetest.Scene{Run: "odd", Chunks: 1, ChunkRows: 2}.Play(t.Context(), log)
	}})
	e, err := c.Follow(t.Context(), "odd")
	require.NoError(t, err)
	require.Equal(t, 2, asked)
	require.Equal(t, "odd", e.Run)
	run, err := c.Find(t.Context(), "odd")
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, run.Status)
}
