package landscape

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"waymark/landscape/messages"
)

// ErrorGroup is the errors of a run that say the same but for the values in them.
type ErrorGroup struct {
	Node    string   `json:"node"`
	Code    string   `json:"code"`
	Field   string   `json:"field,omitempty"`
	Message string   `json:"message"` // where they differ, quoted texts are "…" and numbers N
	Count   int64    `json:"count"`
	Samples []Sample `json:"samples"`          // the first few, by source, row and lane
	Values  []Quoted `json:"values,omitempty"` // what the messages quote where they differ: what came often, the most frequent first; nil if nothing did
	Where   *Spread  `json:"where,omitempty"`  // where in their source the rows are; nil if they are of several, or came out of a barrier

	Retried   int64    `json:"retried,omitempty"`    // of them, errors of records that other runs were fed since
	RetriedBy []string `json:"retried_by,omitempty"` // these runs, sorted; nil if there is none

	// Forgotten counts those of rows that were forgotten since: their messages are empty.
	Forgotten   int64    `json:"forgotten,omitempty"`
	ForgottenBy []string `json:"forgotten_by,omitempty"` // when, by whom and why, sorted; nil if none was
}

// Sample is one error of a group.
type Sample struct {
	Source  string `json:"source"`
	File    string `json:"file"`
	Row     int64  `json:"row"`
	Lane    int64  `json:"lane,omitempty"`
	Line    int64  `json:"line"` // of the file
	Message string `json:"message"`
	SentTo  string `json:"sent_to"`

	RetriedBy string `json:"retried_by,omitempty"` // the run that was fed the record since; empty if none was

	Forgotten string `json:"forgotten,omitempty"` // when, by whom and why the row was forgotten; empty if it was not

	chunk int64
}

// mostSamples is how many errors of a group are shown.
const mostSamples = 3

// Errors returns why tokens of a run were refused, by source, row, lane and node; nil if none was. It begins after the error with the
// key after, or with the first if that is nil, and returns at most limit errors, or all if that is 0.
func (r *Reader) Errors(ctx context.Context, run string, after *ErrorKey, limit int) ([]ErrorHead, error) {
	q := Query{Prefix: []any{run}, Limit: limit}
	if after != nil {
		q.After = []any{after.Source, after.Row, after.Lane, after.Node}
	}
	return Page[ErrorHead](ctx, r.from, q)
}

// refusal is by which code a token was refused.
type refusal struct {
	ErrorKey
	Code string `db:"code"`
}

// Table returns errors.
func (refusal) Table() string { return "errors" }

// RefusedBy returns how many tokens of a run were refused with each code. It looks at no more than most of them, and reports whether
// these are all.
func (r *Reader) RefusedBy(ctx context.Context, run string, most int64) (codes map[string]int64, all bool, err error) {
	codes = map[string]int64{}
	var seen int64
	err = each(ctx, r.from, []any{run}, func(e refusal) bool {
		if seen++; seen <= most {
			codes[e.Code]++
		}
		return seen <= most
	})
	return codes, seen <= most, err
}

// retriedBy notes that a run was fed the record of an error; empty if none was.
func (g *ErrorGroup) retriedBy(run string) {
	if run == "" {
		return
	}
	g.Retried++
	if at, known := slices.BinarySearch(g.RetriedBy, run); !known {
		g.RetriedBy = slices.Insert(g.RetriedBy, at, run)
	}
}

// forgottenBy notes that the row of an error was forgotten.
func (g *ErrorGroup) forgottenBy(told string) {
	g.Forgotten++
	if at, known := slices.BinarySearch(g.ForgottenBy, told); !known {
		g.ForgottenBy = slices.Insert(g.ForgottenBy, at, told)
	}
}

