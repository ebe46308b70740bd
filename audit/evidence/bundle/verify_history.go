package bundle

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/landscape/history"
)

// derive takes the lines of a table from which events follow. What is wrong with them is for historyFollows to say.
func (v *verification) derive(name string, lines io.Reader) {
	table, ok := strings.CutPrefix(strings.TrimSuffix(name, recordSuffix), recordFolder)
	if !ok || !history.Tells(table) {
		return
	}
	in := bufio.NewScanner(lines)
	in.Buffer(make([]byte, 0, 1<<16), maxRecord)
	in.Split(wholeLine)
	for v.badLine == nil && in.Scan() {
		v.badLine = v.events.Add(table, in.Bytes())
	}
	v.badLine = cmp.Or(v.badLine, in.Err())
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
