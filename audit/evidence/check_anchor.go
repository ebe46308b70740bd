package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape"
)

// How many wrong tiles, and other things, of one anchor a report names.
const (
	maxTiles  = 5
	maxStrays = 5
)

// compareAnchors compares what anchors have with the entries, and with what the landscape says that they have.
func (c *checker) compareAnchors(ctx context.Context) error {
	said, err := landscape.Select[landscape.Anchored](ctx, c.log)
	if err != nil {
		return err
	}
	for _, at := range c.anchors {
		if c.ring.log == nil {
			c.findHeads(ctx, at)
		} else if err := at.check(ctx, c, lastSaid(said, at.String())); err != nil {
			return err
		}
	}
	c.compareSaid(said)
	return nil
}

// findHeads looks for heads at an anchor of a landscape that has no log.
func (c *checker) findHeads(ctx context.Context, at Place) {
	switch begun, err := at.Begun(ctx); {
	case errors.Is(err, ErrCannotSay):
	case err != nil:
		c.problem(at.String(), "was not compared: %v", err)
	case begun:
		c.problem(at.String(), "has heads of a log, and the landscape has no log: the record was removed, or another was put in its place")
	}
}

// lastSaid returns how many entries the landscape says are at an anchor.
func lastSaid(said []landscape.Anchored, anchor string) (last int64) {
	for _, s := range said {
		if s.Anchor == anchor {
			last = max(last, s.Size)
		}
	}
	return last
}

// Brought reports whether the landscape says that heads of its log were brought to an anchor.
func Brought(ctx context.Context, log *landscape.Reader, at Place) (bool, error) {
	said, err := landscape.Page[landscape.Anchored](ctx, log, landscape.Query{Prefix: []any{at.String()}, Limit: 1})
	return len(said) > 0, err
}

// compareSaid compares what the landscape says is at anchors with its heads, and with the anchors that were looked at: they may have been moved.
func (c *checker) compareSaid(said []landscape.Anchored) {
	var there int64
	for _, anchor := range c.Anchors {
		there = max(there, anchor.Entries)
	}
	var last landscape.Anchored
	for _, s := range said {
		if !c.heads[s.Size] {
			c.problem("log_anchors", "%d entries are said to be at %s, and no head of that size was signed",
				s.Size, s.Anchor)
		}
		if s.Size > last.Size {
			last = s
		}
	}
	named := func(anchor Anchor) bool { return anchor.Anchor == last.Anchor }
	for _, anchor := range c.Anchors {
		if named(anchor) {
			return // check compares it
		}
	}
	switch {
	case len(c.anchors) == 0 && last.Size > 0:
		c.Warnings = append(c.Warnings, Problem{last.Anchor, fmt.Sprintf("%d entries were brought there, says the landscape, and no anchor was compared: name it with --log-anchor, or check where it is", last.Size)})
	case len(c.Anchors) > 0 && last.Size > there:
		c.problem(last.Anchor, "%d entries were brought there, says the landscape, and no anchor that was looked at has as many: name it with --log-anchor; if it is gone, somebody removed it", last.Size)
	}
}

// away notes that an anchor could not be asked, if the error says so.
func (c *checker) away(err error) bool {
	away, ok := errors.AsType[*UnreachableError](err)
	if ok {
		c.Anchors = append(c.Anchors, Anchor{Anchor: away.Anchor})
		c.problem(away.Anchor, "was not compared: %v", away.Err)
	}
	return ok
}

// has notes how many entries an anchor has. said is how many the landscape says it has.
func (c *checker) has(at Place, entries, said int64) {
	c.Anchors = append(c.Anchors, Anchor{Anchor: at.String(), Entries: entries})
	if said > entries {
		c.problem(at.String(), "has %d entries, and the landscape says that %d were brought there", entries, said)
	}
}

