package signature

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestWhatIsSignedIsVerified, and nothing else is: neither another body nor another secret. Two deliveries with different ids are two where ids count.
func TestWhatIsSignedIsVerified(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	secret, other := "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))), "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 32)))
	for name, trigger := range map[string]pipeline.HTTPTrigger{
		"standard": {Verify: pipeline.VerifyStandard}, "github": {Verify: pipeline.VerifyGitHub}, "stripe": {Verify: pipeline.VerifyStripe},
		"hmac":  {Verify: pipeline.VerifyHMAC, HMAC: &pipeline.HMACRule{Header: "X-Signature"}},
		"timed": {Verify: pipeline.VerifyHMAC, HMAC: &pipeline.HMACRule{Header: "X-Signature", Prefix: "v0=", Algorithm: "sha512", Encoding: "base64", Timestamp: "X-Time"}},
	} {
		sign := func(secret, id string) Delivery {
			header, err := Sign(trigger, secret, id, []byte(`{"id":1}`), now)
			require.NoError(t, err, name)
			return Delivery{header, []byte(`{"id":1}`)}
		}
		first, err := Verify(trigger, []string{secret}, sign(secret, "msg_1"), now)
		require.NoError(t, err, name)
		second, err := Verify(trigger, []string{secret}, sign(secret, "msg_2"), now)
		require.NoError(t, err, name)
		if trigger.Verify == pipeline.VerifyStandard || trigger.Verify == pipeline.VerifyGitHub {
			require.NotEqual(t, first, second, name)
		} else {
			require.Equal(t, first, second, name)
		}
		_, err = Verify(trigger, []string{secret}, sign(other, "msg_1"), now)
		require.Error(t, err, name)
		changed := sign(secret, "msg_1")
		changed.Body = []byte(`{"id":2}`)
		_, err = Verify(trigger, []string{secret}, changed, now)
		require.Error(t, err, name)
	}
	_, err := Sign(pipeline.HTTPTrigger{Verify: pipeline.VerifyStandard}, "short", "msg_1", nil, now)
	require.ErrorContains(t, err, "whsec_")
}
