package plugintest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waymark/plugin"
)

// MemoryTable is a table in memory with one unique column: rows are lines of JSON, and a row whose value is there already is rejected.
// It keeps a ledger of parts, as a database would. It is safe for concurrent use, and lives on when a process ends.
type MemoryTable struct {
	Name string
	Key  string // the unique column; a row without it is rejected as well

	// InOrder lets every part wait for the one before it, so that it does not depend on chance which row is rejected.
	InOrder bool

	// OnWrite, if not nil, decides whether a transaction is kept, and the error that its caller sees. It must be set before the
	// first use.
	OnWrite func() (keep bool, err error)

	mu        sync.Mutex
	lines     []string
	known     map[string]bool // values of the key
	ledger    map[ledgerKey]ledgerEntry
	published map[string]plugin.Artifact // by run
}

type ledgerKey struct {
	run  string
	part int64
}

type ledgerEntry struct {
	part    plugin.Part
	refused []plugin.RejectedRow
}

// Lines returns the rows that the table holds, in the order in which they came.
func (t *MemoryTable) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// Clear makes the table empty, without a ledger.
func (t *MemoryTable) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines, t.known, t.ledger, t.published = nil, nil, nil, nil
}

// Sink returns a sink that writes to the table what encodes writes, which must be lines of JSON without a header.
func (t *MemoryTable) Sink(encodes plugin.Sink) plugin.Sink { return tableSink{encodes, t} }

type tableSink struct {
	plugin.Sink
	table *MemoryTable
}

func (s tableSink) Guarantee() plugin.Guarantee { return plugin.Transactional }

func (s tableSink) Exclusive() string { return "" }

func (s tableSink) Location() string { return s.table.location() }

func (s tableSink) Target(run string) plugin.Target { return tableTarget{s.table, run} }

func (t *MemoryTable) location() string { return "table://" + t.Name }

type tableTarget struct {
	table *MemoryTable
	run   string
}

var _ plugin.RowRejecter = tableTarget{}

// Open has nothing to make ready.
func (t tableTarget) Open(context.Context, []byte) (bool, error) { return false, nil }

// Write inserts the rows one after the other, in one transaction with the ledger.
func (t tableTarget) Write(ctx context.Context, part plugin.Part, data []byte) error {
	for t.table.InOrder && !t.table.holds(ledgerKey{t.run, part.Ordinal - 1}) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	if _, there, err := t.entry(part); err != nil || there {
		return err
	}
	keep, err := true, error(nil)
	if t.table.OnWrite != nil {
		keep, err = t.table.OnWrite()
	}
	if keep {
		err = errors.Join(err, t.insert(part, data))
	}
	return err
}

// holds reports whether the part is in the table, or there is none with such a number.
func (t *MemoryTable) holds(part ledgerKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, there := t.ledger[part]
	return there || part.part < 0
}

func (t tableTarget) insert(part plugin.Part, data []byte) error {
	entry := ledgerEntry{part: part}
	row := int64(0)
	for line := range bytes.Lines(data) {
		rejected, err := t.table.insert(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return err
		}
		if rejected != nil {
			entry.refused = append(entry.refused, plugin.RejectedRow{Row: row, Rejection: *rejected})
		}
		row++
	}
	if row != part.Rows {
		return fmt.Errorf("part %d has %d rows, its data %d", part.Ordinal, part.Rows, row)
	}
	if t.table.ledger == nil {
		t.table.ledger = map[ledgerKey]ledgerEntry{}
	}
	t.table.ledger[ledgerKey{t.run, part.Ordinal}] = entry
	return nil
}

// insert inserts one row, or says why it is rejected.
func (t *MemoryTable) insert(line []byte) (*plugin.Rejection, error) {
	var row map[string]any
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, err
	}
	value, ok := row[t.Key]
	if !ok || value == nil {
		return &plugin.Rejection{Code: "SINK_NOT_NULL", Field: t.Key, Message: "the column must have a value"}, nil
	}
	key := fmt.Sprint(value)
	if t.known[key] {
		return &plugin.Rejection{Code: "SINK_UNIQUE", Field: t.Key, Message: fmt.Sprintf("a row with %q is there", key)}, nil
	}
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.known[key] = true
	t.lines = append(t.lines, string(line))
	return nil, nil //nolint:nilnil // no rejection is no error
}

// entry returns what the ledger says of a part; false if it says nothing.
func (t tableTarget) entry(part plugin.Part) (ledgerEntry, bool, error) {
	entry, there := t.table.ledger[ledgerKey{t.run, part.Ordinal}]
	if there && entry.part != part {
		return entry, true, &plugin.TargetError{Code: "TARGET_CHANGED", Target: t.table.location(), Message: fmt.Sprintf("part %d is another", part.Ordinal)}
	}
	return entry, there, nil
}

// Check asks the ledger.
func (t tableTarget) Check(_ context.Context, part plugin.Part) (plugin.Applied, error) {
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	_, there, err := t.entry(part)
	if there {
		return plugin.Exactly, err
	}
	return plugin.NotApplied, err
}

// Rejected asks the ledger.
func (t tableTarget) Rejected(_ context.Context, part plugin.Part) ([]plugin.RejectedRow, error) {
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	entry, there, err := t.entry(part)
	if err == nil && !there {
		err = fmt.Errorf("%s does not hold part %d", t.table.location(), part.Ordinal)
	}
	return entry.refused, err
}

// Publish notes that the output is complete.
func (t tableTarget) Publish(_ context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	a, err := t.artifact(header, parts)
	if err != nil {
		return a, err
	}
	if t.table.published == nil {
		t.table.published = map[string]plugin.Artifact{}
	}
	t.table.published[t.run] = a
	return a, nil
}

// Verify holds the ledger against the parts.
func (t tableTarget) Verify(_ context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	a, err := t.artifact(header, parts)
	if err == nil && t.table.published[t.run] != a {
		err = &plugin.TargetError{Code: "TARGET_CHANGED", Target: t.table.location(), Message: "it is not published"}
	}
	return a, err
}

// artifact describes what the ledger says of the parts, which must be all of them.
func (t tableTarget) artifact(header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	a := plugin.Artifact{Path: t.table.location(), Bytes: int64(len(header))}
	digest := sha256.New()
	for _, part := range parts {
		entry, there, err := t.entry(part)
		if err == nil && !there {
			err = &plugin.TargetError{Code: "TARGET_CHANGED", Target: t.table.location(), Message: fmt.Sprintf("part %d is not there", part.Ordinal)}
		}
		if err != nil {
			return a, err
		}
		digest.Write(part.SHA256[:])
		a.Bytes += part.Bytes
		a.Rows += part.Rows - int64(len(entry.refused))
	}
	a.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return a, nil
}

// Discard leaves what was written: a table has no staging.
func (t tableTarget) Discard(context.Context) error { return nil }
