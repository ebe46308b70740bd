package codec

import (
	"net/http"

	"go.temporal.io/sdk/converter"
)

// maxRequestBytes bounds what a browser may send. Temporal's limit for one payload is 2 MiB.
const maxRequestBytes = 16 << 20

// Handler serves the codec to Temporal's UI and its command line (`temporal --codec-endpoint`), which show payloads with it: POST
// …/decode and …/encode. Anyone who reaches it can read everything: it has no authentication of its own.
//
// origin is the address of the UI, such as http://localhost:8080, whose pages browsers let use the answers; without one no page can.
func (c *Codec) Handler(origin string) http.Handler {
	codec := converter.NewPayloadCodecHTTPHandler(c)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := r.Header.Get("Origin"); from != "" {
			if from != origin {
				http.Error(w, "this page may not use the codec: --codec-origin names the one that may", http.StatusForbidden)
				return
			}
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Methods", "POST")
			w.Header().Set("Access-Control-Allow-Headers", "Authorization,Content-Type,X-Namespace")
			w.Header().Set("Vary", "Origin")
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxRequestBytes)
		codec.ServeHTTP(w, r)
	})
}
