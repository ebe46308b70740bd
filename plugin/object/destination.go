package object

import (
	"fmt"
	"net/url"
	"strings"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// Destination returns the folder of a bucket that the target names. The document's path was checked when it was loaded.
func (r *Remote) Destination(sink, extension string, target pipeline.FileTarget) (file.Destination, error) {
	bucket, prefix := pipeline.CutBucket(target.Path)
	prefix = strings.TrimSuffix(prefix, "/")
	if err := r.checkAround(options(target.S3), bucket, prefix); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	latest, err := r.newPointer(target)
	if err != nil {
		return nil, err
	}
	return bucketDestination{
		remote: r, options: options(target.S3), bucket: bucket, prefix: prefix, sink: sink,
		extension: extension, overwrite: target.Overwrite, latest: latest,
	}, nil
}

// bucketDestination is a folder of a bucket with a manifest. The parts of each run are in a folder of its own beside the manifest, which
// says whose are in force.
type bucketDestination struct {
	remote         *Remote
	options        pipeline.S3
	bucket, prefix string
	sink           string
	extension      string
	overwrite      bool
	latest         plugin.Pointer // nil for none
}

func (p bucketDestination) Target(run string) plugin.Target { return &target{p, run} }

func (p bucketDestination) Location() string { return "s3://" + p.bucket + "/" + p.prefix }

// Exclusive is the location, and which service it is at if the document says that: buckets of two services may have one name.
func (p bucketDestination) Exclusive() string {
	if at, err := url.Parse(p.options.Endpoint); err == nil && at.Host != "" {
		return p.Location() + " at " + at.Host + strings.TrimRight(at.Path, "/")
	}
	return p.Location()
}

func (p bucketDestination) Latest() plugin.Pointer { return p.latest }

func (bucketDestination) OnHost() bool { return false }
