package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
)

// FoundKind says what a word was found to be.
type FoundKind string

// The kinds of what is found.
const (
	FoundRun      FoundKind = "run"      // by the beginning of its id, or the newest one by the name of its pipeline
	FoundPipeline FoundKind = "pipeline" // a deployed one, by its name
	FoundOutput   FoundKind = "output"   // that a run published, by its digest
	FoundDocument FoundKind = "document" // that a run had, by its digest or that of its plan
	FoundSource   FoundKind = "source"   // a file that a run read, by its digest or its name, or a delivery, by its receipt
	FoundRow      FoundKind = "row"      // by its token, its number, the line of its file, its digest, or as it was read
	FoundLine     FoundKind = "line"     // of an output
	FoundRefusals FoundKind = "refusals" // rows that were refused, by their code
)

// Found is one thing that a word may mean.
type Found struct {
	Kind     FoundKind `json:"kind"`
	Run      string    `json:"run,omitempty"` // empty for a pipeline
	Pipeline string    `json:"pipeline"`
	Token    string    `json:"token,omitempty"` // of a row or line
	Sink     string    `json:"sink,omitempty"`  // of an output or line
	Line     int64     `json:"line,omitempty"`  // of the output
	Rows     int64     `json:"rows,omitempty"`  // that were refused
	What     string    `json:"what"`            // why the word means it, in words
}

// LookupRequest says what to look for.
type LookupRequest struct {
	Word string                       // an id, a name, a digest, TOKEN, SINK:ROW, FILE:LINE, a number, a code, or a record as it was read
	Run  string                       // as Find understands it: only there; empty for everywhere
	Sees func(landscape.RunHead) bool // which runs count; nil for all
	// Guess also finds rows by their records and the digests of these. Who can ask for that can guess values.
	Guess bool
}

// LookupResult is what a word may mean, and where it was not looked for: what is not in Items may be there.
type LookupResult struct {
	Items      []Found      `json:"items"`      // not nil
	Unsearched []Unsearched `json:"unsearched"` // not nil
}

// Unsearched is a part of the record in which a word was not looked for.
type Unsearched struct {
	What string `json:"what"`          // which part, and why, in words
	Run  string `json:"run,omitempty"` // that can be searched alone; empty if the words say what to do
}

// lookupLimits bound a search of several runs.
type lookupLimits struct {
	runs   int   // the newest ones that count, in which rows are looked for
	looked int   // the newest runs, among which these are
	rows   int64 // whose digests are compared
}

var lookupMost = lookupLimits{runs: 50, looked: 5_000, rows: 5_000_000}

// lookupFound is how many things are found at most.
const lookupFound = 50

// Lookup finds what a word may mean: among all runs, outputs and pipelines, and among the rows of the newest runs, or
// of the one that r names, which it reads whole. The result says where it did not look. It reads the landscape only.
// The error is an *Error of kind Invalid if there is no word.
func (c *Client) Lookup(ctx context.Context, r LookupRequest) (LookupResult, error) {
	return c.lookUp(ctx, r, lookupMost)
}

func (c *Client) lookUp(ctx context.Context, r LookupRequest, most lookupLimits) (result LookupResult, err error) {
	defer c.edge(ctx, &err)
	if r.Word = strings.TrimSpace(r.Word); r.Word == "" {
		return result, &Error{
			Kind: Invalid, Code: InvalidQuestion,
			Message: "say what to look for: an id, a digest, a token, FILE:LINE, or a record as it was read",
		}
	}
	l := &lookup{Client: c, LookupRequest: r, most: most, found: []Found{}, unsearched: []Unsearched{}}
	if l.runs, err = l.candidates(ctx); err != nil {
		return result, err
	}
	for _, look := range []func(context.Context) error{l.byID, l.byName, l.byFile, l.byDigest, l.byPlace, l.byNumber, l.byCode, l.byRecord} {
		if err := look(ctx); err != nil {
			return result, err
		}
	}
	if len(l.found) > lookupFound {
		l.leave("", "what else the word means: these are the first %d, so write more of it, or name a run", lookupFound)
	}
	return LookupResult{Items: l.found[:min(len(l.found), lookupFound)], Unsearched: l.unsearched}, nil
}

