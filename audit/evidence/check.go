package evidence

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape"
)

// older counts runs that are older than the log.
type older struct {
	sum  hash.Hash
	runs int64
}

func newOlder() *older { return &older{sum: sha256.New()} }

func (o *older) add(run string) bool {
	_, _ = io.WriteString(o.sum, run+"\n") // never fails
	o.runs++
	return true
}

// digest is empty if there are none.
func (o *older) digest() string {
	if o.runs == 0 {
		return ""
	}
	return hex.EncodeToString(o.sum.Sum(nil))
}

// Problem is something of the log that is not as it should be.
type Problem struct {
	Where string `json:"where"` // such as "entry 41", "run 0198be", or an anchor
	What  string `json:"what"`
}

// Report is what a check of the log found.
type Report struct {
	Origin string `json:"origin"` // of the log; empty if it has not begun
	Key    string `json:"key"`    // that signs its heads
	// keys that signed them before, the first one first; nil if there are none
	Before   []string `json:"before"`
	Entries  int64    `json:"entries"`           // that were read
	Signed   int64    `json:"signed"`            // of them, under a head
	Root     string   `json:"root"`              // of all entries
	Anchors  []Anchor `json:"anchors"`           // with how many entries they have
	Runs     int64    `json:"runs"`              // with an entry, that are recorded as it says
	Sealed   int64    `json:"sealed"`            // seals of runs, that are recorded as their entries say
	Unsealed int64    `json:"unsealed"`          // seals of runs that have no entries either
	Signoffs int64    `json:"sign_offs"`         // of runs, that are recorded as their entries say
	Orders   int64    `json:"approval_requests"` // records of those, that are as their entries say
	Older    int64    `json:"older"`             // runs that are older than the log
	Lost     int64    `json:"lost"`              // runs with an entry that were lost when the record was restored
	// looks at the outputs of runs, that are recorded as their entries say
	Attested int64     `json:"attested"`
	Archived int64     `json:"archived"` // runs that are archived, as their entries say
	Refused  int64     `json:"refused"`  // entries that do not count, and are refused in the log
	Problems []Problem `json:"problems"` // nil if there are none
	// what contradicts nothing, and deserves a look; nil if there are none
	Warnings []Problem `json:"warnings"`

	// set by VerifyOrders; nil if there are no requests
	OrderSignatures *OrderSignatures `json:"approval_signatures,omitempty"`
}

// Anchor is how far an anchor is.
type Anchor struct {
	Anchor  string    `json:"anchor"`
	Entries int64     `json:"entries"`
	Stamped time.Time `json:"stamped,omitzero"` // of a time-stamping authority, if it was checked: when it stamped the head of so many entries
}

// checker reads the log from its first entry.
type checker struct {
	Report
	log     *landscape.Reader
	ring    *keyring
	tree    *tree
	wrong   map[int64]string // entries that do not count, until they are refused
	began   map[string]Statement
	sealed  map[string]sealedEntry // by what they are about
	ended   map[string]sealedEntry // the newest of each run
	looks   map[string]sealedEntry // at outputs, by what they are about
	signed  map[string]sealedEntry // about sign-offs, by what they are about
	ordered map[string]sealedEntry // about approval requests, by what they are about
	forgot  map[string]sealedEntry // about orders to forget, by what they are about
	gone    map[string]sealedEntry // about archived runs, by what they are about
	gaps    gaps
	lost    map[string]bool
	leaves  []tlog.Hash
	hashed  int64          // hashes that are kept and right
	heads   map[int64]bool // sizes of the heads that the landscape has, as they should be
	anchors []Place
}

// Check reads the whole log and compares it with its tree, its signed heads, what anchors have, and the runs that are
// recorded, all as they are at one moment. key is the public key of the log, as name+hash+base64, that the caller
// trusts, or one that it had before; with an empty one the log's own word is taken for it. It changes nothing. The
// error wraps ErrNoKey if key is something else.
func Check(ctx context.Context, log *landscape.Reader, key string, anchors []string) (report Report, err error) {
	if key != "" {
		if _, err := trusted(key); err != nil {
			return Report{}, err
		}
	}
	for look := 1; ; look++ {
		err := log.Snapshot(ctx, func(log *landscape.Reader) (err error) {
			report, err = checkOnce(ctx, log, key, anchors)
			return err
		})
		if err != nil || report.Problems == nil || look == mostLooks {
			return report, err
		}
		// An anchor may have a head that was signed after that moment.
		newest, err := landscape.Page[landscape.SignedHead](ctx, log, landscape.Query{Descending: true, Limit: 1})
		if err != nil || len(newest) == 0 || newest[0].Size == report.Signed {
			return report, err
		}
	}
}

// mostLooks is how often Check compares a log at most, if heads of it are signed at the same time.
const mostLooks = 5

