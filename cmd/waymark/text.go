package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"waymark/client"
	"waymark/internal/text"
)

// print writes for people, or v as one line of JSON if that is asked for. Nothing in either can move the cursor, or make
// text look other than it is.
func (a *app) print(v any, people func(w io.Writer) error) error {
	return printList(a, []any{v}, people)
}

// printList is print for a list: one line of JSON for each item.
func printList[T any](a *app, items []T, people func(w io.Writer) error) error {
	var out bytes.Buffer
	write := people
	if a.json {
		write = func(w io.Writer) error { return encodeLines(w, items) }
	}
	if err := write(&out); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, text.Visible(out.String()))
	return err
}

func encodeLines[T any](w io.Writer, items []T) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, item := range items {
		if err := encoder.Encode(item); err != nil {
			return err
		}
	}
	return nil
}

// endWith ends the program with the code after a result was printed, or with the error that kept it from being printed.
func endWith(code int, printed error) error {
	if printed != nil || code == exitDone {
		return printed
	}
	return exitError{code: code}
}

// note tells something on stderr that a person at the terminal may want to know.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, "waymark: %s\n", text.Visible(fmt.Sprintf(format, args...)))
	}
}

// moment shows a time for people; nothing for a moment that has not come.
func moment(at client.Time) string {
	if !at.Known() {
		return "-"
	}
	return at.Time().Format("2006-01-02 15:04:05Z")
}
