package local

import (
	"context"

	"waymark/client"
)

// Forget is client.Client.Forget. The process that forgets signs the certificate, and says it in the log.
func (h *Home) Forget(ctx context.Context, request client.ForgetRequest) (*client.Forget, error) {
	if request.DryRun {
		return h.Client.Forget(ctx, request)
	}
	c, err := h.sealingClient(ctx)
	if err != nil {
		return nil, err
	}
	return c.Forget(ctx, request)
}

// FinishForgetting is client.Client.FinishForgetting, signed in the same way.
func (h *Home) FinishForgetting(ctx context.Context, request client.FinishForgettingRequest) (*client.Forget, error) {
	c, err := h.sealingClient(ctx)
	if err != nil {
		return nil, err
	}
	return c.FinishForgetting(ctx, request)
}
