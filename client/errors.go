package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"waymark/landscape"
	"waymark/plugin"
)

// ErrorGroup is a landscape.ErrorGroup whose samples name their tokens.
type ErrorGroup struct {
	landscape.ErrorGroup
	Samples []ErrorSample `json:"samples"` // in place of the group's
}

// ErrorSample is one error of a group.
type ErrorSample struct {
	landscape.Sample
	Token string `json:"token,omitempty"` // id of the token; empty for a row as a source has it
}

// Errors returns why rows of the run with this id were refused, in groups. It is empty, not nil, if none was.
func (c *Client) Errors(ctx context.Context, run string) (named []ErrorGroup, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return nil, err
	}
	groups, err := c.log.ErrorGroups(ctx, run)
	if err != nil {
		return nil, err
	}
	named = make([]ErrorGroup, len(groups))
	for i, group := range groups {
		named[i] = ErrorGroup{ErrorGroup: group, Samples: make([]ErrorSample, len(group.Samples))}
		for k, sample := range group.Samples {
			if named[i].Samples[k], err = c.nameToken(ctx, run, sample); err != nil {
				return nil, err
			}
		}
	}
	return named, nil
}

func (c *Client) nameToken(ctx context.Context, run string, sample landscape.Sample) (ErrorSample, error) {
	id, err := c.log.TokenID(ctx, run, landscape.Token{Source: sample.Source, Lane: sample.Lane, Row: sample.Row})
	if err != nil {
		return ErrorSample{}, err
	}
	if sample.File != "" && id == fmt.Sprintf("%s:%d", sample.Source, sample.Row) {
		id = ""
	}
	return ErrorSample{sample, id}, nil
}

// RowError says why one token was refused at one node.
type RowError struct {
	ID      string `json:"error"` // TOKEN@NODE
	Token   string `json:"token"`
	Node    string `json:"node"`
	Source  string `json:"source"`
	Row     int64  `json:"row"`
	Line    int64  `json:"line"` // of its file
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	SentTo  string `json:"sent_to"`

	RetriedBy string `json:"retried_by,omitempty"` // the run that was fed the record since; empty if none was
	Forgotten string `json:"forgotten,omitempty"`  // when, by whom and why the row was forgotten; empty if it was not
}

// RowErrors returns why tokens of the run with this id were refused, one by one, by source, row, lane and node. They begin after the
// error whose ID is after, or with the first if that is empty, and are at most as many as limit says, or all if that is 0 or less. The
// error is an *Error of kind Invalid if after is no error's name.
func (c *Client) RowErrors(ctx context.Context, run, after string, limit int) (list []RowError, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return nil, err
	}
	from, err := c.parseError(ctx, run, after)
	if err != nil {
		return nil, err
	}
	heads, err := c.log.Errors(ctx, run, from, limit)
	if err != nil {
		return nil, err
	}
	list = make([]RowError, len(heads))
	var retried map[landscape.RowKey]string
	var forgotten map[landscape.RowKey]landscape.Purge
	if len(heads) > 0 {
		if retried, err = c.log.RetriedIn(ctx, run); err != nil {
			return nil, err
		}
		if forgotten, err = c.log.ForgottenRows(ctx, run); err != nil {
			return nil, err
		}
	}
	for i, e := range heads {
		token, err := c.log.TokenID(ctx, run, landscape.Token{Source: e.Source, Lane: e.Lane, Row: e.Row})
		if err != nil {
			return nil, err
		}
		row := landscape.RowKey{Run: run, Source: e.Source, Row: e.Row}
		list[i] = RowError{
			ID: token + "@" + e.Node, Token: token, Node: e.Node, Source: e.Source, Row: e.Row, Line: e.Line, Code: e.Code, Field: e.Field,
			Message: e.Message, SentTo: e.SentTo, RetriedBy: retried[row],
		}
		if order, is := forgotten[row]; is {
			list[i].Forgotten = order.Told()
		}
	}
	return list, nil
}

// parseError returns the key of the error of a run that id names, nil if id is empty. The error is an *Error of kind Invalid.
func (c *Client) parseError(ctx context.Context, run, id string) (*landscape.ErrorKey, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // nothing named is no error
	}
	name, node, ok := strings.Cut(id, "@")
	token, err := c.log.ParseToken(ctx, run, name)
	if !ok || err != nil {
		return nil, &Error{Kind: Invalid, Run: run, Err: err, Message: fmt.Sprintf("%q is no error of run %s: write TOKEN@NODE, such as orders:17@total", id, run)}
	}
	return &landscape.ErrorKey{Run: run, Source: token.Source, Row: token.Row, Lane: token.Lane, Node: node}, nil
}

// Files returns from how many files the sources of the run with this id read records.
func (c *Client) Files(ctx context.Context, run string) (count int, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return 0, err
	}
	sources, err := c.log.Sources(ctx, run)
	if err != nil {
		return 0, err
	}
	for _, source := range sources {
		var info plugin.SourceInfo
		if err := json.Unmarshal([]byte(source.Info), &info); err != nil {
			return 0, fmt.Errorf("source %s on record: %w", source.Source, err)
		}
		count += len(info.Files)
		if info.List == "" {
			continue
		}
		retried, err := c.retriedFiles(ctx, run, source.Source)
		if err != nil {
			return 0, err
		}
		count += retried
	}
	return count, nil
}

// retriedFiles counts the files from which records came that a run retries.
func (c *Client) retriedFiles(ctx context.Context, run, source string) (int, error) {
	files := map[string]bool{}
	for chunk, err := range c.log.Chunks(ctx, run, source) {
		if err != nil {
			return 0, err
		}
		files[chunk.File] = true
	}
	return len(files), nil
}
