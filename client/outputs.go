package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/pipeline"
	"waymark/pipeline/schema"
)

// OutputState is what a target holds.
type OutputState string

// What a target may hold.
const (
	OutputPublished OutputState = "published" // what a run published; of a table its entries, whose rows are as the newest attestations found them
	OutputChanged   OutputState = "changed"   // what no run published, or nothing: somebody changed it since
	OutputUnknown   OutputState = "unknown"   // it cannot be looked at from here
	OutputWriting   OutputState = "writing"   // nothing was published yet, and a run writes
)

// TargetOutputs is what is known of a place that runs write to.
type TargetOutputs struct {
	Target    string        `json:"target"` // as the last run recorded it
	State     OutputState   `json:"state"`
	Run       string        `json:"run,omitempty"`              // that published what is there; of a table the last one
	Detail    string        `json:"detail,omitempty"`           // what became of the last output, if that is not what is there, or why that is unknown
	Table     bool          `json:"table,omitempty"`            // rows are not read: only the entries that runs left beside the table
	Writing   string        `json:"being_written_by,omitempty"` // a run that writes there now, and published nothing yet
	Published []Publication `json:"published"`                  // the last one first; not nil
}

// Publication is one time that a run published an output.
type Publication struct {
	Run      string `json:"run"`
	Pipeline string `json:"pipeline"`
	Sink     string `json:"sink"`
	Slot     string `json:"slot,omitempty"` // of time, that the run is about
	At       Time   `json:"published"`
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	There    bool   `json:"there"` // the target holds it; of a table, rows of several runs

	Schema   *schema.Schema `json:"schema,omitempty"`   // of its rows
	Attested *SinkAttested  `json:"attested,omitempty"` // what its newest attestation found; nil if it has none
}

// Outputs says who wrote to a target, at most so many times as limit says or all if that is 0 or less, and who made what is there now: the
// target is read, and compared with all that runs published there. target is a path, relative to the working directory, the URL of a bucket's folder
// or of a table, the name of a table, or the latest of a sink: then the output that it should lead to is meant, and the state is OutputChanged if it does not. The error is an
// *Error of kind NotFound if no run wrote there, and of kind Invalid if several tables have the name.
func (c *Client) Outputs(ctx context.Context, target string, limit int) (outputs *TargetOutputs, err error) {
	defer c.edge(ctx, &err)
	target, astray, err := c.ledTo(ctx, target)
	if err != nil {
		return nil, err
	}
	is := sameTarget(target)
	records, err := c.log.Publications(ctx, is)
	if err != nil {
		return nil, err
	}
	outputs = &TargetOutputs{Target: target, State: OutputWriting, Published: []Publication{}}
	if outputs.Writing, err = c.writing(ctx, is); err != nil {
		return nil, err
	}
	if records == nil {
		if outputs.Writing == "" {
			err = &Error{Kind: NotFound, Code: OutputNotFound, Message: fmt.Sprintf("no run wrote to %s: name the target as waymark status shows it", lookedFor(target))}
		}
		return outputs, err
	}
	outputs.Target = records[0].Path
	if err := oneTarget(target, records); err != nil {
		return nil, err
	}
	for i, record := range records {
		if limit > 0 && i == limit {
			break
		}
		publication, err := c.publication(ctx, record)
		if err != nil {
			return nil, err
		}
		outputs.Published = append(outputs.Published, publication)
	}
	if err := c.look(ctx, outputs, records); err != nil {
		return nil, err
	}
	altered := outputs.altered()
	switch {
	case astray != "":
		outputs.State, outputs.Run, outputs.Detail = OutputChanged, "", astray
	case altered != nil:
		outputs.State, outputs.Run = OutputChanged, ""
		outputs.Detail = fmt.Sprintf("attestation %d of run %s found at %s that rows are %s: %s", altered.Attested.Number, altered.Run, moment(altered.Attested.At), altered.Attested.Result, altered.Attested.Reason)
	}
	return outputs, nil
}

// altered returns the publication whose rows in the table are not as its run wrote them, as the newest attestation found; nil if none is known. Of other
// targets the content itself says more.
func (o *TargetOutputs) altered() *Publication {
	i := slices.IndexFunc(o.Published, func(p Publication) bool { return o.Table && p.There && p.Attested != nil && p.Attested.Altered() })
	if i < 0 {
		return nil
	}
	return &o.Published[i]
}

// LastRun returns the run that published there last, or else the one that writes there now.
func (o *TargetOutputs) LastRun() string {
	if len(o.Published) > 0 {
		return o.Published[0].Run
	}
	return o.Writing
}

// Check says what the target holds as a doctor does.
func (o *TargetOutputs) Check() Check {
	check := Good("%s is what run %s published", o.Target, o.Run)
	if o.Table {
		check = Good("%s has the entries that run %s left beside it: attest the run to compare its rows", o.Target, o.Run)
	}
	switch o.State {
	case OutputChanged:
		check = Failure(ShowOutputs, "%s is not what a run published: %s", o.Target, o.Detail)
	case OutputUnknown:
		check = Warning("", "%s cannot be compared: %s", o.Target, o.Detail)
	case OutputWriting:
		check = Good("run %s writes to %s, and published nothing there yet", o.Writing, o.Target)
	case OutputPublished:
		if o.Run != o.LastRun() {
			check = Warning(ShowOutputs, "%s is what run %s published, and not what run %s published last", o.Target, o.Run, o.LastRun())
		}
	}
	check.Name, check.About = "target", o.Target
	return check
}

