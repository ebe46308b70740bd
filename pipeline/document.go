// Package pipeline is the vocabulary of Waymark: the pipeline document as typed values, the loader that turns strict YAML
// into them with every problem at once, and the stored words for outcomes and states.
package pipeline

import (
	"cmp"

	"waymark/pipeline/row"
)

// Pipeline is one document: sources, steps in order, sinks. Names of sources, steps and sinks share one name space.
type Pipeline struct {
	Name        string      `yaml:"name" text:"name"`      // a to z, 0 to 9, _ and -
	Description string      `yaml:"description,omitempty"` // what the pipeline is for, for people
	Params      Map[Param]  `yaml:"params,omitempty"`      // parameters that make one document serve many runs
	Chunk       Chunk       `yaml:"chunk,omitempty"`       // how many rows travel together
	Sources     Map[Source] `yaml:"sources"`               // where rows come from, by name
	Steps       []Step      `yaml:"steps,omitempty"`       // what happens to the rows, in order
	Sinks       Map[Sink]   `yaml:"sinks"`                 // where rows go, by name

	Schedules Map[Schedule] `yaml:"schedules,omitempty" json:",omitempty"` // when runs are due, and which slot of time each is about, by name

	Triggers Map[ArrivalTrigger] `yaml:"triggers,omitempty" json:",omitempty"` // what begins runs of the deployed pipeline as files arrive, by name

	Concurrency *Concurrency `yaml:"concurrency,omitempty" json:",omitempty"`            // how many runs there are at once, and what becomes of one more
	Pools       Map[int]     `yaml:"pools,omitempty" json:",omitempty" range:"1 100000"` // how many places of pools that pipelines share each run holds, by the pool's name

	Policies []RunPolicy `yaml:"policies,omitempty" json:",omitempty"` // what must be true of a whole run, checked before its first output is published

	Require *Requirements `yaml:"require,omitempty" json:",omitempty"` // what people must have done before the first output is published

	Attest *Attest `yaml:"attest,omitempty" json:",omitempty"` // how often the outputs of a complete run are read again, to see whether they are still what it wrote

	Retention *Retention `yaml:"retention,omitempty" json:",omitempty"` // how long what is deleted of a run after a time is kept at least: longer than the server's settings say, never shorter

	Totals Map[string] `yaml:"totals,omitempty" json:",omitempty" text:"expr"` // name → CEL expression over a row that gives an int or a decimal, such as row.amount: it is added up wherever rows go
}

// RunPolicy is something that must be true of a whole run.
type RunPolicy struct {
	Name   string `yaml:"name" text:"name"`                         // for people and commands, such as few refused
	Assert string `yaml:"assert" text:"expr"`                       // CEL expression over the counts of the run that gives true or false, such as run.refused * 100 < run.read
	Gate   string `yaml:"gate,omitempty" words:"publish warn seal"` // what happens if it is not true: publish (default): no output is published, and the run is blocked; warn: the run continues, and says so; seal: it is recorded with the run, and nothing else
}

// InForce returns the gate of the policy, given or not.
func (p RunPolicy) InForce() string { return cmp.Or(p.Gate, GatePublish) }

// Requirements are what people must have done before a run publishes its first output.
type Requirements struct {
	SignOff []string `yaml:"sign_off"` // the roles in which the run must be signed off, such as [reviewer, owner], each by another person
}

// Attest says when the outputs of a complete run are read again.
type Attest struct {
	Every Duration `yaml:"every" range:"1s 365d"` // how long after the run ended, and after they were read again last
	For   Duration `yaml:"for" range:"1s 36500d"` // how long after the run ended they are not read again any more
}

// Retention says how long what is deleted of a run after a time is kept at least, by its class. What is not given is as
// long as the settings of who deletes it say.
type Retention struct {
	Source    Duration `yaml:"source,omitempty" range:"1s 36500d"`    // records as they were read, after the run ended
	Derived   Duration `yaml:"derived,omitempty" range:"1s 36500d"`   // records and states of barriers, after the run ended
	Debugging Duration `yaml:"debugging,omitempty" range:"1s 36500d"` // events about the run, after they happened, and what it staged, if it can no longer be resumed
}

// Named is one entry of a Map.
type Named[T any] struct {
	Name  string
	Value T
}

// Map is a YAML mapping whose order is kept.
type Map[T any] []Named[T]

