package evidence

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape"
)

// Head is a head of the log: how many entries it has, and the root of their tree. Note is the checkpoint that says so, in the form of the C2SP.
type Head struct {
	Size int64
	Root tlog.Hash
	Note string
}

// signHead signs the head of a log whose name is that of the key.
func signHead(by note.Signer, size int64, root tlog.Hash) (Head, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", by.Name(), size, root)
	signed, err := note.Sign(&note.Note{Text: text}, by)
	return Head{size, root, string(signed)}, err
}

// alsoBy returns the head with one more signature under it.
func (h Head) alsoBy(by note.Signer) (Head, error) {
	text, _, _ := strings.Cut(h.Note, "\n\n")
	signed, err := note.Sign(&note.Note{Text: text + "\n"}, by)
	h.Note += strings.TrimPrefix(string(signed), text+"\n\n")
	return h, err
}

// openHead reads a checkpoint that the key of its size signed.
func openHead(text string, by LogKeys) (Head, error) {
	if by == nil {
		return Head{}, errors.New("the log has no key")
	}
	n, err := note.Open([]byte(text), by.verifiers())
	if err != nil {
		return Head{}, err
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 4 || lines[0] != by.origin() {
		return Head{}, errors.New("it is not a checkpoint of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 1 || strconv.FormatInt(size, 10) != lines[1] {
		return Head{}, errors.New("it has no size")
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Head{}, errors.New("it has no root")
	}
	if err := by.signed(n, size); err != nil {
		return Head{}, err
	}
	return Head{size, tlog.Hash(root), text}, nil
}

// headOf reads a head that the landscape keeps.
func headOf(stored landscape.SignedHead, by LogKeys) (Head, error) {
	head, err := openHead(stored.Note, by)
	if err == nil && (head.Size != stored.Size || string(head.Root[:]) != string(stored.Root)) {
		err = errors.New("it is the head of another size or root")
	}
	return head, err
}

// signedHead returns the head of this size that the landscape keeps; the zero Head if there is none that one of these
// keys signed.
func signedHead(ctx context.Context, log *landscape.Reader, by LogKeys, size int64) (Head, error) {
	stored, err := landscape.Select[landscape.SignedHead](ctx, log, size)
	if err != nil || len(stored) == 0 {
		return Head{}, err
	}
	head, wrong := headOf(stored[0], by)
	if wrong != nil {
		return Head{}, nil //nolint:nilerr // a foreign head: log check names it
	}
	return head, nil
}

// tree reads the hashes of the log's tree from the landscape, and those that are new from memory.
type tree struct {
	ctx context.Context //nolint:containedctx // tlog.HashReader has none
	log *landscape.Reader
	new map[int64]tlog.Hash
}

// ReadHashes does what tlog.HashReader says.
func (t *tree) ReadHashes(numbers []int64) ([]tlog.Hash, error) {
	kept, err := t.kept(numbers)
	if err != nil {
		return nil, err
	}
	hashes := make([]tlog.Hash, len(numbers))
	for i, number := range numbers {
		hash, is := t.new[number]
		if !is {
			hash, is = kept[number]
		}
		if !is {
			return nil, fmt.Errorf("log_hashes %d: %w", number, landscape.ErrNotFound)
		}
		hashes[i] = hash
	}
	return hashes, nil
}

// together is how many numbers there may be for each that is wanted, if they are read at once. In a tile of the lowest level there are two.
const together = 3

// kept reads those of the hashes that the landscape keeps.
func (t *tree) kept(numbers []int64) (map[int64]tlog.Hash, error) {
	wanted := slices.DeleteFunc(slices.Clone(numbers), func(number int64) bool { _, is := t.new[number]; return is })
	slices.Sort(wanted)
	kept := make(map[int64]tlog.Hash, len(wanted))
	for len(wanted) > 0 {
		n := len(wanted)
		if span := wanted[n-1] - wanted[0] + 1; span > together*int64(n) {
			n = 1
		}
		first, last := wanted[0], wanted[n-1]
		q := landscape.Query{After: []any{first - 1}, Limit: int(last - first + 1)}
		found, err := landscape.Page[landscape.LogHash](t.ctx, t.log, q)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			if len(h.Hash) == tlog.HashSize {
				kept[h.Number] = tlog.Hash(h.Hash)
			}
		}
		wanted = wanted[n:]
	}
	return kept, nil
}

// grow adds the next entry, whose position is that, and returns the hashes that are to be kept with it.
func (t *tree) grow(position int64, leaf tlog.Hash) ([]landscape.LogHash, error) {
	hashes, err := tlog.StoredHashesForRecordHash(position, leaf, t)
	if err != nil {
		return nil, err
	}
	first := tlog.StoredHashIndex(0, position)
	kept := make([]landscape.LogHash, len(hashes))
	for i, hash := range hashes {
		t.new[first+int64(i)] = hash
		kept[i] = landscape.LogHash{Number: first + int64(i), Hash: hash[:]}
	}
	return kept, nil
}

// has returns a *ForkedError if the tree does not begin as a head says that is at a place. If the hashes that are kept
// say so, it computes them again.
func (t *tree) has(head Head, place string) error {
	root, err := t.root(head.Size)
	if err != nil && errors.Is(err, landscape.ErrNotFound) || err == nil && root != head.Root {
		if err = t.compute(head.Size); err == nil {
			root, err = t.root(head.Size)
		}
	}
	if err == nil && root != head.Root {
		err = &ForkedError{head.Size, place}
	}
	return err
}

// root returns the root of the tree of the first entries.
func (t *tree) root(size int64) (tlog.Hash, error) { return tlog.TreeHash(size, t) }
