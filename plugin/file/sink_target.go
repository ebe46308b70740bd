package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"waymark/internal/disk"
	"waymark/internal/failpoint"
	"waymark/plugin"
)

// fileTarget stages the output of one run under a hidden name next to its final one and gives it the final name when it is
// complete. Every part has its own place in the staging, so that repeats, out of order or by two processes at once, write
// the same bytes to the same place.
type fileTarget struct {
	location
	kind    fs.FileMode // 0 or fs.ModeDir
	staging string
	layout  layout
}

// A layout knows how the bytes of an output lie below a name: the staging's, or the final one once it is published. It
// answers with fs.ErrNotExist if there is nothing under the name.
type layout interface {
	// open makes the staging with its header, and reports whether it was not there before. It leaves parts that are there
	// as they are.
	open(at string, header []byte) (made bool, err error)
	// write writes the part in its place and makes it durable.
	write(at string, part plugin.Part, data []byte) error
	// holds reports whether the part is in its place, and if so makes it durable.
	holds(at string, part plugin.Part) (bool, error)
	// seal checks that the staging is exactly the header and these parts, completes it and makes it durable. It also says
	// which file or folder that is.
	seal(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, fs.FileInfo, error)
	// inspectStaged checks that the staging is exactly the header and these parts, and changes nothing.
	inspectStaged(ctx context.Context, at string, header []byte, parts []plugin.Part) error
	// confirm checks that what lies under the final name is exactly what seal made durable.
	confirm(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error)
	// move gives the sealed staging the final name and removes what it replaced.
	move(staging string, sealed fs.FileInfo) error
	// attest says of every piece of what lies under the final name whether it is as it was written.
	attest(ctx context.Context, at string, w plugin.Written) (plugin.Condition, error)
	// discard removes the staging and whatever an interrupted move left.
	discard(staging string) error
}

func (t *fileTarget) Open(ctx context.Context, header []byte) (made bool, err error) {
	err = ctx.Err()
	if err == nil {
		err = t.makeFolder()
	}
	if err == nil {
		err = t.admit(t.kind)
	}
	if err == nil {
		made, err = t.layout.open(t.staging, header)
	}
	if err == nil {
		err = failpoint.Hit("sink.opened")
	}
	if err == nil {
		err = t.disk.SyncDir(path.Dir(t.staging))
	}
	return made, t.classify(err)
}

// Probe writes a file and removes it, in the folder in which the output would be or, where that is to be made, in the nearest one above.
func (t *fileTarget) Probe(ctx context.Context, _ []byte) error {
	err := ctx.Err()
	if err == nil {
		err = t.admit(t.kind)
	}
	if err != nil {
		return t.classify(err)
	}
	folder := path.Dir(t.name)
	for folder != "." && !disk.Exists(t.disk, folder) {
		folder = path.Dir(folder)
	}
	probe := path.Join(folder, ".waymark-probe-"+rand.Text())
	f, err := t.disk.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if at, is := errors.AsType[*fs.PathError](err); is {
			err = at.Err
		}
		return t.fault(codeTargetRefused, "no file can be made in %s: %v", path.Join(t.disk.Name(), folder), err)
	}
	return t.classify(errors.Join(f.Close(), t.disk.Remove(probe)))
}

// Write succeeds as well if another attempt has published the part by now.
func (t *fileTarget) Write(ctx context.Context, part plugin.Part, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if int64(len(data)) != part.Bytes {
		return fmt.Errorf("%s: part %d is said to have %d bytes and has %d", t, part.Ordinal, part.Bytes, len(data))
	}
	err := t.layout.write(t.staging, part, data)
	if errors.Is(err, fs.ErrNotExist) {
		return t.writtenBefore(part)
	}
	return t.classify(err)
}

func (t *fileTarget) writtenBefore(part plugin.Part) error {
	holds, err := t.layout.holds(t.name, part)
	if err = disk.Ignore(err, fs.ErrNotExist); err != nil || holds {
		return t.classify(err)
	}
	return t.gone()
}

// Check never answers Unknown: a region that is missing, empty or holds other bytes is NotApplied, for writing the part
// again is always safe.
func (t *fileTarget) Check(ctx context.Context, part plugin.Part) (plugin.Applied, error) {
	if err := ctx.Err(); err != nil {
		return plugin.Unknown, err
	}
	if err := failpoint.Hit(failpoint.Check); err != nil {
		return plugin.Unknown, disk.Ignore(err, failpoint.ErrUnknown)
	}
	holds, err := t.layout.holds(t.staging, part)
	if errors.Is(err, fs.ErrNotExist) {
		holds, err = t.layout.holds(t.name, part)
	}
	if err = disk.Ignore(err, fs.ErrNotExist); err != nil {
		return plugin.Unknown, t.classify(err)
	}
	if holds {
		return plugin.Exactly, nil
	}
	return plugin.NotApplied, nil
}