// ErrorGroups returns the errors of a run in groups, the largest first.
func (r *Reader) ErrorGroups(ctx context.Context, run string) ([]ErrorGroup, error) {
	type identity struct{ node, code, field string }
	groups, shapes := map[identity]map[string]*ErrorGroup{}, map[*ErrorGroup]*shape{} // groups also by what their messages have in common
	var common []byte
	rows, err := r.rowsOfSources(ctx, run)
	if err != nil {
		return nil, err
	}
	retried, err := r.RetriedIn(ctx, run)
	if err != nil {
		return nil, err
	}
	forgotten, err := r.ForgottenRows(ctx, run)
	if err != nil {
		return nil, err
	}
	err = each(ctx, r.from, []any{run}, func(e ErrorHead) bool {
		id := identity{e.Node, e.Code, e.Field}
		common = messages.AppendReplaced(common[:0], e.Message, messages.WithoutValue)
		g := groups[id][string(common)]
		if g == nil {
			g = &ErrorGroup{Node: id.node, Code: id.code, Field: id.field, Where: newSpread(e.Source, rows[e.Source])}
			if groups[id] == nil {
				groups[id] = map[string]*ErrorGroup{}
			}
			groups[id][string(common)], shapes[g] = g, newShape(e.Message)
		} else {
			shapes[g].join(e.Message)
		}
		g.Count++
		g.Where = g.Where.with(e.Source, e.Row)
		row := RowKey{run, e.Source, e.Row}
		again, told := retried[row], ""
		g.retriedBy(again)
		if order, is := forgotten[row]; is {
			told = order.Told()
			g.forgottenBy(told)
		}
		if len(g.Samples) < mostSamples {
			g.Samples = append(g.Samples, Sample{
				Source: e.Source, Row: e.Row, Lane: e.Lane, Line: e.Line, Message: e.Message, SentTo: e.SentTo,
				RetriedBy: again, Forgotten: told, chunk: e.Chunk,
			})
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	sorted := make([]ErrorGroup, 0, len(shapes))
	for g := range shapes {
		if err := r.nameFiles(ctx, run, g.Samples); err != nil {
			return nil, err
		}
		g.Message, g.Values = shapes[g].String(), shapes[g].often()
		sorted = append(sorted, *g)
	}
	slices.SortFunc(sorted, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Node, b.Node), strings.Compare(a.Code, b.Code),
			strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
	return sorted, nil
}

// nameFiles sets the file of every sample: that of its chunk.
func (r *Reader) nameFiles(ctx context.Context, run string, samples []Sample) error {
	for i := range samples {
		chunk, err := r.Chunk(ctx, run, ChunkKey{samples[i].Source, samples[i].chunk})
		if err != nil {
			return fmt.Errorf("file of row %d of source %s: %w", samples[i].Row, samples[i].Source, err)
		}
		samples[i].File = chunk.File
	}
	return nil
}

// What a message may quote: texts and numbers, and what has digits and is no value of a row: an SQLSTATE, the name of an algorithm, where something is, how many there are.
const (
	number = messages.Number
	whole  = `(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)`
	named  = `SQLSTATE \w{5}|(?:SHA|UTF)-[0-9]+`
	thing  = `(?:row|line|byte|part|chunk|column|cell|record|attempt|entry)`
	things = `(?:rows?|lines?|bytes?|parts?|chunks?|columns?|cells?|records?|attempts?|entry|entries|` +
		`fields?|characters?|digits?)`
	// A program's own examples follow these words: values of rows stand in quotes.
	example = `such as [-+\w:.]+(?: or [-+\w:.]+)?|from -2\^63 to 2\^63-1|0 or from 4\.9e-324 to 1\.8e308|years 0001 to 9999`

	slot    = `[0-9]{4}(?:-(?:W[0-9]{2}|Q[1-4]|[0-9]{2}(?:-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?Z?)?)?))?`
	instant = `[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}Z`

	// phrases are parts of sentences about slots and versions, which have names of slots and times: no row has a part in them.
	phrases = `no slot named ` + slot + `: the one that covers it is ` + slot + `|run of slot ` + slot + `(?: was still|, which is)|` +
		`waits for slot ` + slot + `, which is|slot ` + slot + ` was due \(overlap|is retired in [\w-]+ since ` + instant + ` by|` +
		`slot ` + slot + ` of schedule [\w/-]+ is not \w+ before ` + instant

	spelled = `…? \((?:U\+[0-9A-F]+ ?)+\)` // after a text: which of its characters may pass for others
)

var (
	aText = regexp.MustCompile(messages.Possessive + `|(?:` + messages.Text + `)(?:` + spelled + `)?`)

	// aPossessive finds what aText finds and is none.
	aPossessive = regexp.MustCompile(`^` + messages.Possessive)

	// aRowValue finds texts and numbers as messages.Values does, those with the word that says what they are together
	// with that; noRowValue is what is no value of a row of that.
	aRowValue = regexp.MustCompile(aText.String() + `|\b(?:` + phrases + `|` + named + `|` + example + `|` + thing + ` ` + number + `|` +
		number + ` ` + things + `|` + number + `)\b`)
	noRowValue = regexp.MustCompile(`^(?:` + phrases + `|` + named + `|` + example + `|` + thing + ` ` + whole + `|` + whole + ` ` + things + `)$`)
)

// WithoutValues puts "…" for quoted texts, and N for numbers that may be values of a row: "row 3: 999 is over" becomes "row 3: N is over".
func WithoutValues(message string) string {
	return aRowValue.ReplaceAllStringFunc(message, func(found string) string {
		switch {
		case noRowValue.MatchString(found), aPossessive.MatchString(found):
			return found
		case strings.HasSuffix(found, ")"):
			return messages.WithoutValue(found) // a text with its characters spelled out
		}
		return messages.Outline(found)
	})
}

// WithoutTexts puts "…" for the quoted texts in a message, but for those that its reader knows.
func WithoutTexts(message string, known func(text string) bool) string {
	return aText.ReplaceAllStringFunc(message, func(found string) string {
		if aPossessive.MatchString(found) {
			return found
		}
		quoted, err := strconv.QuotedPrefix(found)
		if err != nil {
			return messages.WithoutValue(found)
		}
		if text, err := strconv.Unquote(quoted); err == nil && known(text) {
			return found
		}
		return messages.WithoutValue(quoted)
	})
}

// rowValues says of each of the values in a message whether it may be a value of a row.
func rowValues(message string) (may []bool) {
	var others [][]int
	for _, found := range aRowValue.FindAllStringIndex(message, -1) {
		if noRowValue.MatchString(message[found[0]:found[1]]) {
			others = append(others, found)
		}
	}
	for v := messages.Of(message); ; {
		begin, end, ok := v.Next()
		if !ok {
			return may
		}
		may = append(may, !slices.ContainsFunc(others, func(o []int) bool { return o[0] <= begin && end <= o[1] }))
	}
}

// shape is what messages that differ in their values alone have in common.
type shape struct {
	first  string
	values []string // of the first message
	differ []bool   // whether another has another value there
	ofRows []bool   // whether it may be a value of a row, and no place or count
	counts []*counter
	same   int64 // messages that are equal to the first
}

// mostCounted is how many of the values of a message are counted, from the left: what a row holds comes early.
const mostCounted = 3

func newShape(message string) *shape {
	values := messages.In(message)
	return &shape{first: message, values: values, differ: make([]bool, len(values)), ofRows: rowValues(message), counts: newCounters(min(len(values), mostCounted)), same: 1}
}

// join takes a message that is equal without its values.
func (s *shape) join(message string) {
	if message == s.first {
		s.same++
		return
	}
	v := messages.Of(message)
	for i := range s.values {
		begin, end, ok := v.Next()
		if !ok {
			return // it says N itself, where the first one has a number
		}
		value := message[begin:end]
		s.differ[i] = s.differ[i] || value != s.values[i]
		if i < len(s.counts) {
			s.counts[i].add(value, 1)
		}
	}
}

// often returns what came often of the first value of rows in which the messages differ; nil if they do not, or nothing came twice.
func (s *shape) often() []Quoted {
	for i := range s.counts {
		if s.differ[i] && s.ofRows[i] {
			s.counts[i].add(s.values[i], s.same)
			return s.counts[i].most()
		}
	}
	return nil
}

// String returns the message, with placeholders for the values that differ.
func (s *shape) String() string {
	i := -1
	return string(messages.AppendReplaced(nil, s.first, func(value string) string {
		if i++; s.differ[i] {
			return messages.WithoutValue(value)
		}
		return value
	}))
}
