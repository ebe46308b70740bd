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
	return nil, c.sendTaken(fmt.Sprintf("%s-%s-%d.html", run.Pipeline, story.Source.Name, story.Source.Row), page.Bytes())
}

// sendReport sends what happened in a run, with its proof, as one file.
func sendReport(ctx context.Context, c *call, run landscape.Run) (any, error) {
	var page bytes.Buffer
	if err := c.server.Home.WriteReport(ctx, run.ID, &page); err != nil {
		return nil, err
	}
	if err := c.disclose(run.ID, "report", ""); err != nil {
		return nil, err
	}
	return nil, c.sendTaken(fmt.Sprintf("%s-%s.html", run.Pipeline, run.ID), page.Bytes())
}

// sendTaken sends a page of HTML as a file to take along.
func (c *call) sendTaken(name string, page []byte) error {
	c.attach("text/html; charset=utf-8", name, "no-store")
	c.w.WriteHeader(http.StatusOK)
	_, err := c.w.Write(page)
	return err
}
