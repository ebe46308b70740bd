package object

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/services/buckets"
)

const refusedWords = "the payloads of the record are there, which no document reads or writes"

// TestNoDocumentWritesIntoThePayloads, whichever way its address leads there.
func TestNoDocumentWritesIntoThePayloads(t *testing.T) {
	remote := New(Options{Reserved: []Reserved{{Bucket: "way.mark", Prefix: "pay/loads/"}}})
	styled := func(endpoint string) *pipeline.S3 { return &pipeline.S3{Endpoint: endpoint, PathStyle: true} }
	for name, target := range map[string]pipeline.FileTarget{
		"the place":                     {Path: "s3://way.mark/pay/loads"},
		"below it":                      {Path: "s3://way.mark/pay/loads/objects/x"},
		"around it":                     {Path: "s3://way.mark/pay"},
		"with a slash":                  {Path: "s3://way.mark/pay/loads/"},
		"at another name of a server":   {Path: "s3://way.mark/pay/loads", S3: styled("http://localhost:7070")},
		"not clean":                     {Path: "s3://way.mark/x/../pay//./loads/out"},
		"bucket in the endpoint":        {Path: "s3://pay/loads/out", S3: styled("https://way.mark.s3.example.org")},
		"bucket in the endpoint twice":  {Path: "s3://way/pay/loads/out", S3: &pipeline.S3{Endpoint: "https://mark.s3.example.org"}},
		"bucket in the key":             {Path: "s3://other/way.mark/pay/loads/out", S3: &pipeline.S3{Endpoint: "https://s3.example.org"}},
		"bucket in the endpoint's path": {Path: "s3://pay/loads/out", S3: styled("https://s3.example.org/way.mark")},
	} {
		_, err := remote.Destination("out", ".csv", target)
		require.ErrorContains(t, err, refusedWords, name)
	}
	for _, path := range []string{"s3://way.mark/pay/loadsofit", "s3://way.mark/out", "s3://other/pay/loads", "s3://way/mark/pay/loads"} {
		_, err := remote.Destination("out", ".csv", pipeline.FileTarget{Path: path})
		require.NoError(t, err, path)
	}
}

// TestExclusive: buckets of two services may have one name.
func TestExclusive(t *testing.T) {
	for want, target := range map[string]pipeline.FileTarget{
		"s3://bucket/out":                      {Path: "s3://bucket/out/"},
		"s3://bucket/out at localhost:7070":    {Path: "s3://bucket/out", S3: &pipeline.S3{Endpoint: "http://localhost:7070/"}},
		"s3://bucket/out at s3.example.org/eu": {Path: "s3://bucket/out", S3: &pipeline.S3{Endpoint: "https://s3.example.org/eu"}},
	} {
		place, err := New(Options{}).Destination("out", ".csv", target)
		require.NoError(t, err)
		require.Equal(t, want, place.Exclusive())
	}
}

// TestNoDocumentReadsPayloads, by a key or by a pattern.
func TestNoDocumentReadsPayloads(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	putObject(t, b, "pay/a.csv", "a\n1\n")
	putObject(t, b, "public/a.csv", "a\n1\n")
	remote := quick(newRemote(local(), nil))
	remote.reserved = []Reserved{{Bucket: b.Name, Prefix: "pay/"}}
	for _, path := range []string{"pay/a.csv", "pay/*.csv", "pay/a.c?v"} {
		_, err := remote.Store(pipeline.Files{Path: "s3://" + b.Name + "/" + path, S3: bucketOf(b)})
		require.ErrorContains(t, err, refusedWords, path)
	}
	for _, pattern := range []string{"p*/a.csv", "?ay/*.csv", `p\ay/a.csv`} {
		_, err := objectSource(t, b, remote, pattern, pipeline.CSVSource{}).Stat(t.Context())
		var fault *plugin.SourceError
		require.ErrorAs(t, err, &fault, pattern)
		require.Equal(t, "PATH_REFUSED", fault.Code)
		require.Contains(t, fault.Message, refusedWords)
	}
	_, err := objectSource(t, b, remote, "publ*/a.csv", pipeline.CSVSource{}).Stat(t.Context())
	require.NoError(t, err)
}

// TestDocumentCredentials, and not those of the process, with which the record is written.
func TestDocumentCredentials(t *testing.T) {
	b := buckets.New(t)
	putObject(t, b, "in/a.csv", "a\n1\n")
	t.Setenv("AWS_CONFIG_FILE", writeFile(t, "[profile documents]\naws_access_key_id = "+b.AccessKey+"\naws_secret_access_key = "+b.SecretKey+"\n"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_ACCESS_KEY_ID", "WORKERSKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the worker's secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	read := func(c Credentials) error {
		remote := quick(newRemote(local(), nil))
		remote.credentials = c
		_, err := objectSource(t, b, remote, "in/a.csv", pipeline.CSVSource{}).Stat(t.Context())
		return err
	}
	require.Error(t, read(Credentials{}), "the process's own")
	require.NoError(t, read(Credentials{AccessKeyID: b.AccessKey, SecretAccessKey: b.SecretKey}))
	require.NoError(t, read(Credentials{Profile: "documents"}))
	require.ErrorContains(t, read(Credentials{Profile: "nosuch"}), "nosuch")
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
