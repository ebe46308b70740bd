package object

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strconv"
	"sync"

	"waymark/plugin"
	"waymark/plugin/file"
)

// object is an opened file that is fetched in pieces.
type object struct {
	info   plugin.FileInfo
	pinned bool
	wait   patience
	// get returns the bytes from one offset up to another, or to the end if that is negative, of the object that info describes.
	// The body lives as long as ctx.
	get func(ctx context.Context, from, to int64) (io.ReadCloser, error)

	stream *stream
	blocks *blocks
}

// Stream continues by itself where a connection breaks. What cannot be asked for from the middle is fetched from its beginning, and
// compared with what was read.
func (o *object) Stream(_ context.Context, offset int64) (file.Stream, error) {
	if o.stream != nil {
		o.stream.close()
	}
	o.stream = &stream{size: o.info.Bytes, offset: offset, wait: o.wait}
	if o.pinned {
		o.stream.open = func(ctx context.Context, offset int64) (io.ReadCloser, error) { return o.get(ctx, offset, -1) }
		return o.stream, nil
	}
	if offset > 0 {
		return nil, fmt.Errorf("%s cannot be read from byte %d: its server names no version", o.info.Path, offset)
	}
	if o.info.Bytes == 0 {
		o.stream.size = -1 // it may not have been told
	}
	reread := &reread{path: o.info.Path, get: o.get, read: sha256.New(), stream: o.stream}
	o.stream.open = reread.open
	return reread, nil
}

// ReaderAt reads blocks, and keeps some, because formats with an index make many small reads.
func (o *object) ReaderAt(ctx context.Context) io.ReaderAt {
	if o.blocks == nil {
		o.blocks = &blocks{object: o, at: map[int64]*list.Element{}, recent: list.New()}
	}
	return readerAt{ctx, o.blocks}
}

func (o *object) Pinned() bool { return o.pinned }

// Unchanged has nothing to do: every reply is of the version that was opened.
func (*object) Unchanged(context.Context) error { return nil }

func (o *object) Close() error {
	if o.stream != nil {
		o.stream.close()
	}
	return nil
}

// reread is the stream of an object without a version: it starts over, and reads what was read before only to compare it.
type reread struct {
	*stream
	path string
	get  func(ctx context.Context, from, to int64) (io.ReadCloser, error)
	read hash.Hash
}

func (r *reread) Read(ctx context.Context, p []byte) (int, error) {
	n, err := r.stream.Read(ctx, p)
	r.read.Write(p[:n])
	return n, err
}

func (r *reread) open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	body, err := r.get(ctx, 0, -1)
	if err != nil || offset == 0 {
		return body, err
	}
	again := sha256.New()
	if _, err := io.CopyN(again, body, offset); err != nil {
		_ = body.Close() // it was read from only
		return nil, err
	}
	if string(again.Sum(nil)) != string(r.read.Sum(nil)) {
		_ = body.Close()
		return nil, file.Changed(r.path)
	}
	return body, nil
}

// Blocks of a ReaderAt.
const (
	blockBytes = 256 << 10
	keptBlocks = 32
)

// blocks keeps the blocks that were read last. It is safe for concurrent use.
type blocks struct {
	object *object
	mu     sync.Mutex
	at     map[int64]*list.Element // by number
	recent *list.List              // of block, the one used last in front
}

type block struct {
	number int64
	data   []byte
}

type readerAt struct {
	ctx    context.Context
	blocks *blocks
}

// ReadAt is io.ReaderAt's.
func (r readerAt) ReadAt(p []byte, offset int64) (int, error) {
	size := r.blocks.object.info.Bytes
	if offset < 0 {
		return 0, fmt.Errorf("%s: read at byte %d", r.blocks.object.info.Path, offset)
	}
	n := 0
	for n < len(p) && offset < size {
		data, err := r.blocks.load(r.ctx, offset/blockBytes)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], data[offset%blockBytes:])
		n, offset = n+copied, offset+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (b *blocks) load(ctx context.Context, number int64) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.at[number]; known != nil {
		b.recent.MoveToFront(known)
		return known.Value.(block).data, nil
	}
	data, err := b.fetch(ctx, number)
	if err != nil {
		return nil, err
	}
	b.at[number] = b.recent.PushFront(block{number, data})
	if b.recent.Len() > keptBlocks {
		delete(b.at, b.recent.Remove(b.recent.Back()).(block).number)
	}
	return data, nil
}

func (b *blocks) fetch(ctx context.Context, number int64) ([]byte, error) {
	o := b.object
	if !o.pinned {
		return nil, &plugin.SourceError{Code: codeRequestRefused, File: o.info.Path,
			Message: "the server names no version (ETag or Last-Modified), and this format is read in pieces; fetch the file first"}
	}
	from := number * blockBytes
	to := min(from+blockBytes, o.info.Bytes)
	piece := &stream{size: to, offset: from, wait: o.wait}
	piece.open = func(ctx context.Context, offset int64) (io.ReadCloser, error) { return o.get(ctx, offset, to) }
	defer piece.close()
	data := make([]byte, to-from)
	for n := 0; n < len(data); {
		read, err := piece.Read(ctx, data[n:])
		if n += read; err != nil && n < len(data) {
			return nil, err
		}
	}
	return data, nil
}

var contentRange = regexp.MustCompile(`^bytes (\d{1,18})-\d{1,18}/(\d{1,18})$`)

// parseContentRange returns where a part of an object begins and how long the whole is.
func parseContentRange(text string) (from, total int64, ok bool) {
	found := contentRange.FindStringSubmatch(text)
	if found == nil {
		return 0, 0, false
	}
	from, _ = strconv.ParseInt(found[1], 10, 64) // at most 18 digits
	total, _ = strconv.ParseInt(found[2], 10, 64)
	return from, total, true
}
