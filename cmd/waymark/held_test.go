package main

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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// heldWeb is a web server with the files of a script's folder, and holds them back behind a row. A run that reads from it stands in
// its middle for as long as the script likes: what was sent comes on record, and nothing else can.
type heldWeb struct {
	folder string
	mu     sync.Mutex
	rows   int           // that it sends of a file; negative for all
	moved  chan struct{} // closed when rows is another
}

// serveHeld DOCUMENT… starts the server, puts its address in the place of $WEB in the documents, and lets documents lead there.
func serveHeld(ts *testscript.TestScript, _ bool, args []string) {
	web := &heldWeb{folder: ts.MkAbs("."), rows: -1, moved: make(chan struct{})}
	server := httptest.NewServer(web)
	ts.Defer(server.Close)
	ts.Defer(func() { web.hold(-1) }) // before Close, which waits for replies
	webs.Store(web.folder, web)
	ts.Setenv("WAYMARK_ALLOW_NETWORK", "127.0.0.0/8")
	for _, document := range args {
		text := strings.ReplaceAll(ts.ReadFile(document), "$WEB", server.URL)
		ts.Check(os.WriteFile(ts.MkAbs(document), []byte(text), 0o600))
	}
}

// webs has the servers of scripts, by their folders.
var webs sync.Map

// hold ROWS lets the server send no more of a file than the header and so many rows.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := strconv.Atoi(args[0])
	ts.Check(err)
	webOf(ts).hold(rows)
}

// release lets the server send everything.
func release(ts *testscript.TestScript, _ bool, _ []string) { webOf(ts).hold(-1) }

func webOf(ts *testscript.TestScript) *heldWeb {
	web, found := webs.Load(filepath.Clean(ts.Getenv("WORK")))
	if !found {
		ts.Fatalf("there is no server: serve DOCUMENT… starts it")
	}
	return web.(*heldWeb)
}

func (h *heldWeb) hold(rows int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = rows
	close(h.moved)
	h.moved = make(chan struct{})
}

func (h *heldWeb) now() (rows int, moved <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows, h.moved
}

// ServeHTTP answers for the whole file or a part of it, as far as it may.
func (h *heldWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := os.ReadFile(filepath.Join(h.folder, filepath.Base(r.URL.Path)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
	w.Header().Set("Content-Type", "text/csv")
	flush := func() { _ = http.NewResponseController(w).Flush() } // a client that is gone needs nothing
	http.ServeContent(w, r, "", time.Time{}, &heldFile{bytes.NewReader(data), data, h, r.Context(), flush})
}

// heldFile is a file of which a read may wait until more may be sent.
type heldFile struct {
	*bytes.Reader
	data  []byte
	web   *heldWeb
	ctx   context.Context // of the request
	flush func()
}

// Read waits at the row behind which the file is held back.
func (f *heldFile) Read(p []byte) (int, error) {
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
func (f *heldFile) end(rows int) int64 {
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

// busy FILE puts a program in the place of a file and lets it run until the command idle: nobody can write to the file meanwhile, and a
// run that has to write there tries it again and again. What it can do beside is done.
func busyFile(ts *testscript.TestScript, _ bool, args []string) {
	sleep, err := exec.LookPath("sleep")
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(exec.Command("cp", sleep, path).Run()) // by another process: what this one has open to write, a child has when it is begun
	running := exec.Command(path, "infinity")
	ts.Check(running.Start())
	end := sync.OnceFunc(func() {
		_ = running.Process.Kill()
		_ = running.Wait() // it was killed
	})
	ts.Defer(end)
	busyFiles.Store(ts.Getenv("WORK"), end)
}

// idle ends what the last busy began.
func idleFile(ts *testscript.TestScript, _ bool, _ []string) {
	end, found := busyFiles.Load(ts.Getenv("WORK"))
	if !found {
		ts.Fatalf("nothing is busy")
	}
	end.(func())()
}

// busyFiles has what ends the programs of scripts, by their folders.
var busyFiles sync.Map
