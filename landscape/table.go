package landscape

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"waymark/landscape/seal"
)

// Table is the shape of one kind of record, as its tags say: `db:"name"` with the options
//
//   - key: part of the primary key; the keys come first and in order
//   - move: may change by a Move; not compared when a record is inserted again
//   - first: the first insert's value stays; not compared
//   - null: the zero value, a nil slice or a nil pointer, is stored as NULL
type Table struct {
	Name    string
	Columns []Column
	Keys    int // how many of the columns are the key
	kind    reflect.Type
}

// Column is one column of a table.
type Column struct {
	Name                   string
	Key, Move, First, Null bool
	field                  []int
}

// records holds a zero record per table, parents before children.
var records = []Record{
	Run{}, Node{}, Edge{}, Source{}, Lane{}, LookupTable{}, SourceEnd{}, FoldRecord{}, Chunk{}, ChunkRowsRecord{},
	PassageRecord{}, WayRecord{}, WayStepRecord{}, ChunkWayRecord{}, WayTotalRecord{}, HashesRecord{}, RowError{},
	KeyHashes{}, RepeatsRecord{}, FieldRootsRecord{}, FeedRecord{},
	MergeKindRecord{}, MergeCodes{}, ChunkMerge{}, BatchRecord{}, MembersRecord{}, MergeRecord{}, ParentsRecord{},
	RetriedRow{}, Resumption{}, Execution{}, Effect{}, EffectEvent{}, RejectedTotal{}, ArtifactRecord{}, Action{},
	RunEvent{}, PolicyRecord{}, PolicyResult{},
	Salts{}, ChunkSeal{}, RunSeal{}, SignOff{}, Heal{}, Start{},
	Bundle{}, PipelineVersion{}, Deployment{}, Environment{}, Schedule{}, SlotRequest{}, Slot{}, SlotEvent{}, Gate{}, Limit{}, Trigger{}, Watch{}, Arrival{}, ArrivalOrder{}, ArrivalRun{},
	LogEntry{}, LogHead{}, LogHash{}, SignedHead{}, Anchored{},
	Hold{}, HoldEnd{}, Purge{}, PurgedRun{}, Deletion{}, DeletedPayload{}, ReturnedPayload{},
	Forgotten{}, ForgottenLeaf{}, Erasure{}, Erased{}, Repacked{}, Forgetting{}, Attestation{}, Event{}, OutboxHead{}, Endpoint{}, EndpointState{}, Delivery{}, DeliveryAttempt{},
	AccessToken{}, Disclosure{},
	ApprovalRule{}, ApprovalRequest{}, Approval{}, ApprovedExecution{}, Archive{}, ArchivedPayload{},
	RetentionPeriods{}, RetentionTurn{},
}

// Tables returns every table, parents before children.
func Tables() []*Table {
	tables := make([]*Table, len(records))
	for i, r := range records {
		tables[i] = TableOf(r)
	}
	return tables
}

var tableCache sync.Map // reflect.Type to *Table

// TableOf returns the table of r, with the columns that r's type has. It panics if the tags make no sense: that is a
// mistake in this package.
func TableOf(r Record) *Table {
	kind := reflect.TypeOf(r)
	if t, ok := tableCache.Load(kind); ok {
		return t.(*Table)
	}
	t := &Table{Name: r.Table(), kind: kind, Columns: columns(kind, nil)}
	for t.Keys < len(t.Columns) && t.Columns[t.Keys].Key {
		t.Keys++
	}
	if t.Keys == 0 || slices.ContainsFunc(t.Columns[t.Keys:], func(c Column) bool { return c.Key }) {
		panic(fmt.Sprintf("table %s: the key must be the first columns", t.Name))
	}
	tableCache.Store(kind, t)
	return t
}

func columns(kind reflect.Type, at []int) []Column {
	var found []Column
	for f := range kind.Fields() {
		field := append(slices.Clone(at), f.Index...)
		if f.Anonymous {
			found = append(found, columns(f.Type, field)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("db"), ",")
		c := Column{Name: name, field: field}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "key":
				c.Key = true
			case "move":
				c.Move = true
			case "first":
				c.First = true
			case "null":
				c.Null = true
			}
		}
		found = append(found, c)
	}
	return found
}

// Zero returns a record without content, of the type that t describes.
func (t *Table) Zero() Record { return reflect.Zero(t.kind).Interface().(Record) }

