// Package held lets tests hold runs of the real program in their middle, for as long as they like.
package held

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Web is a web server with the files of a folder, and holds them back behind a row. A run that reads from it stands in its middle:
// what was sent comes on record, and nothing else can.
type Web struct {
	URL    string
	folder string
	server *httptest.Server
	mu     sync.Mutex
	rows   int           // that it sends of a file; negative for all
	moved  chan struct{} // closed when rows is another
}

// Networks are those in which a Web is, for --allow-network.
const Networks = "127.0.0.0/8"

// Serve starts a server of the files of a folder, which holds nothing back yet. Close it.
func Serve(folder string) *Web {
	w := &Web{folder: folder, rows: -1, moved: make(chan struct{})}
	w.server = httptest.NewServer(http.HandlerFunc(w.answer))
	w.URL = w.server.URL
	return w
}

// Close ends the server.
func (w *Web) Close() {
	w.Release()
	w.server.CloseClientConnections()
	w.server.Close()
}

// Hold lets the server send no more of a file than the header and so many rows.
func (w *Web) Hold(rows int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = rows
	close(w.moved)
	w.moved = make(chan struct{})
}

// Release lets the server send everything.
func (w *Web) Release() { w.Hold(-1) }

func (w *Web) now() (rows int, moved <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows, w.moved
}

// answer answers for the whole file or a part of it, as far as it may.
func (w *Web) answer(reply http.ResponseWriter, r *http.Request) {
	data, err := os.ReadFile(filepath.Join(w.folder, filepath.Base(r.URL.Path)))
	if err != nil {
		http.NotFound(reply, r)
		return
	}
	reply.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
	reply.Header().Set("Content-Type", "text/csv")
	flush := func() { _ = http.NewResponseController(reply).Flush() } // a client that is gone needs nothing
	http.ServeContent(reply, r, "", time.Time{}, &file{bytes.NewReader(data), data, w, r.Context(), flush})
}

// file is one of which a read may wait until more may be sent.
type file struct {
	*bytes.Reader
	data  []byte
	web   *Web
	ctx   context.Context // of the request
	flush func()
}

// Read waits at the row behind which the file is held back.
func (f *file) Read(p []byte) (int, error) {
	for {
		rows, moved := f.web.now()
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0, err
		}
		if room := f.end(rows) - at; room > 0 {
			return f.Reader.Read(p[:min(int64(len(p)), room)])
		}
		if at >= f.Size() {
			return 0, io.EOF
		}
		f.flush()
		select {
		case <-moved:
		case <-f.ctx.Done():
			return 0, errors.New("the client is gone")
		}
	}
}

// end returns where the header and so many rows end.
func (f *file) end(rows int) int64 {
	if rows < 0 {
		return f.Size()
	}
	end := 0
	for range rows + 1 {
		next := bytes.IndexByte(f.data[end:], '\n')
		if next < 0 {
			return f.Size()
		}
		end += next + 1
	}
	return int64(end)
}

// Busy puts a program in the place of a file and lets it run: until end is called nobody can write to the file, and a run that has to
// write there tries it again and again. What it can do beside is done. end may be repeated.
func Busy(path string) (end func(), err error) {
	program, err := exec.LookPath("sleep")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := exec.Command("cp", program, path).Run(); err != nil { // what this process has open to write, any child that it begins has
		return nil, err
	}
	running := exec.Command(path, "infinity")
	if err := running.Start(); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		_ = running.Process.Kill()
		_ = running.Wait() // it was killed
	}), nil
}
