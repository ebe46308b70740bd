package evidence

import (
	"context"
	"encoding/hex"

	"waymark/landscape"
)

// archived is what an entry says of an archived run. Where its bundle is, is not in it.
func archived(a landscape.Archive) Statement {
	return Statement{Type: Archived, At: a.At.Time().UTC().Format(moment), Run: a.Run, Root: hex.EncodeToString(a.Root), Bundle: a.SHA256, Manifest: a.Manifest}
}

// archives reports whether a statement is about an archived run, and says what is recorded of it.
func (s Statement) archives(a landscape.Archive) bool {
	want := archived(a)
	want.N, want.V = s.N, s.V
	return s == want
}

// Archived does what landscape.Sealer says.
func (s sealer) Archived(a landscape.Archive) (landscape.LogEntry, error) {
	said := archived(a)
	said.N = chance()
	return entry(said, s.key, a.At.Time())
}

// archives compares the runs that are archived with the entries about them, and with their last seals.
func (c *checker) archives(ctx context.Context) error {
	if c.ring.log == nil {
		return nil
	}
	all, err := c.log.Archives(ctx)
	if err != nil {
		return err
	}
	for _, kept := range all {
		about, where := archived(kept).about(), "run "+kept.Run
		s, ok := c.gone[about]
		delete(c.gone, about)
		newest := c.ended[kept.Run]
		switch {
		case !ok:
			c.problem(where, "is recorded as archived in %s without an entry: a process without a key archived it, or it was made up and the record was removed", kept.Location)
		case !s.archives(kept):
			c.problem(where, "is recorded as archived otherwise than its entry %d says", s.position)
		case newest.Type != "" && newest.Root != s.Root:
			c.problem(where, "was archived with another root than that of its last seal, says entry %d", newest.position)
		default:
			c.Archived++
		}
	}
	c.missing(c.gone)
	return nil
}