// Get returns the entry with this name, and false if there is none.
func (m Map[T]) Get(name string) (T, bool) {
	for _, entry := range m {
		if entry.Name == name {
			return entry.Value, true
		}
	}
	var none T
	return none, false
}

// names returns the names in order.
func (m Map[T]) names() []string {
	names := make([]string, len(m))
	for i, entry := range m {
		names[i] = entry.Name
	}
	return names
}

// Param declares a parameter: `${param:NAME}` in the document's texts, `param.NAME` in expressions.
type Param struct {
	Type        string  `yaml:"type" words:"string int float bool date timestamp decimal"` // the type of its value
	Default     *string `yaml:"default,omitempty" text:"slot"`                             // the value if the run gives none, in which ${slot:date} and others refer to the slot that the run is about; without a default the run must give one
	Description string  `yaml:"description,omitempty"`                                     // what the parameter is for, for people
}

// Chunk limits how many rows travel together. A zero field takes the default.
type Chunk struct {
	Rows  int      `yaml:"rows,omitempty" range:"1 1000000"`     // 1 to 1,000,000
	Bytes ByteSize `yaml:"bytes,omitempty" range:"64KiB 256MiB"` // 64 KiB to 256 MiB of source bytes
}

// ByteSize is a number of bytes, written as 4096, 64KiB, 8MiB or 1GiB.
type ByteSize int64

// Source is where rows come from. Exactly one of the format fields is set.
type Source struct {
	CSV       *CSVSource      `yaml:"csv,omitempty" one:"format"`                        // delimited text
	JSONL     *JSONLSource    `yaml:"jsonl,omitempty" one:"format"`                      // one JSON object per line
	JSON      *JSONSource     `yaml:"json,omitempty" one:"format" json:",omitempty"`     // the elements of an array in a JSON document
	Postgres  *PostgresSource `yaml:"postgres,omitempty" one:"format" json:",omitempty"` // the rows of a table or a query of a Postgres database
	Parquet   *ParquetSource  `yaml:"parquet,omitempty" one:"format" json:",omitempty"`  // the rows of Parquet files
	Webhook   *WebhookSource  `yaml:"webhook,omitempty" one:"format" json:",omitempty"`  // what other services posted to an http trigger, or sent with the request for a run
	Key       []string        `yaml:"key,omitempty" text:"name"`                         // business key: fields by which explain finds rows
	Schema    Schema          `yaml:"schema,omitempty"`                                  // what the rows hold
	OnInvalid string          `yaml:"on_invalid,omitempty" text:"name"`                  // where refused records go: quarantine (default), fail, discard, or a sink
}

// Files are the files of a source: one path or glob, relative to the document's folder, or what is not on this host.
type Files struct {
	Path        string `yaml:"path" text:"path"`                                                        // a path or a glob, relative to the document's folder; s3://BUCKET/KEY, also with a glob; an http:// or https:// address; - for standard input
	Compression string `yaml:"compression,omitempty" words:"auto none gzip zstd bzip2 zip"`             // default auto: by the extension .gz, .zst, .bz2 or .zip; a zip archive holds one file
	Encoding    string `yaml:"encoding,omitempty" words:"utf-8 utf-16le utf-16be latin-1 windows-1252"` // default utf-8
	AllowEmpty  bool   `yaml:"allow_empty,omitempty"`                                                   // an empty file is zero rows and not an error
	S3          *S3    `yaml:"s3,omitempty" json:",omitempty"`                                          // of a path that begins with s3://: how to reach the bucket
	HTTP        *HTTP  `yaml:"http,omitempty" json:",omitempty"`                                        // of a path that begins with http:// or https://: what requests carry
}

// CSVSource reads delimited text.
type CSVSource struct {
	Files             `yaml:",inline"`
	Delimiter         string   `yaml:"delimiter,omitempty"`                            // one character, default ","; "tab" for a tab
	Quote             string   `yaml:"quote,omitempty"`                                // one character, default `"`; "none" for no quoting
	Header            string   `yaml:"header,omitempty" words:"normalized exact none"` // default normalized: lower case, with _ for anything but letters and digits
	Columns           []string `yaml:"columns,omitempty" text:"name"`                  // with header: none, the names of the columns
	SkipLines         int      `yaml:"skip_lines,omitempty" range:"0 1000"`            // physical lines before the header that are not read, 0 to 1,000
	Comment           string   `yaml:"comment,omitempty"`                              // lines that begin with this character are counted, not read
	Newline           string   `yaml:"newline,omitempty" words:"auto cr"`              // default auto: LF and CRLF
	TrimSpace         bool     `yaml:"trim_space,omitempty"`                           // spaces around unquoted cells are dropped
	EmptyIsNull       *bool    `yaml:"empty_is_null,omitempty"`                        // an unquoted empty cell is null (default true); a quoted one is always ""
	TrailingDelimiter bool     `yaml:"trailing_delimiter,omitempty"`                   // every record ends with one extra delimiter
}

