package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"waymark/client"
)

// readRows reads the rows that come with the request for a run: words are SOURCE=FILE, or SOURCE=- for standard input. It returns nil if there are none.
func (a *app) readRows(words []string) (map[string][]json.RawMessage, error) {
	files, err := parsePairs("--rows", "SOURCE=FILE", words)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	rows, input := map[string][]json.RawMessage{}, ""
	for source, file := range files {
		if file == "-" && input != "" {
			return nil, wrongUsef("--rows: the sources %s and %s cannot both read standard input: give one of them a file", min(input, source), max(input, source))
		}
		if file == "-" {
			input = source
		}
		text, err := a.readRowsFile(file)
		if err == nil {
			rows[source], err = client.ParseRows(text)
		}
		if err != nil {
			return nil, wrongUse(fmt.Errorf("--rows %s=%s: %w", source, file, err))
		}
	}
	return rows, nil
}

// readRowsFile reads a file, or standard input if it is -, unless it has more than rows may.
func (a *app) readRowsFile(file string) ([]byte, error) {
	from, err := a.openInput(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	const most = client.MostRowBytes + 1<<20 // with the white space between rows
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && len(text) > most {
		return nil, client.TooLarge("the rows of the file")
	}
	return text, err
}

// openInput opens a file, or standard input if it is -. The caller closes it.
func (a *app) openInput(file string) (io.ReadCloser, error) {
	if file == "-" {
		a.tellInput()
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(file)
}
