package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"waymark/landscape/history"
)

// derive takes a line of a table from which events may follow. What is wrong with it is for historyFollows to say.
func (v *verification) derive(table string, line []byte) {
	if v.badLine == nil && history.Tells(table) {
		v.badLine = v.events.Add(table, line)
	}
}

// wholeLine cuts lines for a bufio.Scanner: each must have its end.
func wholeLine(data []byte, last bool) (taken int, line []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if last && len(data) > 0 {
		err = errors.New("the last line of a table has no end")
	}
	return 0, nil, err
}

// historyFollows compares events and snapshot with what follows from the records.
func (v *verification) historyFollows() error {
	if v.badLine != nil {
		return v.badLine
	}
	events, err := v.events.Events()
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := history.Write(sum, events); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != v.digests[eventsName] {
		return fmt.Errorf("%s: the records give other events", eventsName)
	}
	snapshot, err := history.Fold(events)
	if err != nil {
		return err
	}
	text, err := snapshot.Encode()
	if err == nil && digestOf(text) != v.digests[snapshotName] {
		err = fmt.Errorf("%s: the events add up to another", snapshotName)
	}
	return err
}
