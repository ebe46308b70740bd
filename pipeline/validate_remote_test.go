package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// reading returns a document whose source has these options.
func reading(options string) string {
	return "name: x\nsources: {in: {csv: {" + options + "}}}\nsinks: {out: {csv: {path: out.csv}}}\n"
}

// writing returns a document whose sink has these options.
func writing(options string) string {
	return "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {csv: {" + options + "}}}\n"
}

func TestPathsThatLeadElsewhere(t *testing.T) {
	for _, text := range []string{
		reading(`path: "s3://bucket/in/*.csv", s3: {endpoint: "https://minio.example.org:9000", region: eu-west-1, path_style: true}`),
		reading(`path: "s3://b.c-1/a key/ö.csv"`),
		reading(`path: "https://example.org/a.csv?day=1", http: {headers: {Authorization: "Bearer ${secret:TOKEN}", X-Page: "7"}}`),
		reading(`path: "http://[2606:4700::1111]:8080/a.csv"`),
		reading(`path: "-"`),
		writing(`path: "s3://bucket/out/", parts: true, overwrite: true`),
		writing(`path: "-"`),
	} {
		_, err := pipeline.Load("x.yaml", []byte(text), env())
		require.NoError(t, err, text)
	}
}

func env() pipeline.Environment {
	return pipeline.Environment{
		FingerprintKey: []byte("key"),
		Secret:         func(string, string) (string, error) { return "s3cr3t-value", nil },
		Env:            func(string) (string, bool) { return "", false },
	}
}

func TestProblemsOfPathsThatLeadElsewhere(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"an unknown scheme", reading(`path: "gopher://h/x"`), `"gopher://h/x" cannot be read: a path is that of a file, s3://BUCKET/KEY, an http:// or https:// address, or - for standard input`},
		{"ftp", reading(`path: "ftp://h/x.csv"`), "cannot be read"},
		{"jar", reading(`path: "jar:http://h/x.csv"`), `"jar:http://h/x.csv"`},
		{"file", reading(`path: "file:///etc/passwd"`), "write the path of a file without file://"},
		{"upper case", reading(`path: "HTTP://example.org/x"`), "write http:// in lower case"},
		{"one slash", reading(`path: "http:/example.org/x"`), "with two slashes"},
		{"no bucket", reading(`path: "s3:///key"`), "is not the name of a bucket"},
		{"no key", reading(`path: "s3://bucket"`), "a key follows the bucket"},
		{"credentials in a bucket", reading(`path: "s3://id:key@bucket/x"`), "is not the name of a bucket"},
		{"a broken pattern", reading(`path: "s3://bucket/[a"`), "not a valid pattern"},
		{"a user", reading(`path: "http://me@example.org/x"`), "an address is recorded"},
		{"a password", reading(`path: "https://me:hunter2@example.org/x"`), "an address is recorded"},
		{"a user of nothing", reading(`path: "http://@example.org/x"`), "an address is recorded"},
		{"a backslash", reading(`path: "http://example.org\\@evil.example/x"`), "backslash"},
		{"a fragment", reading(`path: "http://example.org#@evil.example/x"`), "delete the #"},
		{"a space", reading(`path: "http://example.org/a b"`), "backslash, a space"},
		{"a line end", reading(`path: "http://example.org/a\r\nHost: x"`), "backslash, a space"},
		{"no host", reading(`path: "http:///x"`), "names no host"},
		{"a pattern", reading(`path: "https://example.org/*.csv"`), "no patterns"},
		{"a key", reading(`path: "https://example.org/x?key=AIzaSyA-1234567890abcdef"`), `what "key" says`},
		{"a port beyond all", reading(`path: "https://example.org:99999/x"`), "there is no port 99999"},
		{"a token", reading(`path: "https://example.org/x?Token=abc"`), `what "Token" says`},
		{"a signed address", reading(`path: "https://b.s3.amazonaws.com/x?X-Amz-Signature=abc"`), `what "X-Amz-Signature" says`},
		{"a secret", reading(`path: "https://example.org/${secret:TOKEN}"`), "a path is recorded, and a secret must not be"},
		{"s3 options of a file", reading(`path: in.csv, s3: {region: x}`), "belongs to a path that begins with s3://"},
		{"headers of an object", reading(`path: "s3://bucket/x", http: {headers: {A: b}}`), "belongs to a path that begins with http"},
		{"an endpoint that is none", reading(`path: "s3://bucket/x", s3: {endpoint: "minio:9000"}`), "is not an address"},
		{"an endpoint with a password", reading(`path: "s3://bucket/x", s3: {endpoint: "https://a:b@minio"}`), "an address is recorded"},
		{"an endpoint with a path", reading(`path: "s3://bucket/x", s3: {endpoint: "https://minio/admin"}`), "more than a host and a port"},
		{"a header that is none", reading(`path: "http://h/x", http: {headers: {"a b": c}}`), "not the name of a header"},
		{"our header", reading(`path: "http://h/x", http: {headers: {Range: c}}`), "is set by Waymark"},
		{"a header with a line end", reading(`path: "http://h/x", http: {headers: {A: "b\r\nHost: c"}}`), "a line end or another control character"},
		{"a token in the document", reading(`path: "http://h/x", http: {headers: {authorization: "Bearer 4711"}}`), "is a secret, and the document is recorded"},
		{"no headers", reading(`path: "http://h/x", http: {}`), `the key "headers" is missing`},
		{"two readers of standard input", strings.Replace(reading(`path: "-"`), "{in:", `{too: {jsonl: {path: "-"}}, in:`, 1), "both read standard input"},
		{"a table elsewhere", small + "steps: [{name: a, lookup: {csv: {path: \"s3://bucket/t.csv\"}, on: {a: b}, add: {c: d}}}]\n", "a table is a file on this host"},
		{"a table of standard input", small + "steps: [{name: a, lookup: {csv: {path: \"-\"}, on: {a: b}, add: {c: d}}}]\n", "a table is a file on this host"},
		{"one object", writing(`path: "s3://bucket/out.csv"`), "an object in a bucket is written in parts"},
		{"a whole bucket", writing(`path: "s3://bucket", parts: true`), "a key follows the bucket"},
		{"a folder above", writing(`path: "s3://bucket/a/../b", parts: true`), `".." is no part of a key`},
		{"a web server", writing(`path: "https://example.org/x", parts: true`), "cannot be written"},
		{"parts of standard output", writing(`path: "-", parts: true`), "standard output is one stream"},
		{"two on standard output", strings.Replace(writing(`path: "-"`), "{out:", `{too: {jsonl: {path: "-"}}, out:`, 1), "write to the same path"},
		{"what is read", strings.Replace(reading(`path: "s3://bucket/a/*"`), "path: out.csv", `path: "s3://bucket/a/b", parts: true`, 1), "would write to what source"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := pipeline.Load("x.yaml", []byte(c.text), env())
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestHeadersAreNotRecorded: neither a secret nor another value of a header is in what a plan says of its sources.
func TestHeadersAreNotRecorded(t *testing.T) {
	doc, err := pipeline.Load("x.yaml", []byte(reading(`path: "http://h/x", http: {headers: {Authorization: "${secret:TOKEN}", X: "1234"}}`)), env())
	require.NoError(t, err)
	text, err := json.Marshal(doc.Pipeline.Sources)
	require.NoError(t, err)
	require.Contains(t, string(text), `"HTTP":{"Headers":["Authorization","X"]}`)
	require.NotContains(t, string(text), "s3cr3t")
	require.NotContains(t, string(text), "1234")
}
