package embedded

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log/tag"
)

// TestLogger: slog gets warnings and errors with their tags, unless the server starts or stops.
func TestLogger(t *testing.T) {
	var out strings.Builder
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	l := newLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: drop})))
	l.Error("while it starts")
	l.quiet.Store(false)
	with := l.With(tag.NewStringTag("service", "history"))
	l.Debug("debug")
	l.Info("info")
	with.Warn("warn", tag.NewInt("n", 1))
	with.Error("error")
	l.Warn(noHTTPMessage + ".")
	l.quiet.Store(true)
	with.Error("while it stops")
	require.Equal(t, "level=WARN msg=warn service=history n=1\nlevel=ERROR msg=error service=history\n", out.String())
}

// TestLoggerFatal: the goroutine ends and the process does not, and the first reason is kept.
func TestLoggerFatal(t *testing.T) {
	l := newLogger(slog.New(slog.DiscardHandler))
	for _, message := range []string{portTakenMessage, "second"} {
		done := make(chan bool)
		went := true
		go func() {
			defer close(done)
			l.With().Fatal(message, tag.NewStringTag("address", "127.0.0.1:1"))
			went = false
		}()
		<-done
		require.True(t, went, "Fatal returned")
	}
	err := l.reason(nil)
	require.ErrorIs(t, err, ErrPortTaken)
	require.ErrorContains(t, err, "address: 127.0.0.1:1")
	require.NoError(t, l.reason(nil))
}
