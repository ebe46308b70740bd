package object

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"waymark/internal/defect"
	"waymark/plugin"
	"waymark/plugin/file"
)

// target writes the output of one run:
//
//	PREFIX/manifest.json          put last, by a conditional request: who reads it sees the old output or the new one
//	PREFIX/RUN/part-00000.csv     the header and the bytes of a part
//	PREFIX/RUN/.header            while the run writes: the header, and the manifest that was in force when it began
//
// No object is put without the condition that it is not there, or is still what was found, so that attempts that come twice, late or
// at the same time do no harm.
type target struct {
	bucketDestination
	run string
}

// headerName is the object that marks a place that is ready.
const headerName = ".header"

// Names of an object's metadata. They stand in buckets; never rename.
const (
	aboutAttempt  = "waymark-attempt"  // of the header: which attempt put it
	aboutReplaced = "waymark-replaces" // of the header: ETag of the manifest that the run replaces; none if it replaces nothing
	aboutPart     = "waymark-part"     // of a part: hex SHA-256 without the header
	aboutWhole    = "waymark-whole"    // of a part: hex SHA-256 of the object
)

func (t *target) manifestKey() string { return t.prefix + "/" + file.ManifestName }

func (t *target) key(name string) string { return t.prefix + "/" + t.run + "/" + name }

func (t *target) partKey(part plugin.Part) string {
	return t.key(file.PartName(part.Ordinal, t.extension))
}

func (t *target) Open(ctx context.Context, header []byte) (made bool, err error) {
	found, err := t.read(ctx, t.manifestKey())
	if err != nil && !errors.Is(err, errNone) {
		return false, err
	}
	about := map[string]string{aboutAttempt: rand.Text()}
	if err == nil {
		if err := t.admit(found); err != nil {
			return false, err
		}
		about[aboutReplaced] = found.etag
	}
	err = t.create(ctx, t.key(headerName), header, about)
	if !errors.Is(err, errThere) {
		return err == nil, err
	}
	there, err := t.head(ctx, t.key(headerName)) // it may have been put by a request of this call whose reply was lost
	return err == nil && there.about[aboutAttempt] == about[aboutAttempt], err
}

// Probe puts an object and removes it.
func (t *target) Probe(ctx context.Context, _ []byte) error {
	found, err := t.read(ctx, t.manifestKey())
	if err == nil {
		err = t.admit(found)
	}
	if err != nil && !errors.Is(err, errNone) {
		return err
	}
	key := t.prefix + "/.waymark-probe-" + rand.Text()
	if err := t.create(ctx, key, []byte("It was looked whether a run could write here. Nobody needs this any more.\n"), nil); err != nil {
		return err
	}
	return t.remove(ctx, key)
}

// admit says whether the manifest that was found may be replaced.
func (t *target) admit(found content) error {
	if !t.overwrite {
		return t.occupied()
	}
	if m, ok := file.ParseManifest(found.data); !ok || m.Folder == "" {
		return t.fault(codeTargetRefused, "holds a %s that is not Waymark's; remove it or choose another path", file.ManifestName)
	}
	return nil
}

// Write succeeds as well if another attempt has published the part by now.
func (t *target) Write(ctx context.Context, part plugin.Part, data []byte) error {
	if int64(len(data)) != part.Bytes || sha256.Sum256(data) != part.SHA256 {
		return fmt.Errorf("%s: part %d is said to have %d bytes and another digest than these %d bytes", t.Location(), part.Ordinal, part.Bytes, len(data))
	}
	header, err := t.read(ctx, t.key(headerName))
	if errors.Is(err, errNone) {
		return t.writtenBefore(ctx, part)
	}
	if err != nil {
		return err
	}
	whole := slices.Concat(header.data, data)
	sum := sha256.Sum256(whole)
	about := map[string]string{aboutPart: hex.EncodeToString(part.SHA256[:]), aboutWhole: hex.EncodeToString(sum[:])}
	for {
		err := t.create(ctx, t.partKey(part), whole, about)
		if !errors.Is(err, errThere) {
			return err
		}
		there, err := t.head(ctx, t.partKey(part))
		if errors.Is(err, errNone) {
			continue // somebody discards it at the same time; whether that is right the header says
		}
		if err != nil || there.sum == about[aboutWhole] {
			return err
		}
		err = t.replace(ctx, t.partKey(part), there.etag, whole, about)
		if !errors.Is(err, errThere) && !errors.Is(err, errNone) {
			return err
		}
	}
}

