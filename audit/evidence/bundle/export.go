package bundle

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	_ "embed"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/strictzip"
	"waymark/internal/strictjson"
	"waymark/landscape"
	"waymark/landscape/history"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// Options say what goes into a bundle.
type Options struct {
	Payloads Payloads
	Key      keys.Key // signs it
	// Redact names what must not be in the bundle: SOURCE or SOURCE.FIELD.
	Redact []string
	// Outputs returns the files of a published output, as audit.Auditor.OutputFiles does; nil if the bundle is to have no outputs.
	Outputs func(context.Context, landscape.ArtifactRecord) ([]plugin.OutputFile, error)
}

// ErrRunning says that a run has not ended, so that its record is not whole.
var ErrRunning = errors.New("it has not ended: its record is not whole yet")

// Export writes the bundle of a run as a stream: the same bytes each time, as long as record, log and payloads are the same. The error wraps
// ErrRunning if the run has not ended, and landscape.ErrSealBroken if its record does not fit its seals, before anything is written; ErrOutputChanged if an output is
// not what the run published; ErrTooMany if the run has more refused records than a bundle may hold. What was written is of no use after any error.
func Export(ctx context.Context, to io.Writer, log *landscape.Reader, store *payload.Store, run landscape.Run, o Options) (*Manifest, error) {
	if run.Status == pipeline.Running {
		return nil, fmt.Errorf("run %s: %w", run.ID, ErrRunning)
	}
	e := &export{
		zip: strictzip.NewWriter(to), log: log.Marked(), store: store, run: run, options: o,
		manifest: &Manifest{Bundle: formVersion, Gaps: []Gap{}, Payloads: o.Payloads, Redactions: []Redaction{}},
	}
	e.shown = e.log
	for _, write := range []func(context.Context) error{e.seals, e.lost, e.redact, e.signOffs, e.forgotten, e.mime, e.artifacts, e.events, e.proofs, e.payloads, e.readme, e.records, e.snapshot, e.sign} {
		if err := write(ctx); err != nil {
			return nil, fmt.Errorf("export run %s: %w", run.ID, err)
		}
	}
	return e.manifest, e.zip.Close()
}

type export struct {
	zip      *strictzip.Writer
	log      *landscape.Reader
	shown    *landscape.Reader // what of the log is in the bundle
	hidden   []string          // sources and barriers whose rows are redacted; sorted
	store    *payload.Store
	run      landscape.Run
	options  Options
	manifest *Manifest
	sealed   *landscape.RunSeal // nil if nothing sealed the run, or no entry is about that
	signed   []landscape.SignOff
	happened []history.Event
}

// add writes a member. Members come in the order of their names, but for the first and the last two.
func (e *export) add(name string, write func(io.Writer) error) error {
	m, d, err := e.zip.Add(name, stored(name), write)
	if err == nil {
		e.manifest.Members = append(e.manifest.Members, Member{name, m.Size, hex.EncodeToString(d.Content[:]), hex.EncodeToString(d.Packed[:])})
	}
	return err
}

