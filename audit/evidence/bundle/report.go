package bundle

import (
	"fmt"
	"io"
	"strings"
	"time"

	"waymark/audit/evidence"
	"waymark/internal/text"
	"waymark/landscape/persons"
)

// Report is what a verification of a bundle found.
type Report struct {
	Run      string      `json:"run,omitempty"`
	Pipeline string      `json:"pipeline,omitempty"`
	Status   string      `json:"status,omitempty"`
	SignedBy string      `json:"signed_by,omitempty"` // public key
	Log      string      `json:"log,omitempty"`       // its name
	Trusted  bool        `json:"trusted"`             // the policy trusts the key of the log
	Members  int         `json:"members"`
	Payloads Payloads    `json:"payloads,omitempty"` // which were exported
	Gaps     []Gap       `json:"gaps"`               // what is not in it; empty, not nil, if there is nothing
	Redacted []Redaction `json:"redacted"`           // what the exporter left out; empty, not nil, if nothing
	Checks   []Check     `json:"checks"`             // that were done, in order; the last one failed if Problem is not empty
	Problem  string      `json:"problem,omitempty"`  // why the bundle is not verified

	Balance  *Balance `json:"balance,omitempty"`  // where the rows went
	Policies []Policy `json:"policies,omitempty"` // what the document says must be true of the run, with the last results

	SignOffs []persons.SignOff     `json:"sign_offs,omitempty"`         // what people signed about the run
	Orders   []persons.SignedOrder `json:"approval_requests,omitempty"` // by digest

	Cosigned []evidence.Cosignature `json:"cosigned"` // that the policy's witnesses put under the head of the log; empty, not nil, if there are none

	Quantum string `json:"post_quantum,omitempty"` // the log's key of ML-DSA-44, as name+hash, that signed the head, if the policy has it
}

// Check is one thing that a verification looks at.
type Check struct {
	Name   string `json:"check"`
	OK     bool   `json:"ok"`
	Proves string `json:"proves"`
	Not    string `json:"does_not_prove"`
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Checks {
		word := "ok    "
		if !c.OK {
			word = "FAILED"
		}
		fmt.Fprintf(&b, "%-10s %s proves: %s\n%18snot: %s\n", c.Name, word, c.Proves, "", c.Not)
	}
	fmt.Fprintln(&b)
	for _, redaction := range r.Redacted {
		fmt.Fprintf(&b, "redacted: %s\n", text.Visible(redaction.String()))
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "not in the bundle: %s: %s\n", g.What, g.Why)
	}
	if r.Balance != nil {
		fmt.Fprintln(&b, r.Balance)
	}
	for _, p := range r.Policies {
		fmt.Fprintf(&b, "policy %s\n", text.Visible(p.String()))
	}
	for _, s := range r.SignOffs {
		fmt.Fprintf(&b, "signed off by %s\n", text.Visible(s.String()))
		if s.Note != "" {
			fmt.Fprintf(&b, "note: %s\n", text.Visible(s.Note))
		}
	}
	for _, o := range r.Orders {
		fmt.Fprintf(&b, "order %s\n", text.Visible(o.String()))
	}
	for _, c := range r.Cosigned {
		fmt.Fprintf(&b, "the witness %s cosigned the head of the log, %s\n", c.Witness, c.At.Format(time.RFC3339))
	}
	if r.Quantum != "" {
		fmt.Fprintf(&b, "the post-quantum key %s signed the head of the log\n", r.Quantum)
	}
	switch {
	case r.Problem != "":
		fmt.Fprintf(&b, "NOT verified: %s\n", r.Problem)
	case !r.Trusted:
		fmt.Fprintf(&b, "verified without a trust policy: the key of the log is what the bundle itself says. %s\n", r.sentence())
	default:
		fmt.Fprintf(&b, "verified: %s\n", r.sentence())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) sentence() string {
	name, _, _ := strings.Cut(r.SignedBy, "+")
	text := fmt.Sprintf("run %s of %s, %s; %d members, payloads: %s; signed by %s", r.Run, r.Pipeline, r.Status, r.Members, r.Payloads, name)
	if r.Log != "" {
		text += ", in the log " + r.Log
	}
	if len(r.Gaps) > 0 {
		text += fmt.Sprintf("; %d left out", len(r.Gaps))
	}
	rows := int64(0)
	for _, redaction := range r.Redacted {
		if redaction.Source != "" {
			rows += redaction.Rows
		}
	}
	if len(r.Redacted) > 0 {
		text += "; " + plural(rows, "row") + " redacted"
	}
	return text
}
