package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"waymark/audit/evidence"
	"waymark/client"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/worker/storage"
)

// notaryEvery is how often new entries of the log are signed while this process executes runs. Measured with ten-row runs: the last pass, at
// the end, takes 20 ms.
const notaryEvery = 2 * time.Second

// openLog compares the landscape's log with the heads that were signed before this process writes anything, and begins to sign it.
func (h *Home) openLog(ctx context.Context) error {
	switch {
	case h.evidence != nil && (h.evidence.Unsealed == "" || h.options.Cluster == nil):
		return nil
	case h.options.Cluster != nil:
		return h.joinLog(ctx)
	}
	o := h.options.evidence()
	err := os.MkdirAll(h.options.State.Anchor(), 0o700)
	if err == nil {
		h.evidence, err = evidence.Open(ctx, h.stores.Log, o)
	}
	if err != nil {
		return h.options.wordedLog(ctx, err)
	}
	h.stores.Log = h.evidence.Log
	if why := h.evidence.Unsealed; why != "" && !h.evidence.Revoked {
		h.options.Warn("runs of this process have no entries in the log: " + why)
	}
	if why := h.evidence.Replaced; why != nil {
		h.options.Warn("this process does not sign the log: " + why.Error())
	}
	for _, why := range append(h.evidence.Away, h.evidence.Silent...) {
		h.options.Warn(why.Error())
	}
	if h.evidence.Notary != nil {
		h.notarize = h.work(h.evidence.Notary)
	}
	return nil
}

// joinLog lets a process that leaves runs to the workers of a cluster, or to the process that serves on the state folder, append to the log that these began, with the
// sealer's key in its folder of keys, if that counts. It makes no key and signs no heads.
func (h *Home) joinLog(ctx context.Context) error {
	size, err := h.stores.Log.LogSize(ctx)
	if err != nil || size == 0 {
		return err
	}
	o := h.options.evidence()
	o.Make = false
	if !h.options.private() {
		o.Anchors = o.Anchors[1:] // the state folder's own is of the log of runs that are executed there
	}
	opened, err := evidence.Open(ctx, h.stores.Log, o)
	if _, unusable := errors.AsType[*evidence.UnusableKeyError](err); unusable {
		opened, err = &evidence.Evidence{Log: h.stores.Log, Unsealed: err.Error()}, nil
	}
	if err != nil {
		return h.options.wordedLog(ctx, err)
	}
	h.evidence, h.stores.Log = opened, opened.Log
	return nil
}

// unsealed says why this process makes no entries, for people; empty if it makes them.
func (h *Home) unsealed() string {
	if h.evidence == nil {
		return "the log has not begun: the first run begins it"
	}
	return h.evidence.Unsealed
}

// keyless refuses, if the log has begun and this process makes no entries, what the log would not know.
func (h *Home) keyless(ctx context.Context) error {
	why := h.unsealed()
	if why == "" {
		return nil
	}
	size, err := h.stores.Log.LogSize(ctx)
	if err != nil || size == 0 {
		return err
	}
	return noEntry(why)
}

func noEntry(why string) error {
	return keyError(fmt.Errorf("the log would have no entry about it: %s; --keys names the folder of a sealer's key that counts", why))
}

// checkAnchors refuses what cannot be an anchor.
func checkAnchors(anchors ...string) error {
	for _, anchor := range anchors {
		if err := evidence.CheckAnchor(anchor); err != nil {
			return invalidOption(err)
		}
	}
	return nil
}

// work lets a notary work, and returns what ends it after a last pass.
func (h *Home) work(notary *evidence.Notary) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defect.Again(ctx, "log", func() { notary.Work(ctx, notaryEvery, h.options.Logger, func() {}) })()
	}()
	return func() {
		stop()
		<-done
	}
}

// removed is the error about a landscape in a file that is not there, or empty, though an anchor has heads of its log; nil if none has. Nothing may
// be made then: a new file would look like an old record whose log was lost.
func (o *Options) removed() error {
	path, elsewhere := storage.LandscapePath(o.Landscape)
	if o.Cluster != nil || elsewhere != nil {
		return nil //nolint:nilerr // the record is in no file: the anchors are of runs here
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, anchor := range o.logAnchors() {
		if begun, _ := evidence.PlaceOf(anchor).Begun(context.Background()); begun { // one that is away stops nothing
			return damaged(client.LogRolledBack, &evidence.RemovedError{Record: path, Place: anchor})
		}
	}
	return nil
}

func damaged(code client.Code, err error) error {
	return &client.Error{Kind: client.Damaged, Code: code, Message: err.Error(), Err: err}
}

// evidence says which keys sign the log, and where its heads go.
func (o *Options) evidence() evidence.Options {
	keys, anchors := o.Keys, o.logAnchors()
	if keys == "" {
		keys = o.State.Keys()
	}
	return evidence.Options{Keys: keys, Make: true, Host: client.HostName(), Anchors: anchors}
}

// logAnchors returns the anchors to which the heads of the log go.
func (o *Options) logAnchors() []string {
	var anchors []string
	for _, anchor := range append([]string{o.State.Anchor()}, o.LogAnchors...) {
		anchors = append(anchors, evidence.Whole(anchor))
	}
	return anchors
}

// comparedAnchors returns the anchors with which the log is compared: those of logAnchors, and the state folder's own only if the landscape is that
// folder's, or the heads of the log were brought there. A landscape that is elsewhere is mostly of processes that have folders of their own.
func (o *Options) comparedAnchors(ctx context.Context, log *landscape.Reader) ([]string, error) {
	anchors := o.logAnchors()
	own := evidence.PlaceOf(anchors[0])
	if begun, _ := own.Begun(ctx); begun || o.private() {
		return anchors, nil
	}
	if _, err := os.Stat(string(o.State)); err != nil {
		return anchors[1:], nil //nolint:nilerr // a folder that is not there was never this process's
	}
	brought, err := evidence.Brought(ctx, log, own)
	if brought || err != nil {
		return anchors, err
	}
	return anchors[1:], nil
}

// wordedLog says of a log that may not be written what a person can do.
func (o *Options) wordedLog(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return client.UnlessStopped(ctx, err)
	}
	_, back := errors.AsType[*evidence.RolledBackError](err)
	_, forked := errors.AsType[*evidence.ForkedError](err)
	_, unusable := errors.AsType[*evidence.UnusableKeyError](err)
	switch {
	case unusable:
		return keyError(fmt.Errorf("the log: %w", err))
	case back:
		return damaged(client.LogRolledBack, err)
	case forked:
		return damaged(client.LogForked, err)
	case readOnly(err) || errors.Is(err, landscape.ErrReadOnly):
		return unwritableState("the log", err)
	}
	return fmt.Errorf("the log: %w", err)
}