// JSONLSource reads one JSON object per line.
type JSONLSource struct {
	Files `yaml:",inline"`
}

// JSONSource reads the elements of one array in a JSON document.
type JSONSource struct {
	Files   `yaml:",inline"`
	Records string `yaml:"records,omitempty"` // where the array is: the keys that lead to it, with dots between them, as in data.items; default: the document is the array
}

// Schema says what the rows of a source hold.
type Schema struct {
	Mode   string     `yaml:"mode,omitempty" words:"fixed flexible observed"` // default fixed if fields are given, else observed
	Fields Map[Field] `yaml:"fields,omitempty"`                               // in the order in which rows carry them: a type such as int, int? if optional, or a mapping
}

// Field is one declared field. In YAML either a type word with "?" for optional ("int?") or the full mapping.
type Field struct {
	Type     string   `yaml:"type" words:"string int float bool date timestamp decimal json"` // the type of its values
	Optional bool     `yaml:"optional,omitempty"`                                             // the value may be null or missing
	From     string   `yaml:"from,omitempty"`                                                 // the column or key in the source, if it has another name
	Min      *string  `yaml:"min,omitempty" text:"exact"`                                     // the least value; of a string the least length in characters
	Max      *string  `yaml:"max,omitempty" text:"exact"`                                     // the greatest value; of a string the greatest length in characters
	Enum     []string `yaml:"enum,omitempty" text:"exact"`                                    // the values that are allowed
	Pattern  string   `yaml:"pattern,omitempty"`                                              // RE2; the whole text must match
	Unique   bool     `yaml:"unique,omitempty"`                                               // no two rows of the run have the same value; the first in source order stays
}

// Kind returns the kind of the field's values. It is meaningful once the document is loaded without problems.
func (f Field) Kind() row.Kind { return kindWords[f.Type] }

var kindWords = map[string]row.Kind{
	"string": row.String, "int": row.Int, "float": row.Float, "bool": row.Bool, "date": row.Date,
	"timestamp": row.Timestamp, "decimal": row.Decimal, "json": row.JSON,
}

// Step is one node between sources and sinks. Exactly one of the operation fields is set.
type Step struct {
	Name        string       `yaml:"name" text:"name"`                                                                         // a to z, 0 to 9, _ and -
	From        Names        `yaml:"from,omitempty" text:"name"`                                                               // whose rows arrive here: sources, steps, branches; default: the step before, and for the first step all sources
	Set         Map[string]  `yaml:"set,omitempty" text:"expr" one:"operation"`                                                // field → CEL expression for its value
	Rename      Map[string]  `yaml:"rename,omitempty" text:"name" one:"operation"`                                             // old name → new name
	Select      []string     `yaml:"select,omitempty" text:"name" one:"operation"`                                             // the fields to keep, in this order
	Drop        []string     `yaml:"drop,omitempty" text:"name" one:"operation"`                                               // the fields to drop
	Cast        Map[string]  `yaml:"cast,omitempty" words:"string int float bool date timestamp decimal json" one:"operation"` // field → type
	Filter      string       `yaml:"filter,omitempty" text:"expr" one:"operation"`                                             // CEL expression: true keeps the row
	Sample      *Sample      `yaml:"sample,omitempty" one:"operation"`                                                         // keeps a share of the rows, always the same ones
	Gate        string       `yaml:"gate,omitempty" text:"expr" one:"operation"`                                               // CEL expression, bool or string: its value is the label by which routes go
	Fork        []string     `yaml:"fork,omitempty" text:"name" one:"operation"`                                               // branches, each of which gets every row
	Coalesce    Map[string]  `yaml:"coalesce,omitempty" text:"name" one:"operation"`                                           // branch → the node whose rows come by it, or the branch itself; the branches of a row become one row again
	Aggregate   *Aggregate   `yaml:"aggregate,omitempty" one:"operation"`                                                      // many rows become one
	Sort        *Sort        `yaml:"sort,omitempty" one:"operation"`                                                           // the rows of a batch in order, or the first of them
	Expand      *Expand      `yaml:"expand,omitempty" one:"operation"`                                                         // one row becomes many, one for each element of a list
	Deduplicate *Deduplicate `yaml:"deduplicate,omitempty" one:"operation"`                                                    // of the rows with one key one stays
	Lookup      *Lookup      `yaml:"lookup,omitempty" one:"operation"`                                                         // adds fields from a small table
	Routes      Map[string]  `yaml:"routes,omitempty" text:"name"`                                                             // of a gate: label → sink, later step, continue or discard
	Policy      Policy       `yaml:"policy,omitempty"`                                                                         // of a coalesce: when branches become one row: require_all (default), best_effort, first, or {quorum: n}
	Merge       Merge        `yaml:"merge,omitempty"`                                                                          // of a coalesce: how: union (default), nested, or {select: branch}
	Collision   string       `yaml:"collision,omitempty" words:"last first fail"`                                              // of a union: whose value a field has that branches disagree on; default last
	Timeout     Duration     `yaml:"timeout,omitempty" range:"1ms 365d"`                                                       // of a coalesce: how long it waits for branches after the first
	Trigger     *Trigger     `yaml:"trigger,omitempty"`                                                                        // of an aggregate or a sort: what ends a batch before the end of the sources does
	OnError     string       `yaml:"on_error,omitempty" text:"name"`                                                           // where refused rows go: quarantine (default), fail, discard, or a sink
}

