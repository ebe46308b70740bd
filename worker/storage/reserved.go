package storage

import (
	"waymark/payload/s3store"
)

// Reserved is where the record and the payloads are, where nobody else may put files.
type Reserved struct {
	Files    []string // databases, the files that SQLite keeps beside them, and folders
	Bucket   string   // empty if no bucket has payloads
	Prefixes []string // of keys in the bucket, each with a slash at the end
}

// Reserved tells which places the URLs name. URLs that name none tell nothing: Open says what is wrong with them. A database on a
// server is not among them: what keeps others out of it is that they have no password.
func (o Options) Reserved() Reserved {
	var r Reserved
	if path, err := LandscapePath(o.Landscape); err == nil {
		r.Files = Database(path)
	}
	if path, err := PayloadsPath(o.Payloads); err == nil {
		r.Files = append(r.Files, path)
	} else if ref, err := split(ofPayloads, o.Payloads, payloadsForms); err == nil {
		if bucket, prefixes, err := s3store.Keys(ref.url); err == nil {
			r.Bucket, r.Prefixes = bucket, prefixes
		}
	}
	return r
}

// Database returns the files of the SQLite database at path.
func Database(path string) []string {
	return []string{path, path + "-wal", path + "-shm", path + "-journal"}
}
