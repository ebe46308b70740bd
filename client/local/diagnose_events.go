package local

import (
	"context"
	"errors"
	"strings"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

// events says who was told how the run ended.
func (p patient) events(ctx context.Context) ([]client.Check, error) {
	if p.run.Status == pipeline.Running {
		return nil, nil
	}
	told, err := p.stores.Log.EndDeliveries(ctx, p.run.RunHead)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return one(client.Good("its end is in no event: it was dropped because it was old"))
	case err != nil:
		return nil, err
	case told.Deliveries == nil:
		return one(client.Good("%s is in the outbox; no endpoint is to be told", told.Event.Kind))
	}
	var checks []client.Check
	var took []string
	for _, d := range told.Deliveries {
		switch d.State {
		case landscape.DeliveryOK:
			took = append(took, d.Endpoint)
		case landscape.DeliveryDead:
			checks = append(checks, client.Failure("", "endpoint %s did not take %s: %s: waymark deliveries replay %s --dead", d.Endpoint, told.Event.Kind, d.Error, d.Endpoint))
		case landscape.DeliveryDue:
			why := d.Error
			if why == "" {
				why = "it was not tried yet"
			}
			checks = append(checks, client.Warning("", "endpoint %s is still to get %s: %s: waymark deliveries %s", d.Endpoint, told.Event.Kind, why, d.Endpoint))
		default:
			checks = append(checks, client.Warning("", "endpoint %s is still to get %s: waymark serve or a worker delivers it", d.Endpoint, told.Event.Kind))
		}
	}
	if took != nil {
		checks = append(checks, client.Good("%s was taken by %s", told.Event.Kind, strings.Join(took, ", ")))
	}
	return checks, nil
}
