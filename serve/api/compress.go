package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
)

// leastCompressed is how many bytes a page must have to be compressed: fewer fit into one packet as they are.
const leastCompressed = 1024

// compressesPage reports whether a page is compressed for who asks.
//
// The length of a compressed page tells how much what is in its address is like what else is in it. An attacker who sees the lengths of answers, and makes somebody's browser
// ask for addresses of their choice, could so guess values of rows (BREACH). Not here. The cookie is SameSite=Strict, so what pages of other sites ask for
// is refused; and pages are compressed only if the browser says, in a header that no page can set, that the person or one of our own pages asks: not a page of a neighbour
// in the same domain. No page has a token against forged requests that could be guessed, and the one to sign in on, which may have a code, is not compressed.
func compressesPage(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return from == "same-origin" || from == "none"
}

// sendCompressed sends content, compressed if it is long enough and the client takes that.
func sendCompressed(w http.ResponseWriter, r *http.Request, status int, content []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if len(content) > leastCompressed && takesGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		content = zipped(content)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	_, _ = w.Write(content)
}

func zipped(content []byte) []byte {
	var short bytes.Buffer
	writer := gzip.NewWriter(&short)
	_, _ = writer.Write(content) // into memory
	_ = writer.Close()
	return short.Bytes()
}

// takesGzip reads an Accept-Encoding.
func takesGzip(accepted string) bool {
	for coding := range strings.SplitSeq(accepted, ",") {
		name, weight, weighed := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if !strings.EqualFold(name, "gzip") {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(weight), "q="), 64)
		return !weighed || err == nil && value > 0
	}
	return false
}
