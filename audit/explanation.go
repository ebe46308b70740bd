package audit

import (
	"fmt"
	"strings"

	"waymark/landscape/persons"

	"waymark/pipeline/expr"
)

// Question says which row is meant: by its number, by its business key, by the id of a token, or by the line of a sink's
// output. Exactly one of Row, Key, Token, and Sink with Line, is set.
type Question struct {
	Run    string // id, or the beginning of one
	Source string // of Row and Key: a source, or of Row a barrier; "" if the run has one source
	Row    int64  // from 1
	Key    map[string]string
	Token  string // such as orders:17/by_cost
	Sink   string
	Line   int64 // of the sink's output, from 1, not counting a header
	All    bool  // list all tokens of a batch, not only the first
	Limit  int   // how many tokens that came of it are followed beyond barriers; 0: 1,000
}

// check returns a *QuestionError unless the question means one row.
func (q *Question) check() error {
	ways := 0
	for _, given := range []bool{q.Row != 0, len(q.Key) > 0, q.Token != "", q.Sink != "" || q.Line != 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return &QuestionError{Message: "ask for one row, in one way: by its number, from 1, its key, its token, or a sink and the line of its output"}
	case q.Row < 0 || q.Line < 0 || q.Sink != "" && q.Line == 0:
		return &QuestionError{Message: "rows and lines are counted from 1"}
	case q.Sink == "" && q.Line != 0:
		return &QuestionError{Message: "Line is one of the output of a sink: name the Sink as well"}
	case q.Limit < 0:
		return &QuestionError{Message: "Limit is a number of tokens, or 0"}
	}
	return nil
}

// Token names one row.
type Token struct {
	Source string `json:"source"`
	Row    int64  `json:"row"`
}

// AmbiguousError says that a key fits several rows. Nobody may pick one.
type AmbiguousError struct {
	Tokens []Token // at least two, ascending
	More   bool    // there are more than are listed
}

// Error lists the rows.
func (e *AmbiguousError) Error() string {
	rows := make([]string, len(e.Tokens))
	for i, token := range e.Tokens {
		rows[i] = fmt.Sprint(token.Row)
	}
	count := fmt.Sprint(len(rows))
	if e.More {
		count = "more than " + count
	}
	return fmt.Sprintf("%s rows of %s have this key: %s", count, e.Tokens[0].Source, strings.Join(rows, ", "))
}

// QuestionError says that a question makes no sense for the run.
type QuestionError struct {
	Message string
	Sources int // how many the run has, if one must be named; 0 if that is not what is wrong
}

// Error returns the message.
func (e *QuestionError) Error() string { return e.Message }

// Availability says what became of a payload. Stored nowhere; told apart always.
type Availability string

// The states of a payload.
const (
	Stored  Availability = "stored"  // here, and its bytes are what its digest promises
	Missing Availability = "missing" // should be here, and is not
	Purged  Availability = "purged"  // deleted by an order that is recorded
	Corrupt Availability = "corrupt" // here, and its bytes are others than its digest promises

	Forgotten Availability = "forgotten" // the record is overwritten, and its hashes are gone, by an order that is recorded
)

// Explanation is everything on record about one token, with what can be computed from it. The embedded Fate is that of the token
// that was asked for.
type Explanation struct {
	Run      string `json:"run"`
	Pipeline string `json:"pipeline"`
	Status   string `json:"status"`
	Token    string `json:"token"`
	Source   Origin `json:"source"`
	Fate
	Was      *RetryOf           `json:"was,omitempty"`      // in a run that retries records: the record that it was
	Again    *RetriedBy         `json:"again,omitempty"`    // the run that retries it
	Upstream *UpstreamRow       `json:"upstream,omitempty"` // the row of another pipeline's output that it is
	MadeOf   []BarrierOrigin    `json:"made_of,omitempty"`  // of a barrier's row: how it came out, then the same for the token it continues for, and so on
	Onward   *Onward            `json:"onward,omitempty"`   // what came of it, if something came out of barriers for it
	Tokens   []TokenExplanation `json:"tokens,omitempty"`   // all tokens of the record in lane order, if there are several

	Downstream []DownstreamRow `json:"downstream,omitempty"` // as what runs of other pipelines read it in the outputs that it is in

	SignOffs []persons.SignOff `json:"sign_offs,omitempty"` // of the run
}

// TokenExplanation is what happened to one token of a record.
type TokenExplanation struct {
	Token string `json:"token"`
	Fate
}

// Fate is what happened to one token, from where it came to be to its end.
type Fate struct {
	Nodes     []Visit    `json:"nodes"`
	Way       string     `json:"way,omitempty"`     // on record; "" while the chunk is in flight
	Outcome   string     `json:"outcome,omitempty"` // "" as long as a barrier holds the token
	Path      string     `json:"path,omitempty"`
	Complete  bool       `json:"complete"` // the outcome is final: a sink, if one got the row, confirmed it
	Sink      string     `json:"sink,omitempty"`
	Line      int64      `json:"line,omitempty"`         // in the sink's output, from 1, not counting a header
	Output    string     `json:"output,omitempty"`       // the published file
	Attested  string     `json:"attested,omitempty"`     // what the output was found to be when its target was read again last; "" if that never was
	Erased    string     `json:"erased,omitempty"`       // what became of it by an order to delete it in the sink's target; "" if there is none
	Written   string     `json:"written,omitempty"`      // the bytes the sink got for the row
	Note      string     `json:"note,omitempty"`         // why something is unknown
	Computed  string     `json:"computed_way,omitempty"` // only if it differs from Way
	RefusedBy string     `json:"refused_by,omitempty"`   // the sink at the end of its way, whose target refused the row when it was written; then Sink is ""
	Refused   *Rejection `json:"refused,omitempty"`      // why
	Held      *Holding   `json:"held,omitempty"`         // of a token that came to a barrier
	Merge     *Decision  `json:"merge,omitempty"`        // of a token that a coalesce of this pass made: of what
	// of a forked token: what a coalesce made of its branches, unless that is a token of this record
	Merged *Decision `json:"merged,omitempty"`
}