// Names is a list of names that may be written as one text.
type Names []string

// Policy says when a coalesce makes one row of a row's branches. In YAML a word, or {quorum: n}.
type Policy struct {
	Word   string // RequireAll, BestEffort, First or Quorum; "" is RequireAll
	Quorum int    `yaml:"quorum" range:"1 10000"` // of Quorum: how many branches are enough, at least 1
}

// Merge says how a coalesce makes one row of several. In YAML a word, or {select: branch}.
type Merge struct {
	Word   string // Union, Nested or SelectBranch; "" is Union
	Select string `yaml:"select" text:"name"` // of SelectBranch: the branch
}

// Aggregate makes one row of the rows of a batch. Each group has batches of its own.
type Aggregate struct {
	GroupBy    []string    `yaml:"group_by,omitempty" text:"name"`               // fields whose values make a group; default: all rows are one group
	Compute    Map[string] `yaml:"compute" text:"expr"`                          // field → CEL expression with aggregate functions, such as sum(row.cost)
	Mode       string      `yaml:"mode,omitempty" words:"transform passthrough"` // transform (default): one row per batch; passthrough: every row, with the computed fields
	ExpectRows int         `yaml:"expect_rows,omitempty" range:"1 1000000"`      // how many rows a batch must have; a batch with another number is refused
}

// Trigger ends batches. Whichever condition is met first ends a batch; the end of the sources always does.
type Trigger struct {
	Rows  int      `yaml:"rows,omitempty" range:"1 1000000"`                    // the batch has this many rows
	Over  string   `yaml:"over,omitempty" words:"group step" json:",omitempty"` // what rows counts: those of the batch of each group (default), or of all open batches of the step, which then end together
	After Duration `yaml:"after,omitempty" range:"1ms 365d"`                    // this time has passed since its first row
	When  string   `yaml:"when,omitempty" text:"expr"`                          // CEL expression over batch.rows and the computed fields, as in batch.n > 100
}

// Sort puts the rows of a batch in order.
type Sort struct {
	By      Map[string] `yaml:"by" words:"asc desc"`             // field → asc or desc, the most important first
	Top     int         `yaml:"top,omitempty" range:"1 1000000"` // how many rows of each batch go on; default all
	GroupBy []string    `yaml:"group_by,omitempty" text:"name"`  // fields whose values make a group with batches of its own
}

// Expand makes one row for each element of a list.
type Expand struct {
	Field string `yaml:"field" text:"name"`            // a json field that holds a list, or a string field with split
	As    string `yaml:"as,omitempty" text:"name"`     // the field for the element; default: the field itself
	Split string `yaml:"split,omitempty" text:"exact"` // what separates the elements in a text
	Index string `yaml:"index,omitempty" text:"name"`  // a field for the element's number, from 1
}

