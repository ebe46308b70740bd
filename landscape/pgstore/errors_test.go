package pgstore

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

func TestErrorsSayWhatCuresThem(t *testing.T) {
	server := func(code string) error {
		return &pgconn.PgError{Severity: "ERROR", Code: code, Message: "what the server says"}
	}
	for name, c := range map[string]struct {
		err      error
		says     string
		sentinel error
	}{
		"a full disk":        {server(diskFull), "make space on the server's disk", landscape.ErrFull},
		"a standby":          {server(readOnly), "only reads", landscape.ErrReadOnly},
		"no right":           {server(noPrivilege), "`waymark landscape grant` gives it", nil},
		"a schema unseen":    {server(noTable), "of the schema's owner, gives the right", nil},
		"too many":           {server(tooManyConnections), "lower pool_max_conns", landscape.ErrAway},
		"a shutdown":         {server(adminShutdown), "when it is up", landscape.ErrAway},
		"nobody there":       {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "nothing listens there", landscape.ErrAway},
		"no such host":       {&net.DNSError{Err: "no such host"}, "nobody knows this host", landscape.ErrAway},
		"no answer":          {context.DeadlineExceeded, "no answer in time", landscape.ErrAway},
		"a broken cable":     {io.ErrUnexpectedEOF, "the connection broke", landscape.ErrAway},
		"a certificate":      {errors.New("tls: unknown\n\tauthority"), "tls: unknown authority", nil},
		"a landscape's own":  {landscape.ErrStale, "moved on", landscape.ErrStale},
		"an unsafe server":   {&refusal{"the setting fsync is off"}, "landscape place: the setting fsync is off", nil},
		"an unknown commit":  {&unknown{io.ErrUnexpectedEOF}, "nobody knows whether all of it is stored or nothing: commit the same again", nil},
		"an imbalance stays": {&landscape.ImbalanceError{Run: "r"}, "run r does not balance", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := explain("place", c.err)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "landscape place: ")
			if c.sentinel != nil {
				require.ErrorIs(t, err, c.sentinel)
			}
			require.Equal(t, c.sentinel == landscape.ErrAway, errors.Is(err, landscape.ErrAway)) //nolint:errorlint // the same one
		})
	}
	require.NoError(t, explain("place", nil))
}

func TestOnlyWhatPassesIsDoneAgain(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"a deadlock":            {&pgconn.PgError{Code: deadlockDetected}, 3},
		"a shutdown":            {&pgconn.PgError{Code: adminShutdown}, 3},
		"a broken connection":   {io.EOF, 3},
		"an unknown commit":     {&unknown{io.EOF}, 1},
		"a record that differs": {&landscape.DivergedError{}, 1},
		"a broken rule":         {&pgconn.PgError{Code: "23514"}, 1},
		"a value that is taken": {&pgconn.PgError{Code: uniqueViolation}, 2},
		"somebody gave up":      {context.Canceled, 1},
	} {
		t.Run(name, func(t *testing.T) {
			done := 0
			err := again(t.Context(), func() error {
				if done++; done == 3 {
					return nil
				}
				return c.err
			})
			require.Equal(t, c.want, done)
			require.Equal(t, c.want < 3, err != nil)
		})
	}
}
