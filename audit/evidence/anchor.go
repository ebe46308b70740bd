package evidence

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/internal/failpoint"
	"waymark/landscape"
)

// Folder is an anchor: a folder to which the log goes as tiles in the form of the C2SP (tlog-tiles), and every head into the list heads.log. Best it
// is on another disk, and belongs to another user, than the landscape.
type Folder string

// Names in a folder.
const (
	headsFile      = "heads.log"
	checkpointFile = "checkpoint"
)

// tileHeight is the height of tiles: 256 hashes wide.
const tileHeight = 8

// Begun reports whether the folder has heads of a log, whichever key signed them.
func (f Folder) Begun(context.Context) (bool, error) {
	for _, name := range []string{headsFile, checkpointFile} {
		if info, err := os.Stat(f.file(name)); err == nil && info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Heads returns the heads that the folder has, as they came; nil if it has none. A last line that is torn, as by a kill, is left out; so is all after
// another line that this key did not sign, which is the one stray.
func (f Folder) Heads(ctx context.Context, by LogKeys) (heads []Head, strays []error, err error) {
	text, err := os.ReadFile(f.file(headsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("anchor: %w", err)}, nil
	}
	for number, line := range strings.SplitAfter(string(text), "\n") {
		if !strings.HasSuffix(line, "\n") {
			return heads, nil, nil
		}
		head, err := parseLine(strings.TrimSuffix(line, "\n"), by)
		if err != nil {
			if more := f.continued(by); len(more) > len(by) {
				return f.Heads(ctx, more)
			}
			return heads, []error{fmt.Errorf("%s:%d: this head is not one that the log signed: %w", f.file(headsFile), number+1, err)}, nil
		}
		heads = append(heads, head)
	}
	return heads, nil, nil
}

// Head returns the last head that the folder has, in its list or as its checkpoint; the zero Head if it has none.
func (f Folder) Head(ctx context.Context, by LogKeys) (Head, error) {
	listed, err := f.lastListed(by)
	var checkpoint Head
	if err == nil {
		checkpoint, err = f.checkpoint(by)
	}
	if err != nil {
		if more := f.continued(by); len(more) > len(by) {
			return f.Head(ctx, more)
		}
		return Head{}, err
	}
	if checkpoint.Size > listed.Size {
		return checkpoint, nil
	}
	return listed, nil
}

// continued returns the keys of the log as the folder's entries continue them: the landscape may be older than the rotation of a key. They are those that
// were given if the entries do not continue them.
func (f Folder) continued(by LogKeys) LogKeys {
	text, err := os.ReadFile(f.file(checkpointFile))
	if err != nil {
		return by
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	line, _, _ := strings.Cut(rest, "\n")
	size, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return by
	}
	ring := newKeyring()
	err = f.entries(Head{Size: size}, func(position int64, entry string) error {
		leaf := tlog.RecordHash([]byte(entry))
		if s, _, err := read(entry); err == nil && slices.Contains(aboutKeys, s.Type) {
			_, _ = ring.take(landscape.LogEntry{Position: position, About: s.about(), Entry: entry, Leaf: leaf[:]}) // what does not count says nothing of keys
		}
		return nil
	})
	if err != nil || !ring.log.extends(by) {
		return by
	}
	return ring.log
}

// checkpoint returns the head that is the folder's checkpoint; the zero Head if it has none.
func (f Folder) checkpoint(by LogKeys) (Head, error) {
	text, err := os.ReadFile(f.file(checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, fmt.Errorf("anchor: %w", err)
	}
	head, err := openHead(string(text), by)
	if err != nil {
		return Head{}, fmt.Errorf("%s: this head is not one that the log signed: %w", f.file(checkpointFile), err)
	}
	return head, nil
}

// lastListed returns the last head of the list; the zero Head if there is none.
func (f Folder) lastListed(by LogKeys) (Head, error) {
	const tail = 4096 // longer than two lines
	file, err := os.Open(f.file(headsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, fmt.Errorf("anchor: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Head{}, fmt.Errorf("anchor: %w", err)
	}
	text := make([]byte, min(info.Size(), tail))
	if _, err := file.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return Head{}, fmt.Errorf("anchor: %w", err)
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1] // without a line that is torn
	if len(whole) == 0 {
		return Head{}, nil
	}
	line := whole[bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1:]
	head, err := parseLine(strings.TrimSuffix(string(line), "\n"), by)
	if err != nil {
		return Head{}, fmt.Errorf("%s: its last head is not one that the log signed: %w", f.file(headsFile), err)
	}
	return head, nil
}

// headLine is a head on one line: size, root and signature, between which the checkpoint has the rest.
func headLine(h Head, signature string) string {
	return fmt.Sprintf("%d %s %s\n", h.Size, h.Root, signature)
}

// signatureOf returns the first signature under a checkpoint: that of the key which counts there.
func signatureOf(h Head) string {
	_, signatures, _ := strings.Cut(h.Note, "\n\n")
	return strings.Fields(signatures)[2]
}

func parseLine(line string, by LogKeys) (Head, error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return Head{}, errors.New("it is not a size, a root and a signature")
	}
	return openHead(fmt.Sprintf("%s\n%s\n%s\n\n— %s %s\n", by.origin(), parts[0], parts[1], by.origin(), parts[2]), by)
}

func (f Folder) file(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// String is the path.
func (f Folder) String() string { return string(f) }

func (f Folder) agrees(ctx context.Context, here here) error {
	there, err := f.Head(ctx, here.by)
	if err != nil {
		return err
	}
	return here.agrees(ctx, there, f.String())
}

func (f Folder) bring(ctx context.Context, log *landscape.Reader, by LogKeys, head Head) (receipt string, err error) {
	if err := f.agrees(ctx, here{log, by, head.Size, head.Size}); err != nil {
		return "", err
	}
	listed, err := f.lastListed(by)
	if err != nil {
		return "", err
	}
	switch {
	case listed.Size < head.Size:
		return "", f.put(ctx, log, listed.Size, head)
	case listed.Size > head.Size: // another process was faster
		return "", nil
	}
	return "", f.putCheckpoint(by, head)
}

// put brings a head to the folder, with all entries and hashes that it does not have; old is the last one that is there. Killed anywhere, it may
// be repeated.
func (f Folder) put(ctx context.Context, log *landscape.Reader, old int64, head Head) error {
	hashes := &tree{ctx: ctx, log: log}
	for _, tile := range tlog.NewTiles(tileHeight, old, head.Size) {
		data, err := hashes.tileData(head, tile)
		if err == nil {
			err = f.write(tilePath(tile), data)
		}
		if err == nil && tile.L == 0 {
			err = f.putEntries(ctx, log, tile)
		}
		if err == nil && tile.W == 1<<tileHeight {
			err = f.removePartial(tile)
		}
		if err != nil {
			return err
		}
	}
	if err := f.appendLine(headLine(head, signatureOf(head))); err != nil {
		return err
	}
	if err := failpoint.Hit("log.anchored"); err != nil {
		return err
	}
	return f.write(checkpointFile, []byte(head.Note))
}

// putCheckpoint makes a head that is in the list the checkpoint, if a kill came between the two.
func (f Folder) putCheckpoint(by LogKeys, head Head) error {
	is, err := f.checkpoint(by)
	if err != nil || is.Size == head.Size {
		return err
	}
	return f.write(checkpointFile, []byte(head.Note))
}

// putEntries writes the entries whose hashes are in a tile, each with its length in two bytes before it.
func (f Folder) putEntries(ctx context.Context, log *landscape.Reader, tile tlog.Tile) error {
	entries, err := log.LogEntries(ctx, tile.N<<tileHeight, tile.W)
	if err != nil {
		return err
	}
	if len(entries) != tile.W {
		return fmt.Errorf("anchor: %d entries are there of %d: %w", len(entries), tile.W, landscape.ErrNotFound)
	}
	var data []byte
	for _, entry := range entries {
		data = binary.BigEndian.AppendUint16(data, uint16(len(entry.Entry))) //nolint:gosec // the table limits it
		data = append(data, entry.Entry...)
	}
	return f.write(entriesPath(tile), data)
}

// tilePath is the name of a tile: tlog's without the height.
func tilePath(tile tlog.Tile) string {
	return "tile/" + strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight))
}

// entriesPath is the name of the entries of a tile of the lowest level.
func entriesPath(tile tlog.Tile) string {
	return "tile/entries/" + strings.TrimPrefix(tilePath(tile), "tile/0/")
}

// removePartial removes what there was of a tile before it was full. It needs not be there.
func (f Folder) removePartial(tile tlog.Tile) error {
	err := os.RemoveAll(f.file(tilePath(tile) + ".p"))
	if err == nil && tile.L == 0 {
		err = os.RemoveAll(f.file(entriesPath(tile) + ".p"))
	}
	if err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	return nil
}

// modes returns the modes of what is written: who may read the folder reads what is in it, and no one else. An anchor
// on another disk may be for auditors; that of a state folder is for its owner alone.
func (f Folder) modes() (file, folder fs.FileMode, err error) {
	const fileMode, folderMode, owner = 0o644, 0o755, 0o700
	may := fs.FileMode(owner)
	switch info, err := os.Stat(string(f)); {
	case err == nil:
		may |= info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return 0, 0, err
	}
	return fileMode & may, folderMode & may, nil
}

// write makes a file durable under its name, whole or not at all.
func (f Folder) write(name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("anchor: %w", err)
		}
	}()
	file, folder, err := f.modes()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.file(path.Dir(name)), folder); err != nil {
		return err
	}
	made, err := os.CreateTemp(f.file(path.Dir(name)), ".new-*")
	if err != nil {
		return err
	}
	_, err = made.Write(data)
	if err := errors.Join(err, made.Chmod(file), made.Sync(), made.Close()); err != nil {
		return errors.Join(err, os.Remove(made.Name()))
	}
	return os.Rename(made.Name(), f.file(name))
}

