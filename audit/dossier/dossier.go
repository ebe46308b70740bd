// Package dossier writes what happened to a row, or in a run, with its proof, into one file that anybody can open: a page of HTML that computes everything
// again that is proved, without a network. docs/proof.md describes it.
package dossier

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"waymark/audit"
	"waymark/audit/evidence/rowproof"
)

var (
	//go:embed dossier.html
	page string
	//go:embed dossier.css
	style string
	//go:embed dossier.js
	script string

	parsed = template.Must(template.New("dossier").Parse(page))
)

// policy lets a browser execute the one script, use the one style, and nothing else.
var policy = fmt.Sprintf("default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", sourceOf(script), sourceOf(style))

func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// meaning is what a dossier proves, and what it does not.
const meaning = `When the run was sealed, its record had this row: a record with this SHA-256 was read, it went this way, and this is what it was at every node.
The rest of this story was computed from the record; its wording is not sealed.

This file takes its own word for the key of the log. With the last part, saved as the file row.proof, others compare that
with a key that they trust, in the file trust.policy (waymark keys policy prints one):

waymark verify row.proof --policy trust.policy
python3 proof.py row.proof trust.policy`

// section is a part of the page that people read. All that Text has is visible: nothing of it is markup or a control character.
type section struct{ Title, Text string }

// data is what the script computes with.
type data struct {
	Title    string   `json:"title"`
	Run      string   `json:"run"`
	Source   string   `json:"source,omitempty"` // of a row
	Row      int64    `json:"row,omitempty"`    // 0: the file is about a run
	Sections []string `json:"sections"`         // SHA-256 of what each section shows
	Record   []byte   `json:"record"`           // as it was read; null if its payload is gone
	Forms    []form   `json:"forms"`
	Proof    string   `json:"proof"` // the file
}

// form is the row in canonical form, as it left a node.
type form struct {
	Of   string `json:"of"` // where it was, in words
	ID   string `json:"id"` // its lane and node, as the body of the row has them
	Form []byte `json:"form"`
}

// Write writes the dossier of a row. The proof is that of the record of the story.
func Write(w io.Writer, story *audit.Explanation, proof *rowproof.Proof) error {
	file, err := proof.Encode()
	if err != nil {
		return err
	}
	var told strings.Builder
	if err := story.WriteText(&told); err != nil {
		return err
	}
	if err := story.WriteFields(&told); err != nil {
		return err
	}
	sections := []section{{"What happened", visible(story.Sentence() + "\n\n" + told.String())}}
	d := data{Title: "Row " + story.Token + " of " + story.Pipeline, Run: story.Run, Source: story.Source.Name, Row: story.Source.Row, Forms: []form{}, Proof: string(file)}
	if story.Source.State == audit.Stored {
		d.Record = []byte(story.Source.Record())
	}
	fates := story.Tokens
	if fates == nil {
		fates = []audit.TokenExplanation{{Token: story.Token, Fate: story.Fate}}
	}
	for _, fate := range fates {
		for _, visit := range fate.Nodes {
			if visit.Form == nil {
				continue
			}
			of := fate.Token + " at " + visit.Node
			d.Forms = append(d.Forms, form{of, visit.Form.ID(), visit.Form.Canonical})
			sections = append(sections, section{"The row " + of, audit.Visible(string(visit.Form.Canonical)) + "\nsha256  " + visit.OutputHash})
		}
	}
	sections = append(sections, section{"What this proves", meaning}, section{"The proof, as a file", strings.TrimSuffix(string(file), "\n")})
	return write(w, sections, d)
}

// visible is a text of several lines in which everybody sees everything.
func visible(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = audit.Visible(line)
	}
	return strings.Join(lines, "\n")
}

func write(w io.Writer, sections []section, d data) error {
	for _, s := range sections {
		sum := sha256.Sum256([]byte(s.Title + s.Text))
		d.Sections = append(d.Sections, hex.EncodeToString(sum[:]))
	}
	text, err := json.Marshal(d) // with <, > and & escaped: it ends no element
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	var out bytes.Buffer
	err = parsed.Execute(&out, map[string]any{
		"Title": d.Title, "Policy": policy, "Style": template.CSS(style), "Script": template.JS(script), "Sections": sections,
		"Data": template.JS(text), "DataSHA256": hex.EncodeToString(sum[:]), //nolint:gosec // it is JSON that ends no element
	})
	if err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}