func (t *target) writtenBefore(ctx context.Context, part plugin.Part) error {
	found, err := t.read(ctx, t.partKey(part))
	if errors.Is(err, errNone) || err == nil && !endsWith(found.data, part) {
		return t.gone()
	}
	return err
}

func endsWith(data []byte, part plugin.Part) bool {
	start := int64(len(data)) - part.Bytes
	return start >= 0 && sha256.Sum256(data[start:]) == part.SHA256
}

// Check never answers Unknown: a part that is missing or holds other bytes can be written again. It reads the object, for its
// checksum is that of header and part together.
func (t *target) Check(ctx context.Context, part plugin.Part) (plugin.Applied, error) {
	found, err := t.read(ctx, t.partKey(part))
	if errors.Is(err, errNone) {
		return plugin.NotApplied, nil
	}
	if err != nil {
		return plugin.Unknown, err
	}
	header, err := t.read(ctx, t.key(headerName))
	if err != nil && !errors.Is(err, errNone) {
		return plugin.Unknown, err
	}
	staged := err == nil
	if !endsWith(found.data, part) || staged && !bytes.Equal(header.data, found.data[:int64(len(found.data))-part.Bytes]) {
		return plugin.NotApplied, nil
	}
	return plugin.Exactly, nil
}

func (t *target) Publish(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	m, staged, err := t.staged(ctx, header, parts)
	if errors.Is(err, errNone) {
		return t.confirm(ctx, header, parts, t.inspect)
	}
	if err == nil {
		err = t.publish(ctx, m, staged.about[aboutReplaced])
	}
	if err == nil {
		err = t.remove(ctx, t.key(headerName))
	}
	if err != nil {
		return plugin.Artifact{}, err
	}
	return t.artifact(m)
}

// CheckStaged goes by the checksums that the service keeps, as Publish does.
func (t *target) CheckStaged(ctx context.Context, header []byte, parts []plugin.Part) error {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return err
	}
	_, _, err = t.staged(ctx, header, parts)
	if errors.Is(err, errNone) {
		_, err = t.confirm(ctx, header, parts, t.inspect)
	}
	return err
}

// staged describes the output that is staged, and returns the object of its header. The error wraps errNone if nothing is staged.
func (t *target) staged(ctx context.Context, header []byte, parts []plugin.Part) (m file.Manifest, top content, err error) {
	if top, err = t.read(ctx, t.key(headerName)); err != nil {
		return m, top, err
	}
	if !bytes.Equal(top.data, header) {
		return m, top, t.changed("%s holds another header", t.key(headerName))
	}
	m, err = t.manifest(ctx, header, parts, t.inspect)
	return m, top, err
}

// publish puts the manifest in the place of the one with the ETag, or where none is.
func (t *target) publish(ctx context.Context, m file.Manifest, replaces string) error {
	text, err := m.Encode()
	if err != nil {
		return err
	}
	if replaces != "" {
		err = t.replace(ctx, t.manifestKey(), replaces, text, nil)
	}
	if replaces == "" || errors.Is(err, errNone) { // or somebody removed what was to be replaced
		err = t.create(ctx, t.manifestKey(), text, nil)
	}
	if !errors.Is(err, errThere) {
		return err
	}
	found, err := t.read(ctx, t.manifestKey())
	if errors.Is(err, errNone) {
		return fmt.Errorf("%s: %s was removed while the output was published", t.Location(), file.ManifestName)
	}
	if err == nil && !bytes.Equal(found.data, text) {
		return t.occupied()
	}
	return err
}

func (t *target) Verify(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	return t.confirm(ctx, header, parts, t.reread)
}

// confirm describes the output if it is the one that is published.
func (t *target) confirm(ctx context.Context, header []byte, parts []plugin.Part, look looking) (plugin.Artifact, error) {
	m, err := t.manifest(ctx, header, parts, look)
	if err != nil {
		return plugin.Artifact{}, err
	}
	text, err := m.Encode()
	if err != nil {
		return plugin.Artifact{}, err
	}
	found, err := t.read(ctx, t.manifestKey())
	if errors.Is(err, errNone) || err == nil && !bytes.Equal(found.data, text) {
		return plugin.Artifact{}, t.gone()
	}
	if err != nil {
		return plugin.Artifact{}, err
	}
	return t.artifact(m)
}

func (t *target) artifact(m file.Manifest) (plugin.Artifact, error) {
	artifact, err := m.Artifact()
	artifact.Path = t.Location()
	return artifact, err
}

// looking looks at the object of a part and describes it, or fails if that is not what the run wrote.
type looking func(ctx context.Context, header []byte, part plugin.Part) (file.ManifestPart, error)

