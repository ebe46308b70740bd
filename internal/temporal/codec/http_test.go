package codec_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const page = "http://localhost:8080"

func ask(t *testing.T, handler http.Handler, method, origin, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "/decode", strings.NewReader(body))
	if origin != "" {
		request.Header.Set("Origin", origin)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func TestTheUIReadsPayloads(t *testing.T) {
	c := newCodec(t, key("k1", 1))
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{encode(t, c, `"secret"`)}})
	require.NoError(t, err)
	for _, origin := range []string{page, ""} { // a page of the UI, the command line
		answer := ask(t, c.Handler(page), http.MethodPost, origin, string(body))
		require.Equal(t, http.StatusOK, answer.Code, answer.Body)
		require.Equal(t, origin, answer.Header().Get("Access-Control-Allow-Origin"))
		var decoded commonpb.Payloads
		require.NoError(t, protojson.Unmarshal(answer.Body.Bytes(), &decoded))
		require.Equal(t, `"secret"`, string(decoded.GetPayloads()[0].GetData()))
	}
	answer := ask(t, c.Handler(page), http.MethodOptions, page, "")
	require.Equal(t, http.StatusNoContent, answer.Code)
	require.Contains(t, answer.Header().Get("Access-Control-Allow-Headers"), "X-Namespace")
}

func TestOtherPagesReadNothing(t *testing.T) {
	c := newCodec(t, key("k1", 1))
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{encode(t, c, `"secret"`)}})
	require.NoError(t, err)
	for _, allowed := range []string{page, ""} {
		for _, origin := range []string{"http://localhost:8081", "https://localhost:8080", "null", page + ".evil.example"} {
			for _, method := range []string{http.MethodPost, http.MethodOptions} {
				answer := ask(t, c.Handler(allowed), method, origin, string(body))
				require.Equal(t, http.StatusForbidden, answer.Code)
				require.Empty(t, answer.Header().Get("Access-Control-Allow-Origin"))
			}
		}
	}
}

func TestARequestIsBounded(t *testing.T) {
	answer := ask(t, newCodec(t, key("k1", 1)).Handler(page), http.MethodPost, "", strings.Repeat(" ", 16<<20)+"{}")
	require.Equal(t, http.StatusBadRequest, answer.Code)
}
