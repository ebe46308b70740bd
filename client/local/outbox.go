package local

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"waymark/client"
	"waymark/landscape"
	"waymark/worker/delivery"
)

// Outbox does what client.Client's does, and gives positions to events if this process may write the landscape.
func (h *Home) Outbox(ctx context.Context, filter client.OutboxFilter, yield func(client.OutboxEvent) error) (dropped int64, err error) {
	return h.Client.Outbox(ctx, filter, h.stores.MayWrite(ctx) == nil, yield)
}

// Endpoints does what client.Client's does, after events have got their positions as Outbox says.
func (h *Home) Endpoints(ctx context.Context) ([]client.Endpoint, error) {
	if h.stores.MayWrite(ctx) == nil {
		if _, err := h.stores.Log.Sequence(ctx); err != nil {
			return nil, err
		}
	}
	return h.Client.Endpoints(ctx)
}

// EndpointRequest says where events are to be delivered, and which.
type EndpointRequest struct {
	Name        string
	URL         string
	Format      landscape.EndpointFormat
	Order       landscape.EndpointOrder
	Kinds       []string // nil for all
	Pipelines   []string // nil for all
	Environment string   // empty for all
	Secrets     []string // names of secrets with which deliveries are signed, the newest first
	From        int64    // of a new endpoint: it gets the events after this position; -1 for those that happen from now on
	Why         string
}

// SetEndpoint adds an endpoint, or changes it. The error is an *Error of kind Invalid if the request makes no sense.
func (h *Home) SetEndpoint(ctx context.Context, r EndpointRequest) (added bool, err error) {
	if err := r.check(); err != nil {
		return false, &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: err.Error(), Err: err}
	}
	err = h.ChangeEndpoint(ctx, r.Name, r.From, func(last *landscape.Endpoint) (landscape.Endpoint, error) {
		added = last == nil || last.Action == landscape.RemoveEndpoint
		row := landscape.Endpoint{
			Action: landscape.SetEndpoint, URL: r.URL, Format: r.Format, Order: r.Order, Kinds: landscape.List(r.Kinds), Pipelines: landscape.List(r.Pipelines),
			Environment: r.Environment, Secrets: landscape.List(r.Secrets), Actor: h.Actor, Why: r.Why,
		}
		if !added {
			row.Disabled = last.Disabled
		}
		return row, nil
	})
	return added, err
}

// check says what is wrong with a request.
func (r EndpointRequest) check() error {
	if err := landscape.CheckEnvironment(r.Name); err != nil {
		return fmt.Errorf("%.64q is not the name of an endpoint: write up to 63 of a to z, 0 to 9, _ and -", r.Name)
	}
	if err := delivery.CheckURL(r.URL); err != nil {
		return err
	}
	for _, kind := range r.Kinds {
		if err := landscape.CheckEventKind(kind); err != nil {
			return err
		}
	}
	switch {
	case r.Order != landscape.StrictOrder && r.Order != landscape.AnyOrder:
		return fmt.Errorf("the order %.64q: write strict or any", string(r.Order))
	case r.Format != landscape.StandardFormat && r.Format != landscape.OpenLineageFormat:
		return fmt.Errorf("the format %.64q: write standard or openlineage", string(r.Format))
	case r.Format == landscape.StandardFormat && len(r.Secrets) == 0:
		return fmt.Errorf("without --secret nobody could tell that an event comes from here: name a secret, which is a file in the --secrets-dir of the process that delivers")
	case r.Format == landscape.OpenLineageFormat && len(r.Secrets) > 1:
		return fmt.Errorf("an endpoint for OpenLineage has one --secret at most: it is sent as a bearer token")
	}
	return nil
}

// TurnEndpoint enables, disables or removes an endpoint. changed is false if it was so already.
func (h *Home) TurnEndpoint(ctx context.Context, name string, action landscape.EndpointAction, why string) (changed bool, err error) {
	before, err := h.Endpoint(ctx, name)
	if err != nil {
		return false, err
	}
	if disabled := action == landscape.DisableEndpoint; action != landscape.RemoveEndpoint && before.Disabled == disabled {
		return false, nil
	}
	err = h.ChangeEndpoint(ctx, name, -1, func(last *landscape.Endpoint) (landscape.Endpoint, error) {
		if last == nil || last.Action == landscape.RemoveEndpoint {
			return landscape.Endpoint{}, landscape.ErrNotFound
		}
		row := *last
		row.Action, row.Disabled, row.Actor, row.Why = action, action != landscape.EnableEndpoint, h.Actor, why
		return row, nil
	})
	return err == nil, err
}

// EndpointTest is what came of a test of an endpoint.
type EndpointTest struct {
	Endpoint string `json:"endpoint"`
	ID       string `json:"id"`
	Status   int    `json:"status"` // of HTTP; 0 if there was no answer
	Error    string `json:"error,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Millis   int64  `json:"ms"`
}

// TestEndpoint sends an event of the kind ping to an endpoint once, from this process, with its secrets and networks. It is not recorded.
func (h *Home) TestEndpoint(ctx context.Context, name string) (*EndpointTest, error) {
	e, err := h.Endpoint(ctx, name)
	if err != nil {
		return nil, err
	}
	planner, err := h.options.Planner(client.ToResume)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	body, err := json.Marshal(map[string]any{"type": delivery.Ping, "timestamp": now.UTC().Format(time.RFC3339Nano), "data": map[string]string{"endpoint": name}})
	if err != nil {
		return nil, err
	}
	id := uuid.Must(uuid.NewV7()).String()
	sender := delivery.NewSender(h.stores.Log.Reader, planner.Keeper().Deliver, planner.AllowNetworks)
	answer := sender.Post(ctx, e, landscape.Event{ID: id, Kind: delivery.Ping, Body: string(body)}, now)
	return &EndpointTest{name, id, answer.Status, answer.Error, answer.Body, answer.Took.Milliseconds()}, ctx.Err()
}
