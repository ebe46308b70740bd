package pipeline

import "strings"

// The schemes of paths that are not on this host. They stand in documents: never rename one.
const (
	SchemeS3    = "s3"
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
)

// Stdio is the path of what goes through standard input or standard output.
const Stdio = "-"

// Scheme returns what stands before the :// of a path, or "" for a path on this host.
func Scheme(path string) string {
	scheme, _, is := strings.Cut(path, "://")
	if !is || scheme == "" || strings.ContainsFunc(scheme, notInScheme) {
		return ""
	}
	return scheme
}

func notInScheme(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
}

// CutBucket splits s3://bucket/key.
func CutBucket(path string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(path, SchemeS3+"://"), "/")
	return bucket, key
}
