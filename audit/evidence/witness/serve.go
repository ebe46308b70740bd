package witness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence/cosign"
)

// maxBody is how long a request may be: a proof of 63 hashes, and a head with several signatures.
const maxBody = 64 << 10

// sizeType is the media type of the size that a client did not know.
const sizeType = "text/x.tlog.size"

// refusal is an answer that is not a cosignature.
type refusal struct {
	status int
	size   *int64 // of the last head that was cosigned, if that is the answer
	why    string
}

// Error says why.
func (r *refusal) Error() string { return r.why }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, why: fmt.Sprintf(format, args...)}
}

// addCheckpoint answers a request. What is refused of a known log is logged: it may be the proof that its owner misbehaved.
func (w *Witness) addCheckpoint(to http.ResponseWriter, r *http.Request) {
	lines, err := w.answer(to, r)
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		_, _ = io.WriteString(to, lines) // a client that is gone asks again
	case ok && refused.size != nil:
		to.Header().Set("Content-Type", sizeType)
		to.WriteHeader(refused.status)
		fmt.Fprintln(to, *refused.size)
	case ok:
		http.Error(to, refused.why, refused.status)
	default:
		w.logger.Error("cannot cosign", "error", err)
		http.Error(to, "the state of this witness cannot be read or written", http.StatusInternalServerError)
	}
}

// answer returns the line of the cosignature, or why there is none: a *refusal if that is for the client to know.
func (w *Witness) answer(to http.ResponseWriter, r *http.Request) (string, error) {
	body, err := io.ReadAll(http.MaxBytesReader(to, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return "", refuse(http.StatusRequestEntityTooLarge, "more than %d bytes", maxBody)
	}
	if err != nil {
		return "", refuse(http.StatusBadRequest, "the request ended early")
	}
	asked, err := parse(string(body))
	if err != nil {
		return "", refuse(http.StatusBadRequest, "%v", err)
	}
	log := w.logs[asked.origin]
	if log == nil {
		return "", refuse(http.StatusNotFound, "this witness does not know the log %.120q", asked.origin)
	}
	h, signed, err := log.open(asked.note, log.keys...)
	switch {
	case errors.Is(err, errUnsigned):
		return "", refuse(http.StatusForbidden, "%v", err)
	case err != nil:
		return "", refuse(http.StatusBadRequest, "%v", err)
	case asked.old > h.size:
		return "", refuse(http.StatusBadRequest, "the old size %d is larger than the new one, %d", asked.old, h.size)
	}
	lines, err := w.cosign(log, asked, h, signed)
	if err != nil {
		w.logger.Warn("not cosigned", "log", log.origin, "size", h.size, "old", asked.old, "why", err, "checkpoint", asked.note)
		return "", err
	}
	w.logger.Info("cosigned", "log", log.origin, "size", h.size)
	return lines, nil
}

// cosign compares a head with the last one of the log, makes it durable as the last one, and cosigns it: nothing else of this log comes between.
func (w *Witness) cosign(log *known, asked request, h head, signed *note.Note) (string, error) {
	log.Lock()
	defer log.Unlock()
	last, err := log.last(w.own)
	if err != nil {
		return "", err
	}
	if err := follows(last, asked, h); err != nil {
		return "", err
	}
	cosigned, err := note.Sign(&note.Note{Text: signed.Text}, w.key)
	if err != nil {
		return "", fmt.Errorf("witness: %w", err)
	}
	line := strings.TrimPrefix(string(cosigned), signed.Text+"\n")
	kept := signed.Text + "\n"
	for _, s := range signed.Sigs { // of the others anybody may have written anything
		kept += cosign.Line(s)
	}
	return line, log.save(kept + line)
}

// follows returns nil if a head continues the last one, else a *refusal.
func follows(last head, asked request, h head) error {
	switch {
	case asked.old != last.size:
		return &refusal{http.StatusConflict, &last.size, fmt.Sprintf("the last head that was cosigned has %d entries", last.size)}
	case h.size == last.size && h.root != last.root:
		return &refusal{http.StatusConflict, &last.size, fmt.Sprintf("another head of %d entries was cosigned", last.size)}
	case (last.size == 0 || h.size == last.size) && len(asked.proof) > 0:
		return refuse(http.StatusUnprocessableEntity, "there is nothing to prove, and a proof")
	case last.size == 0 || h.size == last.size:
		return nil
	}
	if err := tlog.CheckTree(asked.proof, h.size, h.root, last.size, last.root); err != nil {
		return refuse(http.StatusUnprocessableEntity, "the proof does not show that the head continues the one of %d entries", last.size)
	}
	return nil
}