// lookup is a search that is under way.
type lookup struct {
	*Client
	LookupRequest
	most       lookupLimits
	runs       []landscape.RunHead // in which rows are looked for, the newest first
	found      []Found
	unsearched []Unsearched
}

// leave records a part in which the word is not looked for.
func (l *lookup) leave(run, format string, args ...any) {
	l.unsearched = append(l.unsearched, Unsearched{Run: run, What: fmt.Sprintf(format, args...)})
}

func (l *lookup) add(run landscape.RunHead, f Found, format string, args ...any) {
	f.Run, f.Pipeline, f.What = run.ID, run.Pipeline, fmt.Sprintf(format, args...)
	if !slices.Contains(l.found, f) {
		l.found = append(l.found, f)
	}
}

func (l *lookup) sees(run landscape.RunHead) bool { return l.Sees == nil || l.Sees(run) }

func (l *lookup) candidates(ctx context.Context) ([]landscape.RunHead, error) {
	if l.Run != "" {
		run, err := l.Find(ctx, l.Run)
		return []landscape.RunHead{run.RunHead}, err
	}
	var seen []landscape.RunHead
	var place *landscape.RunStart
	for looked := 0; looked < l.most.looked; {
		page := min(500, l.most.looked-looked)
		heads, err := l.log.RecentRuns(ctx, place, page)
		if err != nil {
			return nil, err
		}
		for _, run := range heads {
			switch {
			case !l.sees(run):
			case len(seen) == l.most.runs:
				l.leave("", "rows, names of files and codes in runs before %s: these are looked for in the newest %d runs, "+
					"so name an older one to search it", seen[len(seen)-1].ID, l.most.runs)
				return seen, nil
			default:
				seen = append(seen, run)
			}
			place = &landscape.RunStart{Started: run.Started, ID: run.ID}
		}
		if len(heads) < page {
			return seen, nil
		}
		looked += page
	}
	l.leave("", "rows, names of files and codes in older runs than the newest %d of all pipelines: name one to search it",
		l.most.looked)
	return seen, nil
}

func (l *lookup) byID(ctx context.Context) error {
	const shortest = 4 // characters of the beginning of an id: fewer mean too much
	if l.Run != "" {
		return nil
	}
	if l.Word == pipeline.LastRun && len(l.runs) > 0 {
		l.add(l.runs[0], Found{Kind: FoundRun}, "the newest run, %s", l.runs[0].Status)
	}
	runs, err := l.Beginning(ctx, l.Word, lookupFound)
	for _, run := range runs {
		if l.sees(run) && (run.ID == l.Word || len(l.Word) >= shortest) {
			l.add(run, Found{Kind: FoundRun}, "a run, %s", run.Status)
		}
	}
	return err
}

func (l *lookup) byName(ctx context.Context) error {
	if l.Run != "" {
		return nil
	}
	p, err := l.log.Current(ctx, landscape.DefaultEnvironment, l.Word)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		err = nil
	case err == nil && l.sees(landscape.RunHead{Pipeline: p.Pipeline}):
		l.found = append(l.found, Found{Kind: FoundPipeline, Pipeline: p.Pipeline, What: fmt.Sprintf("a deployed pipeline, version %d", p.Version)})
	}
	if at := slices.IndexFunc(l.runs, func(run landscape.RunHead) bool { return run.Pipeline == l.Word }); at >= 0 {
		l.add(l.runs[at], Found{Kind: FoundRun}, "the newest run of this pipeline, %s", l.runs[at].Status)
	}
	return err
}

// digest is a SHA-256, or the beginning of one that somebody can have meant.
var digest = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

func (l *lookup) byDigest(ctx context.Context) error {
	if !digest.MatchString(l.Word) {
		return nil
	}
	if err := l.outputs(ctx); err != nil {
		return err
	}
	for _, run := range l.runs {
		if strings.HasPrefix(run.DocumentSHA256, l.Word) || strings.HasPrefix(run.PlanSHA256, l.Word) {
			l.add(run, Found{Kind: FoundDocument}, "the document or plan of the run")
		}
		ends, err := l.log.SourceEnds(ctx, run.ID)
		if err != nil {
			return err
		}
		for _, end := range ends {
			var files []string
			_ = json.Unmarshal([]byte(end.Digests), &files)
			if slices.ContainsFunc(files, func(sum string) bool { return strings.HasPrefix(sum, l.Word) }) {
				l.add(run, Found{Kind: FoundSource}, "a file that source %s read", end.Source)
			}
		}
	}
	return nil
}

