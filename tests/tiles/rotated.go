package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/transparency-dev/tessera/api/layout"
	"github.com/transparency-dev/tessera/client"
	"golang.org/x/mod/sumdb/note"
)

// statement is what an entry says of the log's keys.
type statement struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// lastKey returns the key with which the log signs the checkpoint: the first entry names one, and entries of type rotated that the key before signed name
// the next ones. One of them must be the trusted key. Whether these entries are in the log, fsck says.
func lastKey(ctx context.Context, files client.FileFetcher, trusted string) (note.Verifier, error) {
	if _, err := note.NewVerifier(trusted); err != nil {
		return nil, err
	}
	size, err := claimedSize(ctx, files)
	if err != nil {
		return nil, err
	}
	keys := &chain{trusted: trusted}
	for bundle := range (size + layout.EntryBundleWidth - 1) / layout.EntryBundleWidth {
		entries, err := client.GetEntryBundle(ctx, files.ReadEntryBundle, bundle, size)
		if err != nil {
			return nil, err
		}
		for i, entry := range entries.Entries {
			if err := keys.take(string(entry)); err != nil { // as of an entry that a later one of type refused names
				fmt.Fprintf(os.Stderr, "tiles: entry %d names no key: %v\n", bundle*layout.EntryBundleWidth+uint64(i), err)
			}
		}
	}
	if !keys.known {
		return nil, errors.New("none of the keys of the log is the trusted one")
	}
	return keys.now, nil
}

// claimedSize is how many entries the checkpoint says there are. Its signature is verified later.
func claimedSize(ctx context.Context, files client.FileFetcher) (uint64, error) {
	text, err := files.ReadCheckpoint(ctx)
	if err != nil {
		return 0, err
	}
	lines := strings.SplitN(string(text), "\n", 3)
	if len(lines) < 3 {
		return 0, errors.New("the checkpoint has no size")
	}
	return strconv.ParseUint(lines[1], 10, 64)
}

// chain are the keys of a log, as far as its entries were read.
type chain struct {
	trusted string
	now     note.Verifier // nil before the first entry
	had     map[uint32]bool
	known   bool // one of them is the trusted one
}

// take reads the next entry. The error says why it names no key, though it seems to.
func (c *chain) take(entry string) error {
	line, _, _ := strings.Cut(entry, "\n")
	var said statement
	if json.Unmarshal([]byte(line), &said) != nil || said.Type != "genesis" && said.Type != "rotated" {
		return nil
	}
	named, err := note.NewVerifier(said.Key)
	if err != nil {
		return err
	}
	by := c.now
	if by == nil {
		by, c.had = named, map[uint32]bool{} // the first entry is signed by the key that it names
	}
	switch {
	case (c.now == nil) != (said.Type == "genesis"):
		return fmt.Errorf("%s is not in its place", said.Type)
	case named.Name() != by.Name() || c.had[named.KeyHash()]:
		return errors.New("the key is of another log, or the log had it already")
	}
	if _, err := note.Open([]byte(entry), note.VerifierList(by)); err != nil {
		return fmt.Errorf("the key of the log did not sign it: %w", err)
	}
	c.now, c.had[named.KeyHash()], c.known = named, true, c.known || said.Key == c.trusted
	return nil
}
