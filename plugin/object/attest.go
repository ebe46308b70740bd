package object

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"waymark/internal/defect"
	"waymark/plugin"
	"waymark/plugin/file"
)

var _ plugin.Attester = (*target)(nil)

// Attest goes by the checksums that the service keeps of the objects, if the manifest in force is the run's: it has those that the objects should have. An object
// without a checksum, or under another manifest, is read.
func (t *target) Attest(ctx context.Context, w plugin.Written) (plugin.Condition, error) {
	parts, err := t.inOrder(w.Header, w.Parts)
	if err != nil {
		return plugin.Condition{}, err
	}
	w.Parts = parts
	sums, frame, err := t.attestManifest(ctx, w)
	if err != nil {
		return plugin.Condition{}, err
	}
	states := make([]plugin.Finding, len(parts))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i, part := range parts {
		if w.Look(part) {
			group.Go(func() error {
				return defect.Catch("objects", func() (err error) {
					states[i], err = t.attestPart(within, part, w, sums[file.PartName(part.Ordinal, t.extension)])
					return err
				})
			})
		}
	}
	if err := group.Wait(); err != nil {
		return plugin.Condition{}, err
	}
	found := plugin.Condition{Unit: plugin.Pieces}
	found.Add(1, frame) // first: only so many findings are kept
	for i, part := range parts {
		if w.Look(part) {
			found.AddPart(part, states[i])
		}
	}
	return found, nil
}

// attestManifest looks at the manifest, and for objects in the run's folder that are not of the output. sums are the checksums that the parts should have, by name;
// nil if the manifest does not say so.
func (t *target) attestManifest(ctx context.Context, w plugin.Written) (sums map[string]string, frame plugin.Finding, err error) {
	found, err := t.read(ctx, t.manifestKey())
	if errors.Is(err, errNone) {
		frame, err = orReplaced(ctx, plugin.Finding{State: plugin.Missing, Why: "there is no " + t.manifestKey()}, "", w)
		return nil, frame, err
	}
	if err != nil {
		return nil, frame, err
	}
	m, ours := file.ParseManifest(found.data)
	said, err := m.Artifact()
	text, encoded := m.Encode()
	if err := errors.Join(err, encoded); err != nil {
		return nil, frame, err
	}
	digest := ""
	if ours && string(text) == string(found.data) {
		digest = said.SHA256
	}
	switch {
	case ours && m.Folder != t.run:
		why := fmt.Sprintf("%s is the one of run %s", t.manifestKey(), m.Folder)
		frame, err = orReplaced(ctx, plugin.Finding{State: plugin.Changed, Why: why, Run: m.Folder}, digest, w)
		return nil, frame, err
	case digest != w.Artifact.SHA256:
		why := t.manifestKey() + " is not the one that was written" + t.versionOf(ctx, t.manifestKey())
		frame, err = orReplaced(ctx, plugin.Finding{State: plugin.Changed, Why: why}, digest, w)
		return nil, frame, err
	}
	sums = map[string]string{}
	for _, part := range m.Parts {
		sums[part.File] = part.SHA256
	}
	if err := t.checkStray(ctx, m); err != nil {
		if fault, is := errors.AsType[*plugin.TargetError](err); is && fault.Code == codeTargetChanged {
			return sums, plugin.Finding{State: plugin.Changed, Why: "the folder " + t.key("") + " holds an object that the run did not write"}, nil
		}
		return nil, frame, err
	}
	return sums, plugin.Finding{State: plugin.AsWritten}, nil
}

// orReplaced says of a manifest that is not as the run wrote it that the run that it names replaced it, if it has the digest of the one that this run wrote, and later.
// Nothing else of an output is ever replaced: each run has a folder of its own.
func orReplaced(ctx context.Context, manifest plugin.Finding, digest string, w plugin.Written) (plugin.Finding, error) {
	later, err := w.Later(ctx)
	if err != nil {
		return manifest, err
	}
	if slices.ContainsFunc(later, func(by plugin.WrittenBy) bool { return by.Run == manifest.Run && by.Artifact.SHA256 == digest }) {
		manifest.State = plugin.Replaced
		return manifest, nil
	}
	manifest.Run = ""
	if len(later) > 0 {
		manifest.Why += fmt.Sprintf("; and it is not as run %s wrote it, which published there since", later[0].Run)
	}
	return manifest, nil
}

func (t *target) attestPart(ctx context.Context, part plugin.Part, w plugin.Written, sum string) (plugin.Finding, error) {
	key := t.partKey(part)
	there, err := t.head(ctx, key)
	if errors.Is(err, errNone) {
		return plugin.Finding{State: plugin.Missing, Why: "there is no " + key}, nil
	}
	if err != nil {
		return plugin.Finding{}, err
	}
	if sum != "" && there.sum == sum && there.bytes == int64(len(w.Header))+part.Bytes {
		return plugin.Finding{State: plugin.AsWritten}, nil
	}
	found, err := t.read(ctx, key)
	if errors.Is(err, errNone) {
		return plugin.Finding{State: plugin.Missing, Why: "there is no " + key}, nil
	}
	if err != nil {
		return plugin.Finding{}, err
	}
	state := file.AttestPart(ctx, key, found.data, part, w)
	if state.State != plugin.AsWritten {
		state.Why += named(there.version)
	}
	return state, nil
}

// versionOf says which version of an object is in force; "" if the bucket keeps none.
func (t *target) versionOf(ctx context.Context, key string) string {
	there, err := t.head(ctx, key)
	if err != nil {
		return ""
	}
	return named(there.version)
}

func named(version string) string {
	if version == "" {
		return ""
	}
	return ": its version is " + version
}
