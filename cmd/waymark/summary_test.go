package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/memdriver"
	"waymark/workflows"
)

// TestUnrecordedEnd: when the record could not be told that a run ended, no summary says that it is running.
func TestUnrecordedEnd(t *testing.T) {
	log := landscape.New(memdriver.New(), nil)
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
	readOnly := errors.New("the record is read-only")
	for _, test := range []struct {
		name string
		end  ending
		code int
		said string
		json string
	}{
		{"stopped", ending{err: readOnly, interrupted: true}, exitInterrupted, "run r was stopped; the record could not be told: the record is read-only\n", `"status":"interrupted"`},
		{"failed", ending{err: readOnly}, exitFailed, "run r failed; the record could not be told: the record is read-only\n", `"status":"failed"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			e := &execution{
				app: &app{stdout: &out}, machine: &machine{record: &record{log: log, client: client.New(log, "memory", &host{app: &app{}})}},
				input: workflows.RunInput{OpenInput: activities.OpenInput{Run: "r"}}, started: time.Now(),
			}
			code, said := exitCode(e.report(test.end, nil), true)
			require.Equal(t, test.code, code)
			require.ErrorContains(t, said, test.said)
			require.Empty(t, out.String())
			e.app.json = true
			code, _ = exitCode(e.report(test.end, nil), true)
			require.Equal(t, test.code, code)
			require.Contains(t, out.String(), test.json)
			require.Contains(t, out.String(), `"error":"the record could not be told: the record is read-only"`)
		})
	}
}