// outputs finds what runs published, by its digest.
func (l *lookup) outputs(ctx context.Context) error {
	published, err := l.log.Publications(ctx, func(string) bool { return true })
	if err != nil {
		return err
	}
	for _, output := range published {
		if !strings.HasPrefix(output.SHA256, l.Word) || l.Run != "" && output.Run != l.runs[0].ID {
			continue
		}
		run, err := l.log.Run(ctx, output.Run)
		if err != nil {
			return err
		}
		if l.sees(run.RunHead) {
			l.add(run.RunHead, Found{Kind: FoundOutput, Sink: output.Sink}, "%s, as sink %s published it", output.Path, output.Sink)
		}
	}
	return nil
}

// byPlace finds TOKEN, SINK:ROW and FILE:LINE.
func (l *lookup) byPlace(ctx context.Context) error {
	at := strings.LastIndexByte(l.Word, ':')
	if at <= 0 {
		return nil
	}
	name := l.Word[:at]
	line, _ := strconv.ParseInt(l.Word[at+1:], 10, 64)
	for _, run := range l.runs {
		if token, err := l.log.ParseToken(ctx, run.ID, l.Word); err == nil {
			if err := l.addToken(ctx, run, token, Found{Kind: FoundRow}, "a row"); err != nil {
				return err
			}
		}
		if line < 1 {
			continue
		}
		if err := l.lineOf(ctx, run, name, line); err != nil {
			return err
		}
	}
	return nil
}

// addToken adds a token, unless it is not there.
func (l *lookup) addToken(ctx context.Context, run landscape.RunHead, token landscape.Token, f Found, what string) error {
	if _, err := l.log.ChunkOf(ctx, run.ID, token.Source, token.Row); err != nil {
		if errors.Is(err, landscape.ErrNotFound) {
			return nil
		}
		return err
	}
	id, err := l.log.TokenID(ctx, run.ID, token)
	if err == nil {
		f.Token = id
		l.add(run, f, "%s", what)
	}
	return err
}

// addRow adds a row of a source, unless it is not there.
func (l *lookup) addRow(ctx context.Context, run landscape.RunHead, source string, number int64, what string) error {
	token, err := l.log.RootToken(ctx, run.ID, source, number)
	if err != nil {
		return err
	}
	return l.addToken(ctx, run, token, Found{Kind: FoundRow}, what)
}

