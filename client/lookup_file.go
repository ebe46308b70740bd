package client

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"waymark/landscape"
	"waymark/plugin"
	"waymark/plugin/webhook"
)

// byFile finds the runs that read a file or a delivery: those on whose lists a trigger put it, and the newest ones of which a source has a file of this name.
func (l *lookup) byFile(ctx context.Context) error {
	if err := l.onLists(ctx); err != nil {
		return err
	}
	for _, run := range l.runs {
		sources, err := l.log.Sources(ctx, run.ID)
		if err != nil {
			return err
		}
		for _, source := range sources {
			var pin plugin.SourceInfo
			_ = json.Unmarshal([]byte(source.Info), &pin) // of a barrier there is none
			for _, file := range pin.Files {
				if isNamed(file.Path, l.Word) {
					l.add(run, Found{Kind: FoundSource}, "%s, which source %s reads", file.Path, source.Source)
				}
			}
		}
	}
	return nil
}

// onLists finds the runs on whose lists a trigger put what the word names whole.
func (l *lookup) onLists(ctx context.Context) error {
	for _, item := range []string{l.Word, webhook.Scheme + l.Word} {
		readers, err := l.log.ReadersOfItem(ctx, item)
		if err != nil {
			return err
		}
		for _, reader := range readers {
			run, err := l.log.Run(ctx, reader.Run)
			if errors.Is(err, landscape.ErrNotFound) {
				continue // it has not begun
			}
			if err != nil {
				return err
			}
			if l.sees(run.RunHead) && (l.Run == "" || run.ID == l.runs[0].ID) {
				l.add(run.RunHead, Found{Kind: FoundSource}, "%s, which trigger %s brought", item, reader.Trigger)
			}
		}
	}
	return nil
}

// isNamed reports whether a word is the path of a file, or the end of that.
func isNamed(path, word string) bool {
	return strings.HasSuffix("/"+filepath.ToSlash(path), "/"+filepath.ToSlash(word))
}
