package history

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"waymark/internal/strictjson"
)

// Event is one thing that happened in a run.
type Event struct {
	Seq  int64           `json:"seq"` // from 0
	At   string          `json:"at"`  // UTC, in the form of Moment
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"` // canonical JSON
	Prev string          `json:"prev"` // SHA-256 of the line before, without its line end; empty for the first
}

// Moment is the form of moments, for package time.
const Moment = "2006-01-02T15:04:05.000000Z"

// Write writes events as lines of JSON.
func Write(to io.Writer, events []Event) error {
	var c chain
	for _, e := range events {
		line, err := c.add(e)
		if err == nil {
			_, err = to.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Head returns the SHA-256 of the last line; empty for no event.
func Head(events []Event) (string, error) {
	var c chain
	if len(events) > 0 {
		last := events[len(events)-1]
		c = chain{next: last.Seq, prev: last.Prev}
		if _, err := c.add(last); err != nil {
			return "", err
		}
	}
	return c.prev, nil
}

// chain is where a history stands.
type chain struct {
	next int64
	prev string
}

// add takes the next event, and returns its line.
func (c *chain) add(e Event) ([]byte, error) {
	text, err := strictjson.Encode(e)
	line := bytes.TrimSuffix(text, []byte("\n"))
	sum := sha256.Sum256(line)
	c.next, c.prev = c.next+1, hex.EncodeToString(sum[:])
	return line, err
}

// ErrBroken says that lines are not the history that was written: one was changed, added, moved or taken away.
var ErrBroken = errors.New("the chain of events is broken")

// maxLine bounds a line of a history, in bytes: texts that people gave have 64 KiB at most.
const maxLine = 1 << 20

// Read reads lines that Write wrote. torn reports that the last line has no end: it was being written, and is left out. The error wraps
// ErrBroken, with the number of the line from 1, if the lines do not follow each other.
func Read(from io.Reader) (events []Event, torn bool, err error) {
	var c chain
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return events, len(line) > 0, nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("line %d: it has more than %d bytes: %w", len(events)+1, maxLine, ErrBroken)
		}
		if err != nil {
			return events, false, err
		}
		e, err := c.read(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return events, false, fmt.Errorf("line %d: %w: %w", len(events)+1, err, ErrBroken)
		}
		events = append(events, e)
	}
}

// read takes the next line.
func (c *chain) read(line []byte) (e Event, err error) {
	at := *c
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("it is not an event: %w", err)
	}
	again, err := c.add(e)
	switch {
	case err != nil:
		return e, err
	case !bytes.Equal(again, line):
		return e, errors.New("it is not in the one form")
	case e.Seq != at.next:
		return e, fmt.Errorf("its number is %d, and %d is next", e.Seq, at.next)
	case e.Prev != at.prev:
		return e, fmt.Errorf("prev is not the SHA-256 of line %d", at.next)
	}
	return e, nil
}
