package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"waymark/activities"
	"waymark/client"
	"waymark/client/remote"
)

// lines is the media type of a body that are the rows of a source.
const lines = "application/x-ndjson"

// asksFor returns which run the request asks for: as JSON, or as the query says, of rows that are the body.
func (c *call) asksFor() (asked remote.StartRequest, err error) {
	kind, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type"))
	switch {
	case kind == lines && !c.route.page():
		asked, err = c.asksWithLines()
	case len(c.query) > 0 && !c.route.page():
		err = problem(http.StatusBadRequest, badQuery, "parameters of the query belong to a body of "+lines+": write them into the JSON")
	default:
		err = c.decode(&asked)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		err = client.TooLarge("the rows of the body")
	}
	return asked, err
}

// asksWithLines returns which run is asked for with a body that are the rows of a source.
func (c *call) asksWithLines() (remote.StartRequest, error) {
	asked := remote.StartRequest{Pipeline: c.query.Get("pipeline"), Environment: c.query.Get("environment"), Why: c.query.Get("why"), Params: activities.Params{}}
	for _, pair := range c.query["param"] {
		name, value, is := strings.Cut(pair, "=")
		if _, twice := asked.Params[name]; !is || twice {
			return asked, problem(http.StatusBadRequest, badQuery, "param takes NAME=VALUE, once for each name")
		}
		asked.Params[name] = value
	}
	source := c.query.Get("source")
	if source == "" {
		return asked, problem(http.StatusBadRequest, badQuery, "source says which source of the pipeline reads the body: add ?source=NAME")
	}
	text, err := io.ReadAll(c.Body)
	if err != nil {
		return asked, unread(err)
	}
	rows, err := client.ParseRows(text)
	asked.Rows = map[string][]json.RawMessage{source: rows}
	return asked, err
}