// appendLine appends to the list of heads, after what is whole of it, and makes that durable.
func (f Folder) appendLine(line string) error {
	mode, _, err := f.modes()
	if err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	file, err := os.OpenFile(f.file(headsFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, mode)
	if err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	err = dropTorn(file)
	if err == nil {
		_, err = file.WriteString(line)
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	return nil
}

// dropTorn cuts off a last line without an end.
func dropTorn(file *os.File) error {
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) {
		return file.Truncate(int64(whole))
	}
	return nil
}

// entries calls yield with the entries that the folder has, as many as the head says.
func (f Folder) entries(head Head, yield func(position int64, entry string) error) error {
	const full = 1 << tileHeight
	for first := int64(0); first < head.Size; first += full {
		tile := tlog.Tile{H: tileHeight, N: first / full, W: int(min(full, head.Size-first))}
		data, err := os.ReadFile(f.file(entriesPath(tile)))
		if err != nil {
			return fmt.Errorf("anchor: %w", err)
		}
		entries, err := splitEntries(data, tile.W)
		if err != nil {
			return fmt.Errorf("anchor: %s %w", f.file(entriesPath(tile)), err)
		}
		for i, entry := range entries {
			if err := yield(tile.N<<tileHeight+int64(i), entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// splitEntries returns the entries that putEntries wrote to a file.
func splitEntries(data []byte, count int) (entries []string, err error) {
	for range count {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			return nil, errors.New("is too short")
		}
		end := 2 + int(binary.BigEndian.Uint16(data))
		entries = append(entries, string(data[2:end]))
		data = data[end:]
	}
	if len(data) > 0 {
		return nil, errors.New("is too long")
	}
	return entries, nil
}