// Deduplicate keeps one of the rows that have the same values in all fields of the key, over the whole run.
type Deduplicate struct {
	Key  []string `yaml:"key" text:"name"`                   // fields; null is a value like others
	Keep string   `yaml:"keep,omitempty" words:"first last"` // which row stays: first (default) or last
}

// Lookup adds fields of the row of a table that has the key. Exactly one of the format fields is set.
type Lookup struct {
	CSV     *CSVSource   `yaml:"csv,omitempty" one:"format"`            // delimited text
	JSONL   *JSONLSource `yaml:"jsonl,omitempty" one:"format"`          // one JSON object per line
	Schema  Schema       `yaml:"schema,omitempty"`                      // what the rows of the table hold
	On      Map[string]  `yaml:"on" text:"name"`                        // field of the row → field of the table with the same value
	Add     Map[string]  `yaml:"add" text:"name"`                       // new field of the row → field of the table
	Missing string       `yaml:"missing,omitempty" words:"null refuse"` // a row without a match: its new fields are null (default), or it is refused
}

// Sample keeps a share of the rows. Which rows are kept depends on their values and the seed alone.
type Sample struct {
	Rate string   `yaml:"rate" text:"exact"`        // the share, a number from 0 to 1
	Seed int      `yaml:"seed,omitempty"`           // another seed keeps other rows
	By   []string `yaml:"by,omitempty" text:"name"` // the fields that decide: rows alike in them are kept or dropped together; default all
}

// Sink is where rows go. Exactly one of the format fields is set.
type Sink struct {
	CSV      *CSVSink      `yaml:"csv,omitempty" one:"format"`                        // delimited text
	JSONL    *JSONLSink    `yaml:"jsonl,omitempty" one:"format"`                      // one JSON object per line
	Postgres *PostgresSink `yaml:"postgres,omitempty" one:"format" json:",omitempty"` // rows of a table in a Postgres database
	Parquet  *ParquetSink  `yaml:"parquet,omitempty" one:"format" json:",omitempty"`  // Parquet files
	From     Names         `yaml:"from,omitempty" text:"name"`                        // the sources, steps or branches whose rows arrive here; routes may lead here as well
	Disclose []string      `yaml:"disclose,omitempty" text:"name" json:",omitempty"`  // fields of each row that can be shown one by one to others, with a proof (docs/proof.md)
}

// FileTarget says where a file sink puts its file.
type FileTarget struct {
	Path      string `yaml:"path" text:"path"`                               // path, relative to the document's folder; s3://BUCKET/PREFIX with parts: true; - for standard output
	Parts     bool   `yaml:"parts,omitempty"`                                // a folder of parts and a manifest, not one file
	Overwrite bool   `yaml:"overwrite,omitempty"`                            // replace what an earlier run put there
	Latest    string `yaml:"latest,omitempty" text:"path" json:",omitempty"` // a name that leads to the output of the latest slot: of a file or folder a symbolic link, in a bucket a JSON object
	S3        *S3    `yaml:"s3,omitempty" json:",omitempty"`                 // of a path that begins with s3://: how to reach the bucket
}

// CSVSink writes RFC 4180 text.
type CSVSink struct {
	FileTarget `yaml:",inline"`
	Columns    []string `yaml:"columns,omitempty" text:"name"`          // default: the fields of the incoming rows, if they are all declared
	Delimiter  string   `yaml:"delimiter,omitempty"`                    // one character, default ","; "tab" for a tab
	Formulas   string   `yaml:"formulas,omitempty" words:"keep escape"` // keep (default) or escape: cells that a spreadsheet would run get a leading '
	CRLF       bool     `yaml:"crlf,omitempty"`                         // lines end with CRLF and not with LF
}

// Separator returns what stands between cells.
func (s *CSVSink) Separator() rune {
	switch s.Delimiter {
	case "":
		return ','
	case "tab":
		return '\t'
	}
	return rune(s.Delimiter[0])
}

// Title returns how the header names a field.
func (s *CSVSink) Title(field string) string {
	if s.Formulas == "escape" && field != "" && IsFormula(field[0]) {
		return "'" + field
	}
	return field
}

// IsFormula reports whether spreadsheets run a cell that begins with c. Source: OWASP, CSV Injection.
func IsFormula(c byte) bool {
	switch c {
	case '=', '+', '-', '@', '\t', '\r':
		return true
	}
	return false
}

// JSONLSink writes one JSON object per line.
type JSONLSink struct {
	FileTarget `yaml:",inline"`
}
