package client

import (
	"context"
	"encoding/json"
	"fmt"

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
func (c *Client) Errors(ctx context.Context, run string) ([]ErrorGroup, error) {
	groups, err := c.log.ErrorGroups(ctx, run)
	if err != nil {
		return nil, err
	}
	named := make([]ErrorGroup, len(groups))
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

// Files returns from how many files the sources of the run with this id read records.
func (c *Client) Files(ctx context.Context, run string) (int, error) {
	sources, err := c.log.Sources(ctx, run)
	if err != nil {
		return 0, err
	}
	count := 0
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
