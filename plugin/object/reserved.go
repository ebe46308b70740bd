package object

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/plugin"
)

// Reserved is a place in a bucket that no document reads or writes: the record's payloads.
type Reserved struct {
	Bucket string
	Prefix string // of keys, with a slash at the end
}

// spot is a bucket and a key, or the beginning of one.
type spot struct{ bucket, key string }

// checkReserved fails if a key is in a reserved place.
func (r *Remote) checkReserved(how pipeline.S3, bucket, key string) error {
	return r.eachReserved(how, bucket, key, func(key, prefix string) bool { return strings.HasPrefix(key+"/", prefix) })
}

// checkAround fails if a folder is in a reserved place, or has one in it.
func (r *Remote) checkAround(how pipeline.S3, bucket, folder string) error {
	return r.eachReserved(how, bucket, folder, func(key, prefix string) bool {
		return strings.HasPrefix(key+"/", prefix) || strings.HasPrefix(prefix, key+"/")
	})
}

func (r *Remote) eachReserved(how pipeline.S3, bucket, key string, hits func(key, prefix string) bool) error {
	if len(r.reserved) == 0 {
		return nil
	}
	for _, s := range spots(how, bucket, key) {
		if slices.ContainsFunc(r.reserved, func(place Reserved) bool { return place.Bucket == s.bucket && hits(s.key, place.Prefix) }) {
			return fmt.Errorf("%q: the payloads of the record are there, which no document reads or writes: choose another prefix", "s3://"+bucket+"/"+key)
		}
	}
	return nil
}

// reservedFault is checkReserved as a source returns it.
func (r *Remote) reservedFault(how pipeline.S3, bucket, key string) error {
	if err := r.checkReserved(how, bucket, key); err != nil {
		return &plugin.SourceError{Code: codePathRefused, File: "s3://" + bucket + "/" + key, Message: err.Error()}
	}
	return nil
}

// spots returns what a server may take a request for a key for. One finds the bucket in the name of the host, another in the path, and
// some clean the path. Which server it is says nothing: one has many names. So an endpoint does not count, but as a place in
// which the bucket may stand.
func spots(how pipeline.S3, bucket, key string) []spot {
	host, whole := bucket, key
	if at, err := url.Parse(how.Endpoint); err == nil && how.Endpoint != "" {
		host = bucket + "." + at.Hostname()
		if how.PathStyle {
			host, whole = at.Hostname(), bucket+"/"+key
		}
		whole = strings.TrimPrefix(at.Path+"/", "/") + whole
	} else if how.PathStyle {
		host, whole = "", bucket+"/"+key
	}
	all := []spot{{bucket, key}}
	for at, c := range host {
		if c == '.' {
			all = append(all, spot{host[:at], whole})
		}
	}
	if first, rest, found := strings.Cut(path.Clean("/" + whole)[1:], "/"); found {
		all = append(all, spot{first, rest})
	}
	for _, s := range all {
		all = append(all, spot{s.bucket, path.Clean("/" + s.key)[1:]})
	}
	return all
}