func checkOnce(ctx context.Context, log *landscape.Reader, key string, anchors []string) (Report, error) {
	c := &checker{
		log: log, ring: newKeyring(), tree: &tree{ctx: ctx, log: log, new: map[int64]tlog.Hash{}},
		wrong: map[int64]string{}, began: map[string]Statement{}, lost: map[string]bool{},
		sealed: map[string]sealedEntry{}, ended: map[string]sealedEntry{}, looks: map[string]sealedEntry{},
		signed: map[string]sealedEntry{}, ordered: map[string]sealedEntry{}, forgot: map[string]sealedEntry{},
		gone: map[string]sealedEntry{}, heads: map[int64]bool{}, anchors: placesOf(anchors),
	}
	for _, look := range []func(context.Context) error{
		c.entries, c.hashes, c.signedHeads, c.missingHashes, c.compareAnchors, c.waiting, c.seals,
		c.attestations, c.signOffs, c.forgettings, c.archives, c.orders, c.runs,
	} {
		if err := look(ctx); err != nil {
			return c.Report, err
		}
	}
	if key != "" && c.Entries > 0 && !c.ring.log.has(key) {
		c.problem("log", "its key is %s, not the trusted %s", short(c.Key), short(key))
	}
	return c.Report, nil
}

func (c *checker) problem(where, format string, args ...any) {
	c.Problems = append(c.Problems, Problem{where, fmt.Sprintf(format, args...)})
}

// entries reads the entries, in order.
func (c *checker) entries(ctx context.Context) error {
	size, err := c.log.LogSize(ctx)
	if err != nil {
		return err
	}
	for {
		page, err := c.log.LogEntries(ctx, c.Entries, most)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Position != c.Entries {
				c.problem(fmt.Sprintf("entry %d", c.Entries), "is missing")
				return nil
			}
			if err := c.entry(e); err != nil {
				return err
			}
		}
		if len(page) < most {
			break
		}
	}
	if c.Entries != size {
		c.problem("log", "has %d entries, and its head counts %d", c.Entries, size)
	}
	if c.ring.log != nil {
		c.Origin, c.Key = c.ring.genesis.Origin, c.ring.log.last().vkey
		for _, key := range c.ring.log[:len(c.ring.log)-1] {
			c.Before = append(c.Before, key.vkey)
		}
	}
	return nil
}

func (c *checker) entry(e landscape.LogEntry) error {
	s, wrong := c.ring.take(e)
	switch {
	case wrong != nil:
		c.wrong[e.Position] = wrong.Error()
	case s.Type == Refused:
		if _, is := c.wrong[s.Position]; is {
			delete(c.wrong, s.Position)
			c.Refused++
		}
	case s.Type == Began:
		c.began[s.Run] = s
	case s.Type == Sealed:
		c.sealed[s.about()] = sealedEntry{s, e.Position}
	case s.Type == Attested:
		c.looks[s.about()] = sealedEntry{s, e.Position}
	case s.Type == SignedOff:
		c.signed[s.about()] = sealedEntry{s, e.Position}
	case s.Type == Ruled || s.Type == Requested || s.Type == Approved || s.Type == Executed:
		c.ordered[s.about()] = sealedEntry{s, e.Position}
	case s.Type == Forgot:
		c.forgot[s.about()] = sealedEntry{s, e.Position}
	case s.Type == Archived:
		c.gone[s.about()] = sealedEntry{s, e.Position}
	case s.Type == Restored:
		c.gaps = append(c.gaps, s)
	case s.Type == Lost:
		c.lost[s.Run] = true
	}
	leaf := tlog.RecordHash([]byte(e.Entry))
	_, err := c.tree.grow(e.Position, leaf)
	c.leaves = append(c.leaves, leaf)
	c.Entries++
	return err
}

// hashes names the entries that do not count, and compares the hashes that are kept with those of the entries.
func (c *checker) hashes(ctx context.Context) error {
	for position := range c.Entries {
		if why, is := c.wrong[position]; is {
			c.problem(fmt.Sprintf("entry %d", position), "does not count: %s", why)
		}
	}
	if c.Entries > 0 {
		root, err := c.tree.root(c.Entries)
		if err != nil {
			return err
		}
		c.Root = root.String()
	}
	c.hashed = 0
	return landscape.Each(ctx, c.log, func(kept landscape.LogHash) bool {
		is, known := c.tree.new[kept.Number]
		if !known || !bytes.Equal(is[:], kept.Hash) || kept.Number != c.hashed {
			c.problem("log_hashes", "the hash %d is not that of the entries", c.hashed)
			c.hashed = math.MaxInt64
			return false
		}
		c.hashed++
		return true
	})
}

// missingHashes says that hashes are not kept that were kept with the newest signed head.
func (c *checker) missingHashes(context.Context) error {
	if want := tlog.StoredHashCount(c.Signed); c.hashed < want {
		c.problem("log_hashes", "%d hashes are kept, and with the signed head of %d entries there were %d", c.hashed, c.Signed, want)
	}
	return nil
}

// same reports whether a head is that of the entries, and says where if it is not.
func (c *checker) same(head Head, where string) (bool, error) {
	if head.Size > c.Entries {
		c.problem(where, "a head of %d entries was signed, and %d are there", head.Size, c.Entries)
		return false, nil
	}
	root, err := c.tree.root(head.Size)
	if err == nil && root != head.Root {
		c.problem(where, "the signed head of %d entries is not that of the entries: one of them was changed, or another log was signed", head.Size)
		return false, nil
	}
	return true, err
}