// Publish seals the staging and moves it. If there is none, or it is not whole, an earlier attempt may have published: what
// lies under the final name decides.
func (t *fileTarget) Publish(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	artifact, sealed, err := t.layout.seal(ctx, t.staging, header, parts)
	isSealed := err == nil
	if isSealed {
		err = failpoint.Hit("sink.sealed")
	}
	if err == nil {
		err = t.move(sealed)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errBusy) && (!isSealed || !disk.Exists(t.disk, t.staging)) {
		artifact, err = t.publishedBefore(ctx, err, header, parts)
	}
	if err != nil {
		return plugin.Artifact{}, t.classify(err)
	}
	artifact.Path = t.String()
	return artifact, nil
}

// CheckStaged reads the whole staging. If there is none, or it is not whole, what lies under the final name decides, as for Publish.
func (t *fileTarget) CheckStaged(ctx context.Context, header []byte, parts []plugin.Part) error {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return err
	}
	err = t.layout.inspectStaged(ctx, t.staging, header, parts)
	if err == nil || ctx.Err() != nil {
		return t.classify(err)
	}
	if _, failed := t.layout.confirm(ctx, t.name, header, parts); failed == nil {
		return nil
	}
	if !disk.Exists(t.disk, t.staging) {
		err = t.gone()
	}
	return t.classify(err)
}

func (t *fileTarget) Verify(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	if info, err := t.disk.Lstat(t.name); err == nil && info.Mode().Type() != t.kind {
		return plugin.Artifact{}, t.changed("the published output is gone: there is %s", kindName(info))
	}
	artifact, err := t.layout.confirm(ctx, t.name, header, parts)
	if errors.Is(err, fs.ErrNotExist) {
		err = t.changed("the published output is gone")
	}
	if other, ok := errors.AsType[*irregular](err); ok {
		err = t.changed("%v", other)
	}
	if err != nil {
		return plugin.Artifact{}, t.classify(err)
	}
	artifact.Path = t.String()
	return artifact, nil
}

func (t *fileTarget) move(sealed fs.FileInfo) error {
	if t.overwrite {
		if err := t.admit(t.kind); err != nil {
			return err
		}
	}
	if err := t.layout.move(t.staging, sealed); err != nil {
		return err
	}
	if err := failpoint.Hit("sink.published"); err != nil {
		return err
	}
	return t.disk.SyncDir(path.Dir(t.name))
}

// publishedBefore returns the artifact if the final name holds it, and otherwise the error that seal or move ended with.
func (t *fileTarget) publishedBefore(ctx context.Context, failed error, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	artifact, err := t.layout.confirm(ctx, t.name, header, parts)
	if err == nil {
		return artifact, errors.Join(t.layout.discard(t.staging), t.disk.SyncDir(path.Dir(t.name)))
	}
	if !disk.Exists(t.disk, t.staging) {
		return plugin.Artifact{}, t.gone()
	}
	return plugin.Artifact{}, failed
}

// errBusy says that another attempt is about to publish the same output, and that this one has to come again.
var errBusy = errors.New("another attempt publishes this output at the same time")

func (t *fileTarget) gone() error {
	return t.changed("what this run wrote is gone: there is no %s, and the final name does not hold it", path.Base(t.staging))
}

// inOrder returns the parts by ordinal, or an error if they and the header leave a gap or overlap.
func (t *fileTarget) inOrder(header []byte, parts []plugin.Part) ([]plugin.Part, error) {
	parts, gap := InOrder(header, parts)
	if gap != "" {
		return nil, t.fault(codeTargetRefused, "%s", gap)
	}
	return parts, nil
}

// InOrder returns the parts by ordinal, and where they and the header leave a gap or overlap; "" for nowhere.
func InOrder(header []byte, parts []plugin.Part) (ordered []plugin.Part, gap string) {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b plugin.Part) int { return int(a.Ordinal - b.Ordinal) })
	end := int64(len(header))
	for i, part := range parts {
		if part.Ordinal != int64(i) || part.Offset != end {
			return nil, fmt.Sprintf("part %d at byte %d does not follow what is before it: part %d at byte %d belongs here",
				part.Ordinal, part.Offset, i, end)
		}
		end += part.Bytes
	}
	return parts, ""
}

func (t *fileTarget) Discard(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := failpoint.Hit("sink.discarding")
	if err == nil {
		err = t.layout.discard(t.staging)
	}
	if err == nil {
		err = disk.Ignore(t.disk.SyncDir(path.Dir(t.staging)), fs.ErrNotExist)
	}
	return t.classify(err)
}