// lineOf finds a row of an output, or a line of a file that the run read.
func (l *lookup) lineOf(ctx context.Context, run landscape.RunHead, name string, line int64) error {
	nodes, err := l.log.Nodes(ctx, run.ID)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		switch {
		case node.Kind == landscape.SinkNode && node.Node == name:
			token, err := l.log.SinkLine(ctx, run.ID, name, line)
			if errors.Is(err, landscape.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if err := l.addToken(ctx, run, token, Found{Kind: FoundLine, Sink: name, Line: line}, fmt.Sprintf("row %d of %s", line, name)); err != nil {
				return err
			}
		case node.Kind == landscape.SourceNode:
			if err := l.fileLine(ctx, run, node.Node, name, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileLine finds the row that began at a line of a file.
func (l *lookup) fileLine(ctx context.Context, run landscape.RunHead, source, file string, line int64) error {
	for chunk, err := range l.log.Chunks(ctx, run.ID, source) {
		if err != nil {
			return err
		}
		if !strings.HasSuffix("/"+filepath.ToSlash(chunk.File), "/"+filepath.ToSlash(file)) || line < chunk.FirstLine {
			continue
		}
		records, err := l.log.Records(ctx, run.ID, chunk.Key())
		if err != nil {
			return err
		}
		for i := range chunk.Rows {
			at := chunk.FirstLine + i
			if records.Lines != nil {
				at = chunk.FirstLine + int64(records.Lines[i])
			}
			if at == line {
				return l.addRow(ctx, run, source, chunk.FirstRow+i, fmt.Sprintf("line %d of %s", line, chunk.File))
			}
		}
	}
	return nil
}

// byNumber finds the row of a source by its number, in the newest run.
func (l *lookup) byNumber(ctx context.Context) error {
	number, _ := strconv.ParseInt(l.Word, 10, 64) // 0 for what is not a number
	if number < 1 || len(l.runs) == 0 {
		return nil
	}
	if len(l.runs) > 1 {
		l.leave("", "row %d of each run but the newest: write SOURCE:%[1]d, or name a run", number)
	}
	nodes, err := l.log.Nodes(ctx, l.runs[0].ID)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Kind != landscape.SourceNode {
			continue
		}
		err := l.addRow(ctx, l.runs[0], node.Node, number, fmt.Sprintf("row %d of source %s", number, node.Node))
		if err != nil {
			return err
		}
	}
	return nil
}

// code is the form of a code of refusals.
var code = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]+$`)

func (l *lookup) byCode(ctx context.Context) error {
	if !code.MatchString(l.Word) {
		return nil
	}
	const mostErrors = 100_000 // that are counted, of each run
	for _, run := range l.runs {
		codes, all, err := l.log.RefusedBy(ctx, run.ID, mostErrors)
		if err != nil {
			return err
		}
		if !all {
			l.leave("", "refused rows of run %s after its first %d: its list of errors has the rest", run.ID, mostErrors)
		}
		if n := codes[strings.ToUpper(l.Word)]; n > 0 {
			l.add(run, Found{Kind: FoundRefusals, Rows: n}, "refused rows")
		}
	}
	return nil
}

// record is what is known of a record that is looked for.
type record struct {
	sum  []byte // SHA-256
	what string // it is, in words
}

// byRecord finds rows by what was read, or by its digest. Of several runs it looks at those that have no more rows than
// it may still look at, the newest first: a great one does not hide the small ones before it.
func (l *lookup) byRecord(ctx context.Context) error {
	if !l.Guess {
		l.leave("", "whole records and their digests: an auditor can look for these")
		return nil
	}
	text := sha256.Sum256([]byte(l.Word))
	wanted := []record{{text[:], "a record with exactly this text"}}
	if sum, err := hex.DecodeString(l.Word); err == nil && len(sum) == sha256.Size && digest.MatchString(l.Word) {
		wanted = append(wanted, record{sum, "a record with this digest"})
	}
	left := l.most.rows
	for _, run := range l.runs {
		chunks, rows, err := l.chunksOf(ctx, run.ID)
		if err != nil {
			return err
		}
		if l.Run == "" && rows > left {
			l.leave(run.ID, "the %d records of run %s of %s: at most %d of all runs are compared with a word at once",
				rows, run.ID, run.Pipeline, l.most.rows)
			continue
		}
		left -= rows
		for _, chunk := range chunks {
			if len(l.found) > lookupFound {
				return nil // and it is said that there are more
			}
			if err := l.recordsOf(ctx, run, chunk, wanted); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunksOf returns the chunks of a run, and how many rows they have.
func (l *lookup) chunksOf(ctx context.Context, run string) (chunks []landscape.Chunk, rows int64, err error) {
	sources, err := l.log.Sources(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	for _, source := range sources {
		for chunk, err := range l.log.Chunks(ctx, run, source.Source) {
			if err != nil {
				return nil, 0, err
			}
			chunks = append(chunks, chunk)
			rows += chunk.Rows
		}
	}
	return chunks, rows, nil
}

// recordsOf finds the records of a chunk that are looked for.
func (l *lookup) recordsOf(ctx context.Context, run landscape.RunHead, chunk landscape.Chunk, wanted []record) error {
	type place struct {
		row  int64
		what string
	}
	var found []place
	first := chunk.FirstRow
	err := l.log.RawHashes(ctx, run.ID, chunk.Key(), func(hashes []byte) bool {
		for _, want := range wanted {
			for from := 0; ; from++ {
				at := bytes.Index(hashes[from:], want.sum)
				if at < 0 {
					break
				}
				if from += at; from%landscape.HashBytes == 0 {
					found = append(found, place{first + int64(from/landscape.HashBytes), want.what})
				}
			}
		}
		first += int64(len(hashes) / landscape.HashBytes)
		return true
	})
	for _, at := range found {
		if err == nil {
			err = l.addRow(ctx, run, chunk.Source, at.row, at.what)
		}
	}
	return err
}
