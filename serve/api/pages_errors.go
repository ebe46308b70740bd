package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"waymark/activities"
	"waymark/audit"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/serve/ui"
)

func errorsPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	return c.errorsWith(ctx, run, ui.Errors{Run: run})
}

// editedPage is the page of refused rows, with what the document of a form would make of them.
func editedPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	var edit struct {
		Document string `json:"document"`
		Source   string `json:"source"` // of a field that gets another type, in the place of the document
		Field    string `json:"field"`
		Type     string `json:"type"`
	}
	if err := c.decode(&edit); err != nil {
		return ui.Page{}, err
	}
	if doc := documentOf(run); edit.Field != "" && doc != nil {
		text, _ := doc.Retyped(edit.Source, edit.Field, edit.Type)
		edit.Document = string(text)
	}
	if edit.Document == "" {
		return ui.Page{}, problem(http.StatusBadRequest, malformed,
			"the form has no document, and no field that the document of the run declares")
	}
	body := ui.Errors{Run: run, Document: edit.Document}
	trial, err := c.whatIf(ctx, run, client.WhatIfRequest{Document: edit.Document})
	if err := tried(&body, trial, err); err != nil {
		return ui.Page{}, err
	}
	return c.errorsWith(ctx, run, body)
}

// documentOf returns the document of a run, as far as it can be read without its parameters; nil if it has no form.
func documentOf(run landscape.Run) *pipeline.Document {
	doc, _ := pipeline.Load(run.Pipeline+".yaml", []byte(run.Document), pipeline.Environment{})
	return doc
}

// tried notes what a document would make of a run, or why that cannot be said.
func tried(body *ui.Errors, trial *audit.Trial, err error) error {
	known, ok := errors.AsType[*client.Error](err)
	if ok && (known.Kind == client.Invalid || known.Kind == client.Conflict) {
		body.Fault = known.Message
		// Who edits a document needs to know where.
		if body.Document == "" || known.Code != client.InvalidDocument {
			body.Fault = landscape.WithoutValues(body.Fault)
		}
		return nil
	}
	body.Trial = trial
	return err
}

// errorsWith is the page of refused rows, with what somebody tried.
func (c *call) errorsWith(ctx context.Context, run landscape.Run, body ui.Errors) (ui.Page, error) {
	body.Values, body.Offer = c.query.Get("values") == "true", c.token.Has(allowed[read]...)
	var err error
	if body.Values {
		if !body.Offer {
			return ui.Page{}, needs(read)
		}
		if err = c.disclose(run.ID, "errors", ""); err == nil {
			body.Groups, err = c.server.Home.Errors(ctx, run.ID)
		}
	} else {
		var page remote.Page[client.ErrorGroup]
		page, err = errorsOf(ctx, c, run)
		body.Groups = page.Items
	}
	for _, group := range body.Groups {
		body.Total += group.Count
	}
	if err == nil {
		err = c.cures(run, &body)
	}
	return ui.Page{
		Title:   "Refused rows",
		Crumbs:  crumbs(run, "refused rows"),
		Command: "waymark errors " + run.ID,
		Path:    "/v1" + c.URL.EscapedPath(),
		Body:    body,
	}, err
}

// cures adds what may be done about rows in quarantine, and what the version that is asked for would make of the run.
func (c *call) cures(run landscape.Run, body *ui.Errors) error {
	body.MayOrder = c.token.Has(allowed[order]...) && client.Complete(run.Status)
	if body.MayOrder {
		body.Again = client.NewRunID()
	}
	if !c.token.Has(allowed[look]...) || !client.Complete(run.Status) {
		return nil
	}
	body.MayDeploy = body.Offer && c.token.Has(allowed[deploy]...)
	if doc := documentOf(run); body.MayDeploy && doc != nil {
		body.Types = pipeline.FieldTypes()
		for _, group := range body.Groups {
			_, typed := doc.Retyped(group.Node, group.Field, "")
			body.Typed = append(body.Typed, typed)
		}
	}
	history, err := c.server.Home.PipelineHistory(c.Context(), run.Environment, run.Pipeline)
	if isMissing(err) {
		return nil
	}
	for _, h := range history {
		if !slices.Contains(body.Versions, h.Version) {
			body.Versions = append(body.Versions, h.Version)
		}
	}
	if err != nil {
		return err
	}
	children, err := c.server.Home.Children(c.Context(), run.ID)
	if err != nil {
		return err
	}
	body.Retries = slices.DeleteFunc(children, func(child client.Link) bool {
		return child.Link != landscape.RetryLink
	})
	if c.query.Get("version") == "" {
		return nil
	}
	if !c.token.Has(allowed[read]...) {
		return needs(read)
	}
	body.Version, _ = strconv.ParseInt(c.query.Get("version"), 10, 64)
	trial, err := whatIf(c.Context(), c, run)
	return tried(body, trial, err)
}

// retryPage retries rows, and leads to the page of the run that does it. The form has that run's id: sent twice, it
// starts one.
func retryPage(ctx context.Context, c *call, run landscape.Run) (elsewhere, error) {
	again, err := retry(ctx, c, run)
	known, ok := errors.AsType[*client.Error](err)
	if id := c.PostForm.Get("run"); ok && (known.Code == client.RunExists || known.Code == client.RunBusy) && id != "" {
		return sentBefore(c, id)
	}
	if err != nil {
		return "", err
	}
	if again.Run == "" {
		return "", problem(http.StatusConflict, client.NotRetryable,
			"no row in quarantine can be retried: "+whyLeft(again.Left))
	}
	return elsewhere(ui.RunPath(again.Run)), nil
}

// sentBefore leads to the run that an earlier sending of the same form began, if that asked for the same version.
func sentBefore(c *call, id string) (elsewhere, error) {
	first, err := c.recordOf(id)
	if isMissing(err) { // it has not begun
		return elsewhere(ui.RunPath(id)), nil
	}
	if err != nil {
		return "", err
	}
	if version := c.PostForm.Get("version"); version != strconv.FormatInt(first.Version, 10) {
		return "", problem(http.StatusConflict, keyReused, fmt.Sprintf(
			"this form was sent before with another version, and run %s began with that: "+
				"load the page of refused rows again", id))
	}
	return elsewhere(ui.RunPath(id)), nil
}

// whyLeft says why records are not retried.
func whyLeft(left []activities.LeftOut) string {
	var words []string
	for _, l := range left {
		words = append(words, l.Reason)
	}
	return cmp.Or(strings.Join(words, "; "), "there is none")
}
