package signature

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"time"

	"waymark/pipeline"
)

// Sign returns the headers with which Verify takes a body as a delivery that was sent at a moment. id names the delivery, where the headers have a place for that. The error says why the
// secret can sign nothing, and repeats nothing of it.
func Sign(t pipeline.HTTPTrigger, secret, id string, body []byte, now time.Time) (http.Header, error) {
	header, seconds := http.Header{}, strconv.FormatInt(now.Unix(), 10)
	if t.Verify == pipeline.VerifyNone {
		header.Set(standardID, id)
		return header, nil
	}
	if err := t.CheckSecret(secret); err != nil {
		return nil, err
	}
	switch t.Verify {
	case pipeline.VerifyStandard:
		signature, err := standardSignature(secret, id, seconds, body)
		if err != nil {
			return nil, err
		}
		header.Set(standardID, id)
		header.Set(standardTimestamp, seconds)
		header.Set(standardSignatures, signature)
	case pipeline.VerifyGitHub:
		header.Set(githubSignature, githubPrefix+hex.EncodeToString(sum(sha256.New, secret, body)))
		header.Set(githubDelivery, id)
	case pipeline.VerifyStripe:
		signature := hex.EncodeToString(sum(sha256.New, secret, timed(seconds, body)))
		header.Set(stripeSignature, "t="+seconds+",v1="+signature)
	case pipeline.VerifyHMAC:
		if t.HMAC.ID != "" {
			header.Set(t.HMAC.ID, id)
		}
		signed := body
		if t.HMAC.Timestamp != "" {
			header.Set(t.HMAC.Timestamp, seconds)
			signed = timed(seconds, body)
		}
		encode := hex.EncodeToString
		if t.HMAC.Encoding == "base64" {
			encode = base64.StdEncoding.EncodeToString
		}
		header.Set(t.HMAC.Header, t.HMAC.Prefix+encode(sum(algorithms[cmp.Or(t.HMAC.Algorithm, "sha256")], secret, signed)))
	}
	return header, nil
}

// sum is the HMAC of a text.
func sum(algorithm func() hash.Hash, secret string, text []byte) []byte {
	mac := hmac.New(algorithm, []byte(secret))
	mac.Write(text)
	return mac.Sum(nil)
}