// lookedFor says of a target that is no absolute path and no URL where it was looked for.
func lookedFor(target string) string {
	folder, err := filepath.Abs(".")
	if err != nil || isURL(target) || filepath.IsAbs(target) {
		return target
	}
	return fmt.Sprintf("a file or folder %s in %s, nor to a table of that name", target, folder)
}

// ledTo returns the target of the output that a sink's latest leads to, if target is such a name, and else target itself. astray says why the name
// does not lead there; empty if it does, or if that is not known.
func (c *Client) ledTo(ctx context.Context, target string) (to, astray string, err error) {
	name := canonical(target)
	if !isURL(target) {
		name = realPath(target)
	}
	latest, err := c.log.LatestOutput(ctx, name)
	if errors.Is(err, landscape.ErrNotFound) {
		return target, "", nil
	}
	if err != nil {
		return "", "", err
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return "", "", err
	}
	found, err := auditor.Led(ctx, latest)
	if found.Known {
		astray = found.Why
	}
	return latest.Path, astray, err
}

// oneTarget fails if the records are of several targets, because a word names tables of several databases, or a table and a file.
func oneTarget(word string, records []landscape.ArtifactRecord) error {
	for _, record := range records {
		if first := records[0].Path; !isURL(word) && isURL(first) != isURL(record.Path) || isURL(first) && canonical(record.Path) != canonical(first) {
			return &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("%s is %s and %s: write which", word, first, record.Path)}
		}
	}
	return nil
}

func (c *Client) publication(ctx context.Context, record landscape.ArtifactRecord) (Publication, error) {
	run, err := c.recorded(ctx, record.Run)
	if err != nil {
		return Publication{}, err
	}
	start, err := c.log.StartOfRun(ctx, record.Run)
	if err != nil {
		return Publication{}, err
	}
	fields, err := schema.Parse(record.Schema)
	if err != nil {
		return Publication{}, err
	}
	newest, err := c.Attested(ctx, record.Run, record.Sink)
	return Publication{
		Run: record.Run, Pipeline: run.Pipeline, Sink: record.Sink, Slot: start.Slot, At: Time(record.Published), Rows: record.Rows, Bytes: record.Bytes, SHA256: record.SHA256,
		Schema: fields, Attested: newest.inShort(),
	}, err
}

// look finds out which of the outputs are there: of a table any of those that are listed, else the last one that is. That is the last one that was
// published, unless somebody put an older one back.
func (c *Client) look(ctx context.Context, outputs *TargetOutputs, records []landscape.ArtifactRecord) error {
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return err
	}
	outputs.State = OutputChanged
	looked := map[string]bool{}
	for i, record := range records {
		if looked[record.SHA256] {
			continue // the same bytes, which are not there
		}
		found, err := auditor.Presence(ctx, record)
		if err != nil {
			return err
		}
		outputs.tell(i, record.Run, found)
		if !found.Known || found.There && !found.Table || found.Table && i+1 >= len(outputs.Published) {
			return nil
		}
		looked[record.SHA256] = !found.Table
	}
	return nil
}

// tell takes into account what was found of the output with this number.
func (o *TargetOutputs) tell(i int, run string, found audit.Presence) {
	if i == 0 {
		o.Detail = found.Why
	}
	o.Table = o.Table || found.Table
	if i < len(o.Published) {
		o.Published[i].There = found.There
	}
	switch {
	case found.There && o.Run == "":
		o.State, o.Run = OutputPublished, run
	case !found.Known && o.Run == "":
		o.State, o.Detail = OutputUnknown, found.Why
	}
}

// writing returns the run that writes to the target now; "" if none does.
func (c *Client) writing(ctx context.Context, is func(string) bool) (string, error) {
	state, err := c.log.Places(ctx, c.log.Now().Time())
	for _, claim := range state.Going {
		for _, want := range claim.Wants {
			if want.IsTarget() && is(gateTarget(want)) {
				return claim.Run, err
			}
		}
	}
	return "", err
}

// gateTarget returns the target of a gate; of a bucket without the service that it is at.
func gateTarget(want admit.Want) string {
	target := strings.TrimPrefix(want.Gate, admit.Target("").Gate)
	if isURL(target) {
		target, _, _ = strings.Cut(target, " at ")
	}
	return target
}

// sameTarget returns what says of a target on record whether a person means it with a word.
func sameTarget(word string) func(path string) bool {
	if isURL(word) {
		want := canonical(word)
		return func(path string) bool { return canonical(path) == want }
	}
	table := pipeline.ParseTableName(word).String()
	want := realPath(word)
	return func(path string) bool {
		if isURL(path) {
			return strings.HasPrefix(path, postgresScheme) && path[strings.LastIndex(path, "/")+1:] == table
		}
		return filepath.Base(path) == filepath.Base(want) && realPath(path) == want
	}
}

const (
	postgresScheme = "postgres://"
	postgresPort   = "5432"
)

// canonical is a URL as runs record it: without slashes at its end, and that of a table without user, password and options, with the port and
// the schema.
func canonical(target string) string {
	target = strings.TrimRight(target, "/")
	at, err := url.Parse(target)
	if err != nil || !slices.Contains([]string{"postgres", "postgresql"}, at.Scheme) {
		return target
	}
	if at.Port() == "" {
		at.Host = net.JoinHostPort(at.Hostname(), postgresPort)
	}
	database, table, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
	return postgresScheme + at.Host + "/" + database + "/" + pipeline.ParseTableName(table).String()
}

// realPath is the absolute path without symbolic links on the way, as far as there is one.
func realPath(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return absolute
	}
	return filepath.Join(folder, filepath.Base(absolute))
}
