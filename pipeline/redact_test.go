package pipeline_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// withSecret loads a document whose one secret, named dsn, has the value.
func withSecret(t *testing.T, value string) *pipeline.Document {
	t.Helper()
	env := pipeline.Environment{
		Secret:         func(string, string) (string, error) { return value, nil },
		FingerprintKey: []byte("key"),
	}
	doc, err := pipeline.Load("x.yaml", []byte(fromTable(`dsn: "${secret:dsn}", table: t`)), env)
	require.NoError(t, err)
	return doc
}

// BI-237 and BI-238: a value with every awkward character, in every form in which a service may repeat it.
func TestRedactEveryForm(t *testing.T) {
	value := "p@ss:w/o?r#d%\n\"q'<é>+ 9"
	quoted, err := json.Marshal(value)
	require.NoError(t, err)
	doc := withSecret(t, value)
	for name, form := range map[string]string{
		"raw": value, "query": url.QueryEscape(value), "path": url.PathEscape(value), "json": string(quoted[1 : len(quoted)-1]),
		"go": strconv.Quote(value)[1 : len(strconv.Quote(value))-1], "base64": base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 unpadded": base64.RawStdEncoding.EncodeToString([]byte(value)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte(value)),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
	} {
		t.Run(name, func(t *testing.T) {
			got := doc.Redact("before " + form + " after")
			require.True(t, strings.HasPrefix(got, "before [secret dsn]"), got)
			require.True(t, strings.HasSuffix(got, " after"), got)
			require.NotContains(t, got, form)
		})
	}
}

func TestRedactBase64OfATextAroundTheValue(t *testing.T) {
	doc := withSecret(t, "correct horse battery")
	for _, user := range []string{"u", "us", "use", "user"} {
		header := base64.StdEncoding.EncodeToString([]byte(user + ":correct horse battery"))
		got := doc.Redact("Authorization: Basic " + header)
		require.Contains(t, got, "[secret dsn]", user)
		require.LessOrEqual(t, len(got), len("Authorization: Basic [secret dsn]")+len(user)*2+6, got)
	}
}

// BI-239: a short value must neither destroy texts nor be told.
func TestRedactShortValues(t *testing.T) {
	doc := withSecret(t, "a")
	require.Equal(t, "a banana", doc.Redact("a banana"))
	require.Equal(t, "p[secret dsn]th", doc.Problem("sources.in.postgres.dsn", "path").Message)
	require.Equal(t, "path", doc.Problem("sinks.out", "path").Message)
}

func TestRedactLongerValuesFirst(t *testing.T) {
	env := pipeline.Environment{
		Env: func(name string) (string, bool) {
			return map[string]string{"A": "secret", "B": "secret-secret"}[name], true
		},
		FingerprintKey: []byte("key"),
	}
	doc, err := pipeline.Load("x.yaml", []byte(small+"description: ${A} ${B}\n"), env)
	require.NoError(t, err)
	require.Equal(t, "[secret B] [secret A]", doc.Redact("secret-secret secret"))
}

func TestProblemsDoNotTellSecrets(t *testing.T) {
	for _, value := range []string{"hunter2-hunter2", "gz", "x"} {
		env := pipeline.Environment{
			Secret:         func(string, string) (string, error) { return value, nil },
			FingerprintKey: []byte("key"),
		}
		doc, err := pipeline.Load("x.yaml", []byte(fromTable(`dsn: "${secret:s}", table: t`)), env)
		require.NoError(t, err)
		problem := doc.Problem("sources.in.postgres.dsn", "%q is no address", value)
		require.Equal(t, `"[secret s]" is no address`, problem.Message)
	}
}