// manifest looks at the objects of all parts and describes them. The run's folder may hold nothing else.
func (t *target) manifest(ctx context.Context, header []byte, parts []plugin.Part, look looking) (file.Manifest, error) {
	entries := make([]file.ManifestPart, len(parts))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i, part := range parts {
		group.Go(func() error {
			return defect.Catch("objects", func() (err error) {
				entries[i], err = look(within, header, part)
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return file.Manifest{}, err
	}
	m := file.NewManifest(t.sink)
	m.Folder = t.run
	for _, entry := range entries {
		m.Add(entry)
	}
	return m, t.checkStray(ctx, m)
}

func (t *target) checkStray(ctx context.Context, m file.Manifest) error {
	keys, err := t.list(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{t.key(headerName): true}
	for _, part := range m.Parts {
		known[t.key(part.File)] = true
	}
	for _, key := range keys {
		if !known[key] {
			return t.changed("%s is not one of the run's parts; remove it", key)
		}
	}
	return nil
}

// inspect goes by the checksum that the service keeps of the object, and by what the run noted of it in the request that put it.
// Where the service keeps none, the object is read.
func (t *target) inspect(ctx context.Context, header []byte, part plugin.Part) (file.ManifestPart, error) {
	there, err := t.head(ctx, t.partKey(part))
	if errors.Is(err, errNone) {
		return file.ManifestPart{}, t.missing(part)
	}
	if err != nil {
		return file.ManifestPart{}, err
	}
	if there.sum == "" {
		return t.reread(ctx, header, part)
	}
	size := int64(len(header)) + part.Bytes
	if there.bytes != size || there.sum != there.about[aboutWhole] || there.about[aboutPart] != hex.EncodeToString(part.SHA256[:]) {
		return t.reread(ctx, header, part)
	}
	return t.entry(header, part, there.sum), nil
}

// reread reads the object.
func (t *target) reread(ctx context.Context, header []byte, part plugin.Part) (file.ManifestPart, error) {
	found, err := t.read(ctx, t.partKey(part))
	if errors.Is(err, errNone) {
		return file.ManifestPart{}, t.missing(part)
	}
	if err != nil {
		return file.ManifestPart{}, err
	}
	if !endsWith(found.data, part) || !bytes.Equal(found.data[:int64(len(found.data))-part.Bytes], header) {
		return file.ManifestPart{}, t.changed("part %d, %s, does not hold what the run wrote", part.Ordinal, t.partKey(part))
	}
	sum := sha256.Sum256(found.data)
	return t.entry(header, part, hex.EncodeToString(sum[:])), nil
}

func (t *target) entry(header []byte, part plugin.Part, sum string) file.ManifestPart {
	return file.ManifestPart{
		File: file.PartName(part.Ordinal, t.extension), Rows: part.Rows, Bytes: int64(len(header)) + part.Bytes, SHA256: sum,
	}
}

func (t *target) inOrder(header []byte, parts []plugin.Part) ([]plugin.Part, error) {
	parts, gap := file.InOrder(header, parts)
	if gap != "" {
		return nil, t.fault(codeTargetRefused, "%s", gap)
	}
	return parts, nil
}

// Discard leaves the parts of a run that is published, also if another run's output is in force by now: only their header goes.
func (t *target) Discard(ctx context.Context) error {
	found, err := t.read(ctx, t.manifestKey())
	if err != nil && !errors.Is(err, errNone) {
		return err
	}
	if m, ok := file.ParseManifest(found.data); err == nil && ok && m.Folder == t.run {
		return t.remove(ctx, t.key(headerName))
	}
	keys, err := t.list(ctx)
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for _, key := range keys {
		group.Go(func() error { return defect.Catch("objects", func() error { return t.remove(within, key) }) })
	}
	return group.Wait()
}

func (t *target) fault(code, format string, args ...any) error {
	return &plugin.TargetError{Code: code, Target: t.Location(), Message: fmt.Sprintf(format, args...)}
}

func (t *target) occupied() error {
	if t.overwrite {
		return t.fault(codeTargetExists, "another run published here since this one began; look at its output, and start over with waymark resume --fork")
	}
	return t.fault(codeTargetExists, "holds a %s already; remove it, choose another path, or set overwrite: true", file.ManifestName)
}

func (t *target) changed(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	return t.fault(codeTargetChanged, "%s; put the output back as it was, or write it again with a new run", what)
}

func (t *target) missing(part plugin.Part) error {
	return t.changed("part %d, %s, is missing", part.Ordinal, t.partKey(part))
}

func (t *target) gone() error {
	return t.changed("what run %s wrote is not what is published, and not there to be published", t.run)
}
