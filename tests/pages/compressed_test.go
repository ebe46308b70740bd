package pages_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/serve/ui"
)

// compressed asks for pages as browsers do that take gzip. Only what one's own pages or the person asked for is compressed, and neither what is taken along nor a stream is.
func (s *pageServer) compressed(t *testing.T) {
	p, run := s.looking(t), "/runs/"+s.ordersRun
	asks := func(path, accepted, from string) (*http.Response, string) {
		return p.send(t, http.MethodGet, path, nil, "Accept-Encoding", accepted, "Sec-Fetch-Site", from)
	}
	_, plain := asks(run+"/effects", "identity", "same-origin")
	for _, accepted := range []string{"gzip", "br, GZIP ; q=0.5", "deflate,gzip"} {
		for _, from := range []string{"same-origin", "none"} {
			answer, short := asks(run+"/effects", accepted, from)
			require.Equal(t, http.StatusOK, answer.StatusCode)
			require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"), accepted)
			require.Equal(t, "Accept-Encoding", answer.Header.Get("Vary"))
			require.Less(t, 2*len(short), len(plain))
			require.Equal(t, withoutClock(plain), withoutClock(unzipped(t, short)))
		}
	}
	for _, c := range []struct{ path, accepted, from string }{
		{run, "gzip;q=0", "same-origin"}, {run, "", "same-origin"}, {run, "gzip;q=x", "none"}, {run, "x-gzip", "none"},
		{run, "gzip", "cross-site"}, {run, "gzip", "same-site"}, {run, "gzip", ""},
		{"/login", "gzip", "same-origin"}, {run + "/bundle", "gzip", "same-origin"},
	} {
		answer, _ := asks(c.path, c.accepted, c.from)
		require.Equal(t, http.StatusOK, answer.StatusCode, c)
		require.Empty(t, answer.Header.Get("Content-Encoding"), c)
	}
	for _, path := range []string{run + "/follow", run + "/outputs/all", run} {
		answer, _, err := s.Send(t, http.MethodGet, "/v1"+path, s.Tokens[landscape.Auditor], "", "Accept-Encoding", "gzip", "Sec-Fetch-Site", "same-origin")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.Empty(t, answer.Header.Get("Content-Encoding"), path)
	}
	for _, asset := range ui.Assets() {
		answer, content := asks(asset.Path, "gzip", "cross-site")
		require.Equal(t, "Accept-Encoding", answer.Header.Get("Vary"), "caches keep assets")
		if long := len(asset.Content) > 1024; long {
			require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"), asset.Path)
			content = unzipped(t, content)
		}
		require.Equal(t, string(asset.Content), content, asset.Path)
	}
}

func unzipped(t *testing.T, content string) string {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader([]byte(content)))
	require.NoError(t, err)
	whole, err := io.ReadAll(reader)
	require.NoError(t, err)
	return string(whole)
}

var footerTime = regexp.MustCompile(`<time>[^<]*</time>`)

// withoutClock leaves out when a page was made.
func withoutClock(page string) string {
	return footerTime.ReplaceAllString(page, "")
}