// Origin is where the row came from.
type Origin struct {
	Name       string       `json:"name"`
	Row        int64        `json:"row"`
	File       string       `json:"file"`
	Line       int64        `json:"line"`
	ByteOffset int64        `json:"byte_offset"`
	ByteLength int64        `json:"byte_length"`
	SHA256     string       `json:"sha256"`                    // of the record as read, on record
	Computed   string       `json:"computed_sha256,omitempty"` // of the stored record; only if it differs
	Payload    string       `json:"payload"`
	Index      int          `json:"payload_index"`
	State      Availability `json:"payload_state"`
	Purged     string       `json:"payload_purged,omitempty"` // when it was, by whom and why
	Trigger    string       `json:"trigger,omitempty"`        // at which the file arrived, or to which it was delivered
	Arrived    string       `json:"arrived,omitempty"`        // when that was, or when the request was accepted
	Requested  *Request     `json:"requested,omitempty"`      // with which the row came; null if it came otherwise
	Raw        string       `json:"raw,omitempty"`            // the record as read, if it is text
	RawBase64  []byte       `json:"raw_base64,omitempty"`     // the record as read, if it is not

	Fields []Piece `json:"fields,omitempty"`      // where in the record its fields are, as far as it can be taken apart
	Made   bool    `json:"record_made,omitempty"` // the record was made of a row, of a table, a Parquet file or a barrier: what it was read from has no bytes for a field
}

// Request is the request for a run with which rows came.
type Request struct {
	Start   string `json:"start"`   // RUN/N, as waymark starts has it
	Actor   string `json:"actor"`   // who sent it
	Trigger string `json:"trigger"` // through which door: api, cli, library …
	Rows    int64  `json:"rows"`    // that came with it for the source
}

// Visit is what happened to the row at one node.
type Visit struct {
	Node       string     `json:"node"`
	Operation  string     `json:"operation"`
	Label      string     `json:"label,omitempty"`
	First      string     `json:"first,omitempty"`    // of a deduplicate that dropped the row: the token that came first with the key, as on record
	Branches   []string   `json:"branches,omitempty"` // of a fork: the ids of the copies
	Expression string     `json:"expression,omitempty"`
	Values     []Value    `json:"values,omitempty"` // of the expression's parts, outermost first
	Terms      []Term     `json:"terms,omitempty"`  // of a node with several expressions, or that goes by fields
	Changes    []Change   `json:"changes,omitempty"`
	InputHash  string     `json:"input_sha256,omitempty"`
	OutputHash string     `json:"output_sha256,omitempty"`   // on record
	Computed   string     `json:"computed_sha256,omitempty"` // only if it differs from OutputHash
	Verified   bool       `json:"verified"`                  // computed again, and equal to what is recorded
	Differs    string     `json:"differs,omitempty"`         // what else was computed than is recorded, for people
	Refused    *Rejection `json:"refused,omitempty"`

	Form *Form `json:"-"` // with which the row left the node, if it was computed again and the record has a hash of it
}

// Form is a row in canonical form at a node.
type Form struct {
	Canonical  []byte
	lane, node int64 // the node by its number in the document
}

// ID is the lane and the node of the form, in hexadecimal digits, as the body of a row has them (docs/seal.md).
func (f Form) ID() string { return fmt.Sprintf("%04x%04x", f.lane, f.node) }

// Value is an expr.Part: what a part of an expression was for the row.
type Value struct {
	Source string `json:"source"`
	Value  string `json:"value,omitempty"`
	Error  string `json:"error,omitempty"`
	Depth  int    `json:"depth"`
	At     int    `json:"at"` // where the value hangs, in characters of the expression from 0
}

func values(parts []expr.Part) []Value {
	var shown []Value
	for _, part := range parts {
		shown = append(shown, Value(part))
	}
	return shown
}

// Change is one field that came out other than it went in. Absent fields are nil.
type Change struct {
	Field  string  `json:"field"`
	From   string  `json:"from,omitempty"` // the field's name before a rename
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// Rejection is why a node rejected the row, as on record.
type Rejection struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	SentTo  string `json:"sent_to"`
}

// True reports whether nothing that was computed differs from the record, and the stored record is whole, and there unless it was purged. What
// cannot be computed, and why, is in Note; it does not make the answer no.
func (s *Explanation) True() bool {
	for _, token := range s.Tokens {
		if !token.unopposed() {
			return false
		}
	}
	return (s.Source.State == Stored || s.Source.State == Purged || s.Source.State == Forgotten) && s.Source.Computed == "" && s.unopposed()
}

// unopposed reports whether nothing that was computed differs from the record.
func (f *Fate) unopposed() bool {
	for _, visit := range f.Nodes {
		if visit.Computed != "" || visit.Differs != "" {
			return false
		}
	}
	return f.Computed == "" && (f.Merge == nil || f.Merge.Differs == "")
}
