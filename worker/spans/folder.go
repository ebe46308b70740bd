package spans

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Folder is where spans wait. It is made when something waits.
type Folder string

// Waiting is what waits, and what was dropped.
type Waiting struct {
	Spans, Bytes int64
	Since        time.Time // when the oldest came; zero if nothing waits

	Dropped int64     // spans, ever
	Last    time.Time // when some were dropped last

	files []file // the oldest first
}

// file has the spans of a batch. Its name says when they came, and how many they are.
type file struct {
	name  string
	spans int64
	bytes int64
}

const (
	suffix  = ".otlp"
	dropped = "dropped.json"
)

// Waiting looks into the folder. One that is not there is empty.
func (f Folder) Waiting() (w Waiting, err error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	for _, entry := range entries { // sorted by name
		at, spans, ok := parse(entry.Name())
		info, gone := entry.Info()
		if !ok || gone != nil {
			continue
		}
		if w.files == nil {
			w.Since = at
		}
		w.files = append(w.files, file{entry.Name(), spans, info.Size()})
		w.Spans, w.Bytes = w.Spans+spans, w.Bytes+info.Size()
	}
	if text, missing := os.ReadFile(filepath.Join(string(f), dropped)); missing == nil {
		var was drops
		err = errors.Join(err, json.Unmarshal(text, &was))
		w.Dropped, w.Last = was.Spans, was.Last
	}
	return w, err
}

// parse reads the name of a file: microseconds, a number of this process, and spans.
func parse(name string) (at time.Time, spans int64, ok bool) {
	parts := strings.Split(strings.TrimSuffix(name, suffix), "-")
	if len(parts) != 4 || !strings.HasSuffix(name, suffix) {
		return at, 0, false
	}
	micros, wrong := strconv.ParseInt(parts[0], 10, 64)
	spans, odd := strconv.ParseInt(parts[3], 10, 64)
	return time.UnixMicro(micros), spans, wrong == nil && odd == nil
}

// kept numbers the files of this process.
var kept atomic.Int64

// keep adds spans, and drops the oldest ones if too much waits.
func (f Folder) keep(data []byte, spans int64) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("%016d-%d-%d-%d%s", time.Now().UnixMicro(), os.Getpid(), kept.Add(1), spans, suffix)
	part := filepath.Join(string(f), name+".part")
	err := os.WriteFile(part, data, 0o600)
	if err == nil {
		err = os.Rename(part, filepath.Join(string(f), name))
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(part)))
	}
	waits, err := f.Waiting()
	for _, oldest := range waits.files {
		if waits.Bytes <= mostBytes || err != nil {
			break
		}
		waits.Bytes -= oldest.bytes
		err = f.lose(oldest)
	}
	return err
}

func (f Folder) read(of file) ([]byte, error) { return os.ReadFile(filepath.Join(string(f), of.name)) }

func (f Folder) remove(of file) error {
	return ignoreMissing(os.Remove(filepath.Join(string(f), of.name)))
}

// lose drops the spans of a file.
func (f Folder) lose(of file) error { return errors.Join(f.remove(of), f.drop(of.spans)) }

// drops is what is known of dropped spans.
type drops struct {
	Spans int64     `json:"spans"`
	Last  time.Time `json:"last"`
}

// drop counts spans that are lost.
func (f Folder) drop(spans int64) error {
	was, err := f.Waiting()
	if err != nil {
		return err
	}
	text, err := json.Marshal(drops{was.Dropped + spans, time.Now().UTC()})
	if err == nil {
		err = os.MkdirAll(string(f), 0o700)
	}
	part := filepath.Join(string(f), dropped+".part")
	if err == nil {
		err = os.WriteFile(part, text, 0o600)
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(string(f), dropped))
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