// compareHeads compares the heads of an anchor with the log, and returns those that fit it. said is how many entries the landscape says it has.
func (c *checker) compareHeads(ctx context.Context, at keeper, said int64) (good []Head, err error) {
	listed, strays, err := at.Heads(ctx, c.ring.log)
	if c.away(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i, stray := range strays {
		if i == maxStrays {
			c.problem(at.String(), "%d more things that are there are not heads that the log signed", len(strays)-i)
			break
		}
		c.problem(at.String(), "%v", stray)
	}
	for _, head := range listed {
		same, err := c.same(head, at.String())
		switch {
		case err != nil:
			return nil, err
		case !same && head.Size > c.Entries: // the others are, too
			c.has(at, lastOf(good).Size, said)
			return good, nil
		case !same:
			continue
		}
		c.compareListed(at, good, head)
		good = append(good, head)
	}
	c.has(at, lastOf(good).Size, said)
	return good, nil
}

func (f Folder) check(ctx context.Context, c *checker, said int64) error {
	good, err := c.compareHeads(ctx, f, said)
	if err == nil {
		err = c.compareCheckpoint(f, good, said)
	}
	if err == nil {
		c.compareTiles(f, good)
	}
	return err
}

// lastOf returns the last head; the zero Head if there is none.
func lastOf(heads []Head) Head {
	if len(heads) == 0 {
		return Head{}
	}
	return heads[len(heads)-1]
}

// compareListed compares a head of an anchor's list with those before it, and with those that the landscape has. Those that were lost with what a
// backup does not have are not kept again.
func (c *checker) compareListed(at Place, before []Head, head Head) {
	if head.Size <= lastOf(before).Size {
		c.problem(at.String(), "has the head of %d entries after that of %d", head.Size, lastOf(before).Size)
	}
	if !c.heads[head.Size] && !c.gaps.have(head.Size-1) {
		c.problem("log_heads", "the head of %d entries is at %s, and is not recorded: somebody removed it", head.Size, at)
	}
}

// compareCheckpoint compares an anchor's checkpoint with its list. A kill leaves the one before the last, or none if there was none, and the landscape does not
// say then that the last is there.
func (c *checker) compareCheckpoint(at Folder, listed []Head, said int64) error {
	last := lastOf(listed)
	is, wrong := at.checkpoint(c.ring.log)
	if wrong != nil {
		is, wrong = at.checkpoint(at.continued(c.ring.log))
	}
	killed := len(listed) > 0 && said < last.Size && is.Size == lastOf(listed[:len(listed)-1]).Size
	switch {
	case wrong != nil:
		c.problem(string(at), "%v", wrong)
		return nil
	case is.Size == 0 && last.Size > 0 && !killed:
		c.problem(string(at), "has no %s, and %s ends with the head of %d entries", checkpointFile, headsFile, last.Size)
		return nil
	case is.Size == 0:
		return nil
	case is.Size != last.Size && !killed:
		c.problem(string(at), "%s is the head of %d entries, and %s ends with that of %d", checkpointFile, is.Size, headsFile, last.Size)
	}
	_, err := c.same(is, string(at)+"/"+checkpointFile)
	return err
}

// compareTiles compares every tile that an anchor has with the entries, also those that no head needs any more, and names those that its heads
// need and that are gone. What a kill leaves are tiles of a head that is not in the list yet: they are of entries that are here.
func (c *checker) compareTiles(at Folder, listed []Head) {
	wrong := 0
	problem := func(format string, args ...any) {
		if wrong++; wrong <= maxTiles {
			c.problem(string(at), format, args...)
		}
	}
	err := filepath.WalkDir(at.file("tile"), func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".new-") {
			return err
		}
		name, err := filepath.Rel(string(at), file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = c.compareTile(filepath.ToSlash(name), text, problem)
		}
		return err
	})
	if err != nil {
		problem("cannot be read: %v", err)
	}
	old := int64(0)
	for _, head := range listed {
		for _, tile := range tlog.NewTiles(tileHeight, old, head.Size) {
			if !at.hasTile(tile, tilePath) {
				problem("has no %s", tilePath(tile))
			}
			if tile.L == 0 && !at.hasTile(tile, entriesPath) {
				problem("has no %s", entriesPath(tile))
			}
		}
		old = head.Size
	}
	if wrong > maxTiles {
		c.problem(string(at), "%d more of its tiles are wrong", wrong-maxTiles)
	}
}

// hasTile reports whether the folder has a tile, or the full one that replaced it.
func (f Folder) hasTile(tile tlog.Tile, name func(tlog.Tile) string) bool {
	for _, width := range []int{tile.W, 1 << tileHeight} {
		tile.W = width
		if _, err := os.Stat(f.file(name(tile))); err == nil {
			return true
		}
	}
	return false
}

// compareTile compares the file of a tile, or of its entries, with the entries that are here.
func (c *checker) compareTile(name string, text []byte, problem func(string, ...any)) error {
	tile, entries, err := parseTile(name)
	if err != nil {
		problem("%s is no tile", name)
		return nil //nolint:nilerr // it is a problem of the anchor
	}
	if end := (tile.N<<tileHeight + int64(tile.W)) << (tileHeight * tile.L); end < 1 || end > c.Entries {
		problem("%s is of %d entries, and %d are there", name, end, c.Entries)
		return nil
	}
	if !entries {
		data, err := tlog.ReadTileData(tile, c.tree)
		if err == nil && !bytes.Equal(data, text) {
			problem("%s does not have the hashes of the entries", name)
		}
		return err
	}
	split, err := splitEntries(text, tile.W)
	if err != nil {
		problem("%s %v", name, err)
	}
	for i, entry := range split {
		if position := tile.N<<tileHeight + int64(i); tlog.RecordHash([]byte(entry)) != c.leaves[position] {
			problem("has another entry %d, in %s", position, name)
			break
		}
	}
	return nil
}

// parseTile says which tile a file is, and whether it has the entries.
func parseTile(name string) (tile tlog.Tile, entries bool, err error) {
	rest, entries := strings.CutPrefix(name, "tile/entries/")
	if entries {
		name = path.Join("tile/0", rest)
	}
	tile, err = tlog.ParseTilePath(fmt.Sprintf("tile/%s/%s", strconv.Itoa(tileHeight), strings.TrimPrefix(name, "tile/")))
	if err == nil && tile.L < 0 {
		err = errors.New("is not a tile of hashes")
	}
	return tile, entries, err
}
