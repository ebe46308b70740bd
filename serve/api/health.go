package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"waymark/client"
	"waymark/client/remote"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/serve/ui"
)

// health is what the last checks found. However many ask, checks are made once at a time: all who ask meanwhile get what the next ones find.
type health struct {
	mu     sync.Mutex
	begun  time.Time // when the last checks began
	checks []client.CheckText
}

// look returns what is found by checks that began after it was called.
func (h *health) look(ctx context.Context, doctor func(context.Context) []client.Check) []client.CheckText {
	asked := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun.Before(asked) {
		begun := time.Now()
		h.checks = client.CheckTexts(doctor(context.WithoutCancel(ctx)), "", nil) // others may wait for them
		h.begun = begun
	}
	return slices.Clone(h.checks)
}

// ofNoPipeline are the checks that say nothing of any pipeline or run. Who may see some pipelines only gets no others.
var ofNoPipeline = []string{
	"program", "state folder", "disk space", "sqlite", "locks", "clock", "temporal", "workers",
	"search attributes", "codec keys",
}

// doctor makes the checks of waymark doctor, and adds what only the server knows.
func doctor(c *call) (any, error) {
	checks := c.server.health.look(c.Context(), c.server.Home.Doctor)
	if len(landscape.Listed(c.token.Pipelines)) > 0 {
		checks = slices.DeleteFunc(checks, func(c client.CheckText) bool {
			return !slices.Contains(ofNoPipeline, c.Name)
		})
	}
	own := client.Good("%s open", text.Count(c.server.streams.Load(), "stream"))
	own.Name = "event streams"
	return remote.Page[client.CheckText]{Items: append(checks, client.CheckTexts([]client.Check{own}, "", nil)...)}, nil
}

func healthPage(c *call) (any, error) {
	answer, err := doctor(c)
	if err != nil {
		return nil, err
	}
	body := ui.Health{Checks: answer.(remote.Page[client.CheckText]).Items} //nolint:forcetypeassert // as doctor says
	return ui.Page{Title: "Health", Crumbs: []ui.Link{{Text: "Health"}}, Command: "waymark doctor", Path: "/v1/doctor", Body: body}, nil
}
