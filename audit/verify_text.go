package audit

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the report for people: problems, a verdict, what was compared, what was not, and what cannot be.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, problem := range r.Problems {
		fmt.Fprintf(&b, "%s  %s  %s\n", problem.Kind, escape(problem.Where), escape(problem.Detail))
	}
	folds := ""
	if r.Folds > 0 {
		folds = plural(r.Folds, "fold") + " taken again, "
	}
	run := r.Run
	if r.Status != "" { // it could be read
		run += " (" + r.Status + ")"
	}
	fmt.Fprintf(&b, "run %s: %s in %s and %s read again, %s%s compared: %s\n", run, plural(r.Rows, "row"),
		plural(r.Chunks, "chunk"), plural(int64(r.Artifacts), "output"), folds, plural(r.Hashes, "hash"), r.Verdict())
	writeChecks(&b, "compared", r.Checked)
	writeChecks(&b, "not checked", r.NotChecked)
	if r.Believed != "" {
		fmt.Fprintf(&b, "believed: %s\n", r.Believed)
	}
	for _, s := range r.SignOffs {
		fmt.Fprintf(&b, "signed off: %s\n", escape(s.String()))
	}
	for _, o := range r.Orders {
		fmt.Fprintf(&b, "order: %s\n", escape(o.String()))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", escape(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdict is what was found, in a few words. It says everything only if everything was compared that can be. A late seal says nothing of the time before it.
func (r *Report) Verdict() string {
	late := ""
	if r.Sealed != nil && r.Sealed.Late {
		late = "; the run was sealed late"
	}
	switch {
	case r.More:
		return fmt.Sprintf("at least %s; the first are shown", plural(int64(len(r.Problems)), "problem"))
	case len(r.Problems) > 0:
		return plural(int64(len(r.Problems)), "problem")
	case len(r.NotChecked) > 0:
		return "everything that was compared is true; not everything was" + late
	default:
		return "everything that can be computed again is true" + late
	}
}

func writeChecks(b *strings.Builder, verb string, checks []Check) {
	for _, c := range checks {
		name := c.What
		if c.Name != "" {
			name += " " + c.Name
		}
		fmt.Fprintf(b, "%s: %s: %s\n", verb, escape(name), escape(c.Detail))
	}
}