func (e *export) addText(name, text string) error {
	return e.add(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func (e *export) gap(what string, why error) {
	gap := Gap{what, why.Error()}
	if e.shown != e.log && strings.HasPrefix(what, packFolder) {
		gap.Why = "it is not stored any more" // by whose order is redacted
	}
	e.manifest.Gaps = append(e.manifest.Gaps, gap)
}

// errNoEntry says of a seal that nothing in the log vouches for it.
var errNoEntry = errors.New("the log has no entry about the seal of the run: a process without a key made the seal, or somebody made it up")

// seals compares the record with what was sealed of it, and that with the log.
func (e *export) seals(ctx context.Context) error {
	sealed, entry, err := evidence.CheckedRecord(ctx, e.log, e.run.ID)
	switch {
	case errors.Is(err, landscape.ErrUnsealed):
		e.gap(sealGap, err)
		return nil
	case err == nil && entry == nil:
		e.gap(sealGap, errNoEntry)
	case err == nil:
		e.sealed = &sealed
	}
	return err
}

// lost says what was lost of the run when its record was restored from a backup.
func (e *export) lost(ctx context.Context) error {
	missing, err := evidence.MissingOf(ctx, e.log, e.run.ID)
	for _, m := range missing { // all came back from an anchor: else seals would have failed
		e.gap(fmt.Sprintf("entry %d", m.Position), fmt.Errorf("the run %v", m))
	}
	return err
}

// signOffs reads what people signed about the run.
func (e *export) signOffs(ctx context.Context) (err error) {
	e.signed, err = e.log.SignOffs(ctx, e.run.ID)
	if e.shown != e.log && e.signed != nil {
		e.signed = nil
		e.gap(signOffGap, errRedacted)
	}
	return err
}

// forgotten says how many rows of the run were forgotten.
func (e *export) forgotten(ctx context.Context) error {
	rows, err := e.log.ForgottenIn(ctx, e.run.ID)
	if err == nil && rows > 0 {
		e.gap(rowsGap, fmt.Errorf("%d were forgotten by order: nothing of them is recorded but their ways and leaves", rows))
	}
	return err
}

func (e *export) mime(context.Context) error { return e.addText(mimeName, mime) }

//go:embed readme.txt
var readme string

func (e *export) readme(context.Context) error { return e.addText(readmeName, readme) }

// events adds what happened in the run.
func (e *export) events(ctx context.Context) (err error) {
	if e.happened, err = history.Of(ctx, e.shown, e.run.ID); err != nil {
		return err
	}
	return e.add(eventsName, func(w io.Writer) error { return history.Write(w, e.happened) })
}

// snapshot adds what the events add up to.
func (e *export) snapshot(context.Context) error {
	s, err := history.Fold(e.happened)
	if err != nil {
		return err
	}
	text, err := s.Encode()
	if err != nil {
		return err
	}
	return e.addText(snapshotName, string(text))
}

// proofs adds the entries of the log.
func (e *export) proofs(ctx context.Context) error {
	proofs, err := e.entries(ctx)
	if errors.Is(err, landscape.ErrNotFound) || errors.Is(err, evidence.ErrUnsigned) {
		e.gap(logGap, err)
		return nil
	}
	for _, p := range proofs {
		if err == nil {
			err = e.addText(entryName(p.Position), p.Entry)
		}
		if err == nil {
			err = e.addText(proofName(p.Position), p.Text)
		}
	}
	return err
}

// entries returns the entries with their proofs. Those about the seal, about sign-offs and about attestations are left out if they are under no signed head yet.
func (e *export) entries(ctx context.Context) (proofs []evidence.Proof, err error) {
	attestations, err := e.log.Attestations(ctx, e.run.ID)
	if err != nil {
		return nil, err
	}
	if e.shown != e.log && attestations != nil {
		attestations = nil
		e.gap(attestationGap, errRedacted)
	}
	looks := evidence.ByNumber(attestations)
	var seals []landscape.RunSeal
	if e.sealed != nil {
		seals = append(seals, *e.sealed)
	}
	all, err := ordersOf(ctx, e.shown, e.run.ID)
	if err != nil {
		return nil, err
	}
	beside := evidence.Beside{Looks: looks, SignOffs: e.signed, Orders: all.records()}
	proofs, without, err := evidence.ProofsOf(ctx, e.log, e.run.ID, beside, seals...)
	if seals != nil && errors.Is(err, evidence.ErrUnsigned) {
		e.gap(sealGap, err)
		proofs, without, err = evidence.ProofsOf(ctx, e.log, e.run.ID, beside)
	}
	if without.Looks || err != nil && looks != nil {
		e.gap(attestationGap, errUncovered)
	}
	if without.Orders || err != nil && beside.Orders != nil {
		e.gap(orderGap, errUncovered)
	}
	if without.SignOffs || err != nil && e.signed != nil {
		e.gap(signOffGap, errUncovered)
	}
	return proofs, err
}

// errUncovered says of attestations, sign-offs and orders that nothing in the bundle vouches for them.
var errUncovered = errors.New("no entry of the log under a signed head is about some of them")

func entryName(position int64) string { return fmt.Sprintf("%s%012d.entry", logFolder, position) }
func proofName(position int64) string { return fmt.Sprintf("%s%012d.proof", logFolder, position) }

// tables are those whose records are of one run, by name.
func tables() (found []*landscape.Table) {
	for _, t := range landscape.Tables() {
		key := t.Columns[0].Name
		if key == "run_id" || key == "parent_run" {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *landscape.Table) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return found
}

// records adds every table that has records of the run: a line for each, by key.
func (e *export) records(ctx context.Context) error {
	for _, t := range tables() {
		some := false
		err := e.each(ctx, t, func(landscape.Record) bool {
			some = true
			return false
		})
		if err == nil && some {
			err = e.add(recordFolder+t.Name+recordSuffix, func(w io.Writer) error { return e.table(ctx, w, t) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *export) table(ctx context.Context, to io.Writer, t *landscape.Table) error {
	w := bufio.NewWriterSize(to, 1<<18)
	var line []byte
	var failed error
	err := e.each(ctx, t, func(r landscape.Record) bool {
		line = append(t.AppendLine(line[:0], r), '\n')
		_, failed = w.Write(line)
		return failed == nil
	})
	return errors.Join(err, failed, w.Flush())
}

// each calls yield with the records that a table has of the run, by key, until it returns false. Of retried rows they are those that the run retries,
// and those of it that others retry.
func (e *export) each(ctx context.Context, t *landscape.Table, yield func(landscape.Record) bool) error {
	of, more := []string{e.run.ID}, true
	if t.Name == (landscape.RetriedRow{}).Table() && e.run.Link == landscape.RetryLink {
		of = append(of, e.run.Parent)
		slices.Sort(of)
	}
	for _, run := range of {
		err := e.shown.Read(ctx, t.Zero(), landscape.Query{Prefix: []any{run}}, func(r landscape.Record) bool {
			retried, ok := r.(landscape.RetriedRow)
			more = ok && run != e.run.ID && retried.Run != e.run.ID || yield(r)
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// sign adds the manifest and the statement about it.
func (e *export) sign(ctx context.Context) error {
	text, err := strictjson.Encode(e.manifest)
	if err != nil {
		return err
	}
	m, d, err := e.zip.Add(manifestName, stored(manifestName), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	balance, policies, err := account(ctx, e.shown, e.run.ID)
	if err != nil {
		return err
	}
	var outputs []Subject
	if e.shown == e.log {
		outputs, err = subjects(ctx, e.log, e.run.ID)
	}
	if err != nil {
		return err
	}
	s := Statement{Type: statementType, PredicateType: predicateType, Predicate: Predicate{
		Balance: balance, Document: e.run.DocumentSHA256, Pipeline: e.run.Pipeline, Plan: e.run.PlanSHA256, Policies: policies, Run: e.run.ID, Status: string(e.run.Status),
	}, Subject: append([]Subject{subject(m.Name, hex.EncodeToString(d.Content[:]))}, outputs...)}
	signed, err := seal(s, e.options.Key)
	if err != nil {
		return err
	}
	_, _, err = e.zip.Add(envelopeName, stored(envelopeName), func(w io.Writer) error {
		_, err := w.Write(signed)
		return err
	})
	return err
}

func subject(name, digest string) Subject {
	s := Subject{Name: name}
	s.Digest.SHA256 = digest
	return s
}
