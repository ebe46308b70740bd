package pipeline_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestReferencesAreListedOnceWithFingerprints(t *testing.T) {
	mac := func(value string) string {
		h := hmac.New(sha256.New, []byte("key"))
		h.Write([]byte(value))
		return hex.EncodeToString(h.Sum(nil))[:16]
	}
	doc := loadFull(t)
	require.Equal(t, []pipeline.Reference{
		{Kind: pipeline.ParamReference, Name: "region"},
		{Kind: pipeline.ParamReference, Name: "rows"},
		{Kind: pipeline.EnvReference, Name: "REGION", Fingerprint: mac("north-west")},
		{Kind: pipeline.SecretReference, Name: "folder", Fingerprint: mac("hunter2-hunter2")},
	}, doc.References)
	twice, err := loadSmall(small + "description: ${REGION} ${REGION}\n")
	require.NoError(t, err)
	require.Len(t, twice.References, 1)
}

func TestASecretIsNoPartOfAPath(t *testing.T) {
	_, err := loadSmall("name: x\nsources: {in: {csv: {path: \"${secret:folder}.csv\"}}}\nsinks: {out: {csv: {path: out.csv}}}\n")
	require.EqualError(t, err, "x.yaml:2:28: sources.in.csv.path: ${secret:folder}: a path is recorded, and a secret must not be")
}

// BI-100: what comes in by a reference is the text of that one scalar, and is not looked through again.
func TestReferencesAreNotReadAgain(t *testing.T) {
	doc, err := loadSmall(small + "description: a ${EVIL} b ${AGAIN} $${REGION}\n")
	require.NoError(t, err)
	require.Equal(t, "a x\n- evil: yaml b ${REGION} ${REGION}", doc.Pipeline.Description)
}

func TestReferencesNeedAFingerprintKey(t *testing.T) {
	env := world()
	env.Params, env.FingerprintKey = nil, nil
	_, err := pipeline.Load("x.yaml", []byte(small+"description: ${REGION}\n"), env)
	require.EqualError(t, err, "x.yaml:4:14: description: ${REGION} needs a fingerprint key, without which its value cannot be put on record safely: give one with --fingerprint-key-file or WAYMARK_FINGERPRINT_KEY")
	_, err = pipeline.Load("x.yaml", []byte(small), env)
	require.NoError(t, err, "a document without values from outside needs no key")
}

func TestReferencesInAnEmptyEnvironment(t *testing.T) {
	_, err := pipeline.Load("x.yaml", []byte(fromTable(`dsn: "${A} ${secret:b}", table: t`)), pipeline.Environment{})
	require.EqualError(t, err, "x.yaml:2:32: sources.in.postgres.dsn: the environment variable A is not set; "+
		"set it, or write $${ for a literal ${\n"+
		"x.yaml:2:32: sources.in.postgres.dsn: there is no store of secrets to take ${secret:b} from")
}

func TestParamsMayFillNumbersAndBools(t *testing.T) {
	doc, err := loadSmall(`
name: x
params:
  n: {type: int, default: 3}
  b: {type: bool, default: true}
  size: {type: string, default: 1MiB}
chunk: {rows: "${param:n}", bytes: "${param:size}"}
sources: {in: {csv: {path: in.csv, trim_space: "${param:b}"}}}
sinks: {out: {csv: {path: "out-${param:n}.csv"}}}
`)
	require.NoError(t, err)
	require.Equal(t, pipeline.Chunk{Rows: 3, Bytes: 1 << 20}, doc.Pipeline.Chunk)
	require.True(t, doc.Pipeline.Sources[0].Value.CSV.TrimSpace)
	require.Equal(t, "out-3.csv", doc.Pipeline.Sinks[0].Value.CSV.Path)
}

func TestGivenParamsAreChecked(t *testing.T) {
	text := []byte(small + "params: {n: {type: int}, day: {type: date, default: 2001-01-01}}\n")
	_, err := pipeline.Load("x.yaml", text, pipeline.Environment{Params: map[string]string{"dya": "1", "day": "yesterday"}})
	var problems pipeline.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)
	require.Equal(t, `x.yaml:4:1: params: no parameter named "dya" (did you mean "day"?)`, problems[0].String())
	require.Equal(t, `x.yaml:4:10: params.n: the parameter "n" has no value: give one for the run, or declare a default`, problems[1].String())
	require.Contains(t, problems[2].String(), `x.yaml:4:26: params.day: the value given for the run: "yesterday" is not a valid date`)
}

func TestWhereSecretsAreAndWhatTextsSayWithoutParameters(t *testing.T) {
	env := world()
	env.Secret = func(pipeline, name string) (string, error) { return pipeline + "'s " + name, nil }
	env.Params = map[string]string{"host": "db", "name": "a@b"}
	doc, err := pipeline.Load("x.yaml", []byte(`
name: orders
params: {host: {type: string}, name: {type: string}}
sources:
  in:
    postgres:
      dsn: "host=${param:host} user=${REGION} dbname=${param:name}${param:name} password=${secret:PW}"
      table: t
sinks: {index: {csv: {path: out.csv}}, out: {postgres: {dsn: "${secret:DSN}", table: t}}}
`), env)
	require.NoError(t, err)
	require.Equal(t, []pipeline.SecretAt{{"sources.in.postgres.dsn", "PW", "orders's PW"}}, doc.SecretsAt("sources.in"))
	require.Equal(t, []pipeline.SecretAt{{"sinks.out.postgres.dsn", "DSN", "orders's DSN"}}, doc.SecretsAt("sinks.out"))
	require.Empty(t, doc.SecretsAt("sources.i"), "another node")
	text, unvaried := doc.Expanded("sources.in.postgres.dsn")
	require.Equal(t, "host=db user=north-west dbname=a@ba@b password=orders's PW", text)
	require.Equal(t, "host=x user=north-west dbname=xx password=orders's PW", unvaried)
	text, unvaried = doc.Expanded("sinks.index.csv.path")
	require.Equal(t, []string{"out.csv", "out.csv"}, []string{text, unvaried}, "without references")
}