// signedHeads compares the heads that were signed with the entries.
func (c *checker) signedHeads(ctx context.Context) error {
	if c.ring.log == nil {
		return nil
	}
	heads, err := landscape.Select[landscape.SignedHead](ctx, c.log)
	for _, stored := range heads {
		where := fmt.Sprintf("log_heads %d", stored.Size)
		head, wrong := headOf(stored, c.ring.log)
		if wrong != nil {
			c.problem(where, "is not a head that the log signed: %v", wrong)
			continue
		}
		var same bool
		if same, err = c.same(head, where); err != nil {
			return err
		}
		if same {
			c.Signed, c.heads[head.Size] = head.Size, true
		}
	}
	return err
}

// runs compares the runs that are recorded with the entries about them.
func (c *checker) runs(ctx context.Context) error {
	if c.ring.log == nil {
		return nil
	}
	before := newOlder()
	var unknown []string
	err := landscape.Each(ctx, c.log, func(run landscape.Beginning) bool {
		s, known := c.began[run.Run]
		if !known {
			before.add(run.Run)
			unknown = append(unknown, run.Run)
			return true
		}
		ended := c.ended[run.Run]
		if wrong := cmp.Or(s.differs(run), ended.reopened(run)); wrong != "" {
			c.problem("run "+run.Run, "%s", wrong)
		} else {
			c.Runs++
		}
		if warning := ended.unsealed(run); warning != "" {
			c.Warnings = append(c.Warnings, Problem{"run " + run.Run, warning})
		}
		delete(c.began, run.Run)
		return true
	})
	if err != nil {
		return err
	}
	genesis := c.ring.genesis
	if before.runs == genesis.Runs && before.digest() == genesis.RunsHash {
		c.Older = before.runs
	} else {
		c.unknownRuns(unknown)
	}
	for run := range c.began {
		if c.lost[run] {
			c.Lost++
			continue
		}
		c.problem("run "+run, "began, says the log, and is not recorded: somebody removed it")
	}
	sortProblems(c.Problems)
	return nil
}

// differs says what is recorded of how a run began, and is not what its entry says; empty if all is. The document is hashed here: what the record says
// of its hash proves nothing.
func (s Statement) differs(run landscape.Beginning) string {
	document := sha256.Sum256([]byte(run.Document))
	at := run.Started.Time().UTC().Format(moment)
	switch {
	case s.Pipeline != run.Pipeline || s.Document != run.DocumentSHA256:
		return "is recorded with another pipeline or document than its entry says"
	case s.Document != hex.EncodeToString(document[:]):
		return fmt.Sprintf("is recorded with the right document_sha256, and its document hashes to %x: the document was changed", document)
	case s.By == "": // the entry is older than what follows
		return ""
	case s.At != at:
		return fmt.Sprintf("is recorded as begun at %s, and its entry says %s", at, s.At)
	case s.By != s.byOf(run.Actor, run.Trigger):
		return fmt.Sprintf("is recorded as begun by %q (%s), and its entry says somebody else", run.Actor, run.Trigger)
	}
	return ""
}

// reopened says that a run is recorded as it was before it ended, as the newest entry about its seals says; empty if it is not, or there is no entry.
func (s sealedEntry) reopened(run landscape.Beginning) string {
	if s.Type == "" || !run.Reopened(s.Epoch) {
		return ""
	}
	return fmt.Sprintf("is recorded as %s in epoch %d, and its entry %d says that it ended in epoch %d: somebody took its end back", run.Status, run.Epoch, s.position, s.Epoch)
}

// unsealed says that a run is recorded as resumed after the newest entry about its seals, and as ended without another one; empty if it is not.
func (s sealedEntry) unsealed(run landscape.Beginning) string {
	if s.Type == "" || !run.Ended(s.Epoch+1) {
		return ""
	}
	return fmt.Sprintf("is recorded as %s in epoch %d, and no entry about a seal is newer than entry %d, of epoch %d: nobody can tell whether it was resumed, and what was recorded since; waymark seal %s seals it as it is",
		run.Status, run.Epoch, s.position, s.Epoch, run.Run)
}

// unknownRuns names what is wrong with runs without an entry.
func (c *checker) unknownRuns(unknown []string) {
	genesis := c.ring.genesis
	if genesis.Runs == 0 {
		for _, run := range unknown {
			c.problem("run "+run, "has no entry in the log: it was recorded by a process without a key, or made up")
		}
		return
	}
	c.problem("runs", "%d have no entry in the log, and the %d that are older than it are not all of them: some were recorded by a process without a key, made up or removed",
		len(unknown), genesis.Runs)
}

// ErrNoKey says that a text is not a public key.
var ErrNoKey = errors.New("is not a public key: write name+hash+base64, as waymark keys prints it")

// trusted reads a public key. The error wraps ErrNoKey.
func trusted(key string) (note.Verifier, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("%.120q %w", key, ErrNoKey)
	}
	return verifier, nil
}
