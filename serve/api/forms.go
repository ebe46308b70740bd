package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"waymark/serve/ui"
)

// parseForm reads the fields of a form that was sent, into PostForm.
func (c *call) parseForm() error {
	err := c.ParseForm()
	if _, known := problemOf(err); err == nil || known || errors.Is(err, os.ErrDeadlineExceeded) {
		return unread(err)
	}
	return problem(http.StatusBadRequest, malformed, "the form cannot be read")
}

// paramField begins the name of a field with the value of a run's parameter.
const paramField = "param."

// form reads the fields of a form that was sent into what a body of JSON is read into. It skips the field named confirm, which confirmed reads, and
// parameters of a run to which nobody gave a value.
func (c *call) form(v any) error {
	if err := c.parseForm(); err != nil {
		return err
	}
	members, params := map[string]any{}, map[string]string{}
	for name, values := range c.PostForm {
		param, isParam := strings.CutPrefix(name, paramField)
		switch {
		case name == "confirm":
		case len(values) != 1:
			return problem(http.StatusBadRequest, malformed, fmt.Sprintf("the field %.64q is there twice", name))
		case isParam && values[0] != "":
			params[param], members["params"] = values[0], params
		case isParam:
		case name == "version":
			version, err := strconv.ParseInt(values[0], 10, 64)
			if err != nil {
				return problem(http.StatusBadRequest, malformed, fmt.Sprintf("version %.64q is no whole number", values[0]))
			}
			members[name] = version
		case name == "document": // browsers send it with other line ends than files have
			members[name] = strings.ReplaceAll(values[0], "\r\n", "\n")
		case values[0] == "true" || values[0] == "false":
			members[name] = values[0] == "true"
		default:
			members[name] = strings.TrimSpace(values[0])
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return problem(http.StatusBadRequest, malformed, "the form has other fields than this order takes")
	}
	return nil
}

// then leads to a page after an order.
func then(order func(*call) (any, error), to func(*call) string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		if _, err := order(c); err != nil {
			return nil, err
		}
		return elsewhere(to(c)), nil
	}
}

// runPath is the address of the page of the run that a form is about.
func runPath(c *call) string { return ui.RunPath(c.PathValue("run")) }

func accessPath(*call) string { return "/access" }

// confirmed lets nobody cancel a run for ever who did not write the name of its pipeline.
func confirmed(cancel func(*call) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		if err := c.parseForm(); err != nil {
			return nil, err
		}
		if c.PostFormValue("final") == "true" {
			run, err := c.record()
			if err != nil {
				return nil, err
			}
			if c.PostFormValue("confirm") != run.Pipeline {
				return nil, problem(http.StatusBadRequest, malformed, "nothing was done: to cancel a run for ever, write the name of its pipeline, "+run.Pipeline)
			}
		}
		return cancel(c)
	}
}