// AppendValues appends r's columns to dst as int64, string, []byte or nil, and returns it. Slices are r's own.
func (t *Table) AppendValues(dst []any, r Record) []any {
	v := reflect.ValueOf(r)
	for i := range t.Columns {
		dst = append(dst, t.Columns[i].value(v))
	}
	return dst
}

// AppendLine appends r as one line without a line end: the canonical form of an object that has the table as "table" and every column by its name,
// texts portable, bytes as lower-case hex digits.
func (t *Table) AppendLine(dst []byte, r Record) []byte {
	members := make([]seal.Member, 0, len(t.Columns)+1)
	for i, value := range t.AppendValues(nil, r) {
		if text, ok := value.(string); ok {
			value = PortableText(text)
		}
		members = append(members, seal.Member{Name: t.Columns[i].Name, Value: value})
	}
	return seal.AppendLine(dst, t.Name, members)
}

// ParseLine returns the record whose line that is, as AppendLine makes it. The error says why there is none.
func (t *Table) ParseLine(line []byte) (Record, error) {
	var members map[string]any
	from := json.NewDecoder(bytes.NewReader(line))
	from.UseNumber()
	if err := from.Decode(&members); err != nil {
		return nil, err
	}
	values := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		var err error
		if values[i], err = c.parse(t.kind, members[c.Name]); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	r, err := t.Record(values)
	if err == nil && !bytes.Equal(t.AppendLine(nil, r), line) {
		err = errors.New("it is not in canonical form")
	}
	return r, err
}

// parse returns the value of a column that a line has: what AppendValues gives.
func (c *Column) parse(kind reflect.Type, member any) (any, error) {
	switch member := member.(type) {
	case json.Number:
		return member.Int64()
	case string:
		if kind.FieldByIndex(c.field).Type.Kind() == reflect.Slice {
			return hex.DecodeString(member)
		}
		return textOf(member), nil
	}
	return nil, nil //nolint:nilnil // NULL; what else it may be has another canonical form
}

func (c *Column) value(record reflect.Value) any {
	v := record.FieldByIndex(c.field)
	if c.Null && v.IsZero() {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int64:
		return v.Int()
	case reflect.Bool:
		if v.Bool() {
			return int64(1)
		}
		return int64(0)
	case reflect.Pointer:
		return v.Elem().Int()
	case reflect.Slice:
		if v.IsNil() {
			return []byte{}
		}
		return v.Bytes()
	default:
		panic(fmt.Sprintf("column %s: a %s cannot be stored", c.Name, v.Type()))
	}
}

// Record returns the record whose columns AppendValues would give as values. It keeps the slices. The error wraps ErrIncomplete and
// names the column whose value is of another type.
func (t *Table) Record(values []any) (Record, error) {
	record := reflect.New(t.kind).Elem()
	for i := range t.Columns {
		if err := t.Columns[i].set(record.FieldByIndex(t.Columns[i].field), values[i]); err != nil {
			return nil, incomplete("table %s: %v", t.Name, err)
		}
	}
	return record.Interface().(Record), nil
}

func (c *Column) set(field reflect.Value, value any) error {
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		if field.Kind() == reflect.String {
			field.SetString(value)
			return nil
		}
	case []byte:
		if field.Kind() == reflect.Slice {
			if value == nil { // as database/sql may give an empty blob
				value = []byte{}
			}
			field.SetBytes(value)
			return nil
		}
	case int64:
		switch field.Kind() {
		case reflect.Int64:
			field.SetInt(value)
			return nil
		case reflect.Bool:
			field.SetBool(value != 0)
			return nil
		case reflect.Pointer:
			field.Set(reflect.ValueOf(&value))
			return nil
		}
	}
	return fmt.Errorf("column %s: a %T is stored where a %s belongs", c.Name, value, field.Type())
}

// Key returns the key of the record with these values for people, such as `01J…/orders/3`.
func (t *Table) Key(values []any) string {
	parts := make([]string, t.Keys)
	for i, v := range values[:t.Keys] {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, "/")
}

// Diverged compares a record that is stored with one that was to be inserted, both as values, and returns nil or a
// *DivergedError.
func (t *Table) Diverged(stored, wanted []any) error {
	for i, c := range t.Columns {
		if !c.Key && !c.Move && !c.First && !equal(stored[i], wanted[i]) {
			return &DivergedError{Table: t.Name, Key: t.Key(wanted), Column: c.Name}
		}
	}
	return nil
}

// equal compares two stored values. NULL is not an empty blob.
func equal(a, b any) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes && areBytes {
		return bytes.Equal(x, y)
	}
	return isBytes == areBytes && a == b
}
