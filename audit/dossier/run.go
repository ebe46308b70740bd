package dossier

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"waymark/audit/evidence/rowproof"
	"waymark/internal/text"
	"waymark/landscape"
)

// runMeaning is what the report of a run proves, and what it does not; RUN stands for its id.
const runMeaning = `The run was sealed with each of the records in the last part, and none of them has changed since.
Those records are in the form in which they were sealed, for programs. The parts above were counted from the whole record;
their wording is not sealed, and neither is what came after the seal.

This file takes its own word for the key of the log: compare the head below with one that you have from elsewhere. What proves all of it is the bundle:

waymark export RUN -o RUN.zip
waymark verify RUN.zip --policy trust.policy

trust.policy is a file with the keys that the reader trusts: waymark keys policy prints one.`

// shownTables are those whose records the report of a run has, with their proofs.
var shownTables = map[string]bool{
	landscape.Run{}.Table(): true, landscape.Source{}.Table(): true, landscape.LookupTable{}.Table(): true, landscape.SourceEnd{}.Table(): true,
	landscape.Resumption{}.Table(): true, landscape.Execution{}.Table(): true, landscape.ArtifactRecord{}.Table(): true,
	landscape.Action{}.Table(): true, landscape.RunEvent{}.Table(): true, landscape.PolicyRecord{}.Table(): true, landscape.PolicyResult{}.Table(): true,
}

const (
	mostShown = 50   // lines of a list, and records of a table
	mostBytes = 4096 // of a text that a person wrote, such as a reason
)

// WriteRun writes the report of a run that has ended: what it read, made and refused, who and what decided, what it took, and records of that with their
// proofs. The error is as of rowproof.Make.
func WriteRun(ctx context.Context, w io.Writer, log *landscape.Reader, run landscape.Run) error {
	shown := map[string]int{}
	proof, err := rowproof.OfRun(ctx, log, run.ID, func(leaf landscape.RunLeaf) bool {
		shown[leaf.Table]++
		return shownTables[leaf.Table] && shown[leaf.Table] <= mostShown
	})
	if err != nil {
		return err
	}
	file, err := proof.Encode()
	if err != nil {
		return err
	}
	a := account{log: log.Marked(), run: run}
	sections, err := a.sections(ctx)
	if err != nil {
		return err
	}
	lines := make([]string, len(proof.Records))
	for i, r := range proof.Records {
		lines[i] = text.Visible(r.Line)
	}
	meaning := strings.ReplaceAll(runMeaning, "RUN", run.ID)
	sections = append(sections, section{"What this proves", meaning}, section{"The head of the log", visible(proof.Head)},
		section{"The records, as they were sealed", strings.Join(lines, "\n")})
	return write(w, sections, data{Title: "Run " + run.ID + " of " + run.Pipeline, Run: run.ID, Forms: []form{}, Proof: string(file)})
}

// account tells what is recorded of a run.
type account struct {
	log   *landscape.Reader
	run   landscape.Run
	lines [][]string // of the part that is being written
}

// sections are the parts of the report but the last ones. A part about which nothing is recorded says so.
func (a *account) sections(ctx context.Context) (sections []section, err error) {
	summary, err := a.log.Summary(ctx, a.run.ID)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"The run", a.began},
		{"What was read", a.read},
		{"Where the rows went", func(context.Context) error { a.nodes(summary); return nil }},
		{"What was made", func(ctx context.Context) error { return a.made(ctx, summary) }},
		{"What was refused", a.refused},
		{"Which policies decided", a.policies},
		{"Who did what", a.people},
		{"Attempts and waits", a.attempts},
		{"Warnings and errors", a.warnings},
		{"What it took", func(ctx context.Context) error { return a.took(ctx, summary) }},
		{"What came after the seal", a.later},
	} {
		a.lines = nil
		if err := part.tell(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.ToLower(part.title), err)
		}
		var told strings.Builder
		if err := text.Table(&told, a.listed()...); err != nil {
			return nil, err
		}
		sections = append(sections, section{part.title, cmp.Or(visible(told.String()), "nothing is recorded")})
	}
	return sections, nil
}

// listed are the lines of the part, as far as they are shown.
func (a *account) listed() [][]string {
	if more := len(a.lines) - mostShown; more > 0 {
		return append(slices.Clone(a.lines[:mostShown]), []string{fmt.Sprintf("and %s more", text.Grouped(int64(more)))})
	}
	return a.lines
}

// line adds a line, without cells at its end that are empty, if there is more to it than a name.
func (a *account) line(name string, cells ...string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		return
	}
	for i, cell := range cells {
		if len(cell) > mostBytes {
			cells[i] = strings.ToValidUTF8(cell[:mostBytes], "") + " …"
		}
	}
	a.lines = append(a.lines, append([]string{name}, cells...))
}
