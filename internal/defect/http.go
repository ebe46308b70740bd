package defect

import (
	"errors"
	"net/http"
)

// Handler answers what next answers. A request whose handler panics gets 500 with the id under which the log has the
// cause; if the answer had begun, its connection is cut, so that what came of it cannot pass for all of it.
func Handler(where string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &tracked{ResponseWriter: w}
		err := Catch(where, func() error {
			next.ServeHTTP(t, r)
			return nil
		})
		fault, is := errors.AsType[*Error](err)
		switch {
		case !is:
		case t.begun:
			panic(http.ErrAbortHandler) // net/http takes it for what it says
		default:
			http.Error(w, fault.Error(), http.StatusInternalServerError)
		}
	})
}

// tracked knows whether an answer has begun.
type tracked struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader begins the answer.
func (t *tracked) WriteHeader(status int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(status)
}

// Write begins the answer, or continues it.
func (t *tracked) Write(p []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController what it asks for.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }
