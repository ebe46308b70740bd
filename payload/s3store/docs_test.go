package s3store

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/tests/services/buckets"
)

// jsonBlock decodes the only block of JSON in docs/payloads.md that contains marker.
func jsonBlock(t *testing.T, marker string, into any) {
	t.Helper()
	page, err := os.ReadFile("../../docs/payloads.md")
	require.NoError(t, err)
	var found []string
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 1 && strings.HasPrefix(block, "json\n") && strings.Contains(block, marker) {
			found = append(found, strings.TrimPrefix(block, "json\n"))
		}
	}
	require.Len(t, found, 1)
	require.NoError(t, json.Unmarshal([]byte(found[0]), into))
}

// TestThePolicyOfTheDocsIsWhatIsNeeded compares it with the rights that Amazon asks for each request that a Store makes.
// Source: "Actions, resources, and condition keys for Amazon S3" in Amazon's Service Authorization Reference.
func TestThePolicyOfTheDocsIsWhatIsNeeded(t *testing.T) {
	var policy struct {
		Statement []struct {
			Resource string
			Action   []string
		}
	}
	jsonBlock(t, "arn:aws:s3", &policy)
	documented := map[string]bool{}
	for _, statement := range policy.Statement {
		for _, action := range statement.Action {
			documented[action] = true
			ofBucket := strings.HasPrefix(action, "s3:List")
			require.Equal(t, ofBucket, !strings.HasSuffix(statement.Resource, "/*"), action)
		}
	}

	var mu sync.Mutex
	used := map[string]bool{}
	s := openBucket(t, buckets.New(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			for _, action := range actionsOf(r) {
				used[action] = true
			}
			mu.Unlock()
			return next.RoundTrip(r)
		})
	})
	tour(t, s)
	require.Equal(t, documented, used)
}

// tour makes every kind of request that a Store makes.
func tour(t *testing.T, s *Store) {
	t.Helper()
	s.limits = limits{single: 5 * mebi, part: 5 * mebi}
	for _, data := range [][]byte{bodyOf(1), random(6*mebi, 1)} {
		key := string(payload.Of(data))
		require.NoError(t, s.Write(t.Context(), key, data))
		require.NoError(t, s.Write(t.Context(), key, []byte("poison")))
		_, err := s.Quarantine(t.Context(), key)
		require.NoError(t, err)
		require.NoError(t, s.Write(t.Context(), key, data))
		require.NoError(t, s.Delete(t.Context(), key))
	}
	_, err := s.begin(t.Context(), s.place.name(objectName(keyOf(1))))
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
}

func actionsOf(r *http.Request) []string {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && query.Has("list-type"):
		return []string{"s3:ListBucket"}
	case r.Method == http.MethodGet && query.Has("uploads"):
		return []string{"s3:ListBucketMultipartUploads"}
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return []string{"s3:GetObject"}
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		return []string{"s3:GetObject", "s3:PutObject"}
	case r.Method == http.MethodDelete && query.Has("uploadId"):
		return []string{"s3:AbortMultipartUpload"}
	case r.Method == http.MethodDelete:
		return []string{"s3:DeleteObject"}
	case slices.Contains([]string{http.MethodPut, http.MethodPost}, r.Method):
		return []string{"s3:PutObject"}
	}
	return []string{r.Method + " " + r.URL.String()}
}

// TestTheRuleOfTheDocsActsLaterThanSweep: a sweep counts what it throws away, the rule of a bucket does not.
func TestTheRuleOfTheDocsActsLaterThanSweep(t *testing.T) {
	var rules struct {
		Rules []struct {
			Status                         string
			AbortIncompleteMultipartUpload struct{ DaysAfterInitiation int }
		}
	}
	jsonBlock(t, "AbortIncompleteMultipartUpload", &rules)
	require.Len(t, rules.Rules, 1)
	require.Equal(t, "Enabled", rules.Rules[0].Status)
	days := time.Duration(rules.Rules[0].AbortIncompleteMultipartUpload.DaysAfterInitiation)
	require.Greater(t, days*24*time.Hour, DefaultGrace)
}
