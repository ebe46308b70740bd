package local

import (
	"context"
	"io"

	"waymark/audit"
	"waymark/audit/dossier"
)

// Dossier writes what happened to the row that a question means, with its values and its proof, as one file in HTML. Nothing is written if the error is one of Explain or Prove; after another one the file is not whole.
func (h *Home) Dossier(ctx context.Context, q audit.Question, to io.Writer) error {
	story, err := h.Explain(ctx, q)
	if err != nil {
		return err
	}
	return h.DossierOf(ctx, story, to)
}

// DossierOf is Dossier for a story that Explain told.
func (h *Home) DossierOf(ctx context.Context, story *audit.Explanation, to io.Writer) error {
	proof, err := h.Prove(ctx, story.Run, story.Source.Name, story.Source.Row, nil)
	if err != nil {
		return err
	}
	return dossier.Write(to, story, proof)
}

// WriteReport writes the report of a run that has ended, with its proof, as one file in HTML. word is all that Find takes. Errors about the run are those of Export and Prove.
func (h *Home) WriteReport(ctx context.Context, word string, to io.Writer) error {
	run, err := h.finished(ctx, word)
	if err != nil {
		return err
	}
	return unproven(ctx, run.ID, dossier.WriteRun(ctx, to, h.stores.Log.Reader, run))
}
