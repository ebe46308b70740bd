package object

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// pointerFormat is the first field of a pointer's object. It stands in buckets; never rename.
const pointerFormat = "latest-v1"

// pointer is an object that says which of several outputs is the latest.
type pointer struct{ target }

// pointerContent is what the object holds.
type pointerContent struct {
	Format string `json:"waymark"`
	plugin.Latest
	Manifest string `json:"manifest"` // of the output
}

// newPointer returns nil for an empty address. Nothing is looked at.
func (r *Remote) newPointer(at pipeline.FileTarget) (plugin.Pointer, error) {
	if at.Latest == "" {
		return nil, nil //nolint:nilnil // as the comment says
	}
	bucket, key := pipeline.CutBucket(at.Latest)
	if err := r.checkAround(options(at.S3), bucket, key); err != nil {
		return nil, fmt.Errorf("latest: %w", err)
	}
	return &pointer{target{bucketDestination: bucketDestination{remote: r, options: options(at.S3), bucket: bucket, prefix: key}}}, nil
}

// String says at which service the bucket is if the document does: two may have one name.
func (p *pointer) String() string { return p.Exclusive() }

func (p *pointer) Check(ctx context.Context) error {
	_, _, err := p.found(ctx)
	return err
}

func (p *pointer) Leads(ctx context.Context) (string, error) {
	is, _, err := p.found(ctx)
	return is.Output, err
}

// found returns what the pointer says, and its ETag; nothing if there is none.
func (p *pointer) found(ctx context.Context) (is pointerContent, etag string, err error) {
	there, err := p.read(ctx, p.prefix)
	if errors.Is(err, errNone) {
		return is, "", nil
	}
	if err != nil {
		return is, "", err
	}
	if json.Unmarshal(there.data, &is) != nil || is.Format != pointerFormat {
		return pointerContent{}, "", p.fault(codeTargetExists, "holds what no run put there to say which output is the latest; move it away or choose another key")
	}
	return is, there.etag, nil
}

// Lead puts the object in place of the one that was found there.
func (p *pointer) Lead(ctx context.Context, output plugin.Latest) error {
	data, err := json.MarshalIndent(pointerContent{pointerFormat, output, output.Output + "/" + file.ManifestName}, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	for {
		_, etag, err := p.found(ctx)
		if err != nil {
			return err
		}
		if etag == "" {
			err = p.create(ctx, p.prefix, data, nil)
		} else {
			err = p.replace(ctx, p.prefix, etag, data, nil)
		}
		if !errors.Is(err, errThere) && !errors.Is(err, errNone) {
			return err
		}
	}
}
