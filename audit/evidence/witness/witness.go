// Package witness cosigns the heads of other logs, as long as each continues the one before: the server of C2SP's tlog-witness. Two landscapes whose
// owners run one for each other need nobody else to notice that a log was cut short, forked or made again.
package witness

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
)

// Witness remembers the last head of each log that it cosigned. It is an http.Handler, safe for concurrent use.
type Witness struct {
	key    note.Signer
	own    note.Verifier
	folder string
	lock   *os.File
	logger *slog.Logger
	logs   map[string]*known // by origin
	mux    *http.ServeMux
}

// known is a log that is witnessed. Requests about it come one after the other.
type known struct {
	sync.Mutex
	origin string
	keys   []note.Verifier
	file   string // with the last head that was cosigned
}

// ErrInUse says that another process has the folder of a witness.
var ErrInUse = errors.New("another process uses this folder: two witnesses with one key would contradict each other")

// Open returns a witness that cosigns with this key the logs that policies name. What it cosigned stands in the folder, which it makes if need be, and
// which it keeps for itself until Close: the error wraps ErrInUse if another process has it.
func Open(folder string, key keys.Key, logs []trust.Log, logger *slog.Logger) (*Witness, error) {
	own, err := cosign.NewVerifier(key.VKey)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("witness: %s: %w", folder, errors.Join(ErrInUse, lock.Close()))
	}
	w := &Witness{key: key, own: own, folder: folder, lock: lock, logger: logger, logs: map[string]*known{}, mux: http.NewServeMux()}
	for _, log := range logs {
		w.add(log)
	}
	for _, log := range w.logs {
		if _, err := log.last(own); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	w.mux.HandleFunc("POST /add-checkpoint", w.addCheckpoint)
	return w, nil
}

// add lets heads of a log be cosigned. One whose key changed has several keys.
func (w *Witness) add(log trust.Log) {
	of := w.logs[log.Name()]
	if of == nil {
		of = &known{origin: log.Name(), file: w.fileOf(log.Name())}
		w.logs[log.Name()] = of
	}
	of.keys = append(of.keys, log.Verifier)
}

// Close lets another process have the folder.
func (w *Witness) Close() error { return w.lock.Close() }

// ServeHTTP does what http.Handler says.
func (w *Witness) ServeHTTP(to http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(to, r) }
