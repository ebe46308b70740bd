package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"waymark/landscape"
)

// sendDossier sends what happened to a row, with its proof, as one file.
func sendDossier(ctx context.Context, c *call, run landscape.Run) (any, error) {
	story, err := c.story(run)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := c.server.Home.DossierOf(ctx, story, &page); err != nil {
		return nil, err
	}
	if err := c.disclose(run.ID, "dossier", story.Token); err != nil {
		return nil, err
	}
	c.attach("text/html; charset=utf-8", fmt.Sprintf("%s-%s-%d.html", run.Pipeline, story.Source.Name, story.Source.Row), "no-store")
	c.w.WriteHeader(http.StatusOK)
	_, err = c.w.Write(page.Bytes())
	return nil, err
}
