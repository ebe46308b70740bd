package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestSecretName(t *testing.T) {
	for _, name := range strings.Fields(`
		PASSWORD PGPASSWORD DB_PASSWORD_PROD dbPassword MYSQL_PWD DB_PASS DbPass DBPASS SMTP_PASS_PROD PASS PASSPHRASE SSHPASSPHRASE PASSWORD2 KEY_PASSWORD
		TOKEN TOKEN_X GITHUB_TOKEN_PROD GITHUBTOKEN AUTHTOKEN authToken api.token access-token TOKEN_2 SECRET CLIENT_SECRET clientsecret Shared_Secret SECRETS
		APIKEY APIKey apiKey API_KEY API_KEYS STRIPE_API_KEY_LIVE ACCESS_KEY AWS_ACCESS_KEY_ID SECRETKEY AWS_SECRET_ACCESS_KEY LEDGER_KEY KEY PRIVATE_KEY
		CREDENTIALS DB_CREDS JWT x-amz-security-token`) {
		require.True(t, pipeline.SecretName(name), name)
	}
	for _, name := range strings.Fields(`
		KEYBOARD MONKEY TURKEY HOTKEY TOKENIZER TOKENIZERS MAX_TOKENS PASSENGERS BYPASS COMPASS TRESPASS PASS_RATE PASSTHROUGH SECRETARY SECRETARIAT PRIVATE
		REGION API_URL TOKEN_URL PASSWORD_FILE secretsDir TOKEN_TTL KEY_COLUMN SORT_KEY PRIMARY_KEY partitionKey PUBLIC_KEY page_token AUTHOR SIGNAL ACCESS
		ACCOUNT LICENSE_TYPE X Y_1 _ PWDX`) {
		require.False(t, pipeline.SecretName(name), name)
	}
}

func TestHoldsSecret(t *testing.T) {
	key := strings.Repeat("k", 20)
	for _, text := range []string{
		"https://h/?token=abc", "https://h/x?a=1&access_token=abc", "https://h/?key=" + key, "https://h/?apiKey=a", "https://h/?sig=a", "https://h/?Signature=a#x",
		"https://b.s3.amazonaws.com/x?X-Amz-Signature=abc", "https://h/?password=a", "https://h/?client_secret=a", "https://h/#access_token=a",
		"postgres://ann:hunter2@db/ledger", "//ann:hunter2@db/ledger", "redis://:hunter2@db", "see https://ann:hunter2@h",
		"host=db password=hunter2", "host=db password = 'hunter2'", "Server=db;Pwd=hunter2", "AccountName=a;AccountKey=" + key, "PGPASSWORD=hunter2",
		"-----BEGIN RSA PRIVATE KEY-----", "AKIA" + strings.Repeat("A", 16), "ghp_" + key, "Bearer eyJhbGciOiJI.eyJzdWIiOiIx",
	} {
		require.True(t, pipeline.HoldsSecret(text), text)
	}
	for _, text := range []string{
		"", "x", "eu-west-1", "https://h/?day=1&page_token=abc", "https://h/?key=id", "https://h:8080/@x", "postgres://ann@db/ledger", "s3://b/k=v/monkey=1",
		"password", "token:", "https://h/?token=", "the key = id", "passengers=7", "a@b.example",
	} {
		require.False(t, pipeline.HoldsSecret(text), text)
	}
}
