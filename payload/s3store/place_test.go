package s3store

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePlace(t *testing.T) {
	for raw, want := range map[string]location{
		"s3://bucket":            {bucket: "bucket"},
		"s3://bucket/":           {bucket: "bucket"},
		"s3://a.b-c/one/two/":    {bucket: "a.b-c", prefix: "one/two/"},
		"s3://bucket/a%20b%23é/": {bucket: "bucket", prefix: "a b#é/"},
		"s3://bucket/p?endpoint=http://127.0.0.1:7070&path_style=true&region=us-east-1": {
			bucket: "bucket", prefix: "p/", endpoint: "http://127.0.0.1:7070", region: "us-east-1", pathStyle: true,
		},
		"s3://bucket?endpoint=https%3A%2F%2Fs3.example.org%2Fgate%2F&path_style=false": {
			bucket: "bucket", endpoint: "https://s3.example.org/gate",
		},
	} {
		got, err := parsePlace(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
}

func TestParsePlaceRefuses(t *testing.T) {
	const secret = "hunter2"
	for raw, message := range map[string]string{
		"file:/tmp":                                 "must begin with s3://",
		"s3://AKIA:hunter2@bucket/p":                "holds a user or password",
		"s3://hunter2@bucket/p":                     "holds a user or password",
		"s3://:hunter2@:bucket:p/":                  "cannot be read",
		"s3://bucket/hunter2%zz":                    "cannot be read",
		"s3:///p":                                   "names no bucket",
		"s3:bucket":                                 "names no bucket",
		"s3://127.0.0.1:7070/bucket":                "an address goes into ?endpoint=",
		"s3://Bucket/p":                             "cannot be the name of a bucket",
		"s3://b/p":                                  "cannot be the name of a bucket",
		"s3://bucket/p#1":                           "write it as %23",
		"s3://bucket/a//b":                          "empty parts",
		"s3://bucket/a/../b":                        "take out . and ..",
		"s3://bucket/..":                            "take out . and ..",
		"s3://bucket/a%0ab":                         "control characters",
		`s3://bucket/a\b`:                           "backslashes",
		"s3://bucket/" + strings.Repeat("a", 801):   "the limit is 800",
		"s3://bucket?secret_key=hunter2":            `unknown parameter "secret_key"`,
		"s3://bucket?region=a&region=b":             "parameter region stands in the URL of the bucket 2 times",
		"s3://bucket?path_style=yes":                "must be true or false",
		"s3://bucket?a;b=hunter2":                   "parameters in the URL of the bucket cannot be read",
		"s3://bucket?endpoint=127.0.0.1:7070":       "endpoint",
		"s3://bucket?endpoint=localhost":            "write http://HOST:PORT",
		"s3://bucket?endpoint=ftp://h":              "write http://HOST:PORT",
		"s3://bucket?endpoint=http://":              "write http://HOST:PORT",
		"s3://bucket?endpoint=http://u:hunter2@h":   "holds a user or password",
		"s3://bucket?endpoint=http://h/?q=hunter2":  "must end after host, port and path",
		"s3://bucket?endpoint=http://h:hunter2/":    "endpoint of the bucket",
		"s3://bucket?endpoint=http://h/%2523hunter": "",
	} {
		_, err := parsePlace(raw)
		if message == "" {
			require.NoError(t, err, raw)
			continue
		}
		require.ErrorContains(t, err, message, raw)
		require.NotContains(t, err.Error(), secret, raw)
	}
}
