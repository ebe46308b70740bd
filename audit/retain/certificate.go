package retain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/internal/text"
	"waymark/landscape"
	"waymark/plugin"
)

// certificate collects what an order to forget did not reach, by run.
type certificate struct {
	found    map[string]landscape.Descent
	outcomes map[[2]string]map[int64]plugin.ErasureOutcome // by run and sink, and line
	left     bool                                          // targets were given up

	unread []landscape.UnreadDeliveries
}

func (c *certificate) erased(run, sink string, outcomes map[int64]plugin.ErasureOutcome) {
	if c.outcomes == nil {
		c.outcomes = map[[2]string]map[int64]plugin.ErasureOutcome{}
	}
	c.outcomes[[2]string{run, sink}] = outcomes
}

func (c *certificate) add(run string, found landscape.Descent) {
	if c.found == nil {
		c.found = map[string]landscape.Descent{}
	}
	c.found[run] = found
}

// smallDigest is from how many rows on a digest of all of them is not listed: nobody guesses so many at once.
const smallDigest = 8

// text is the certificate: who ordered it, which rows it was about, what became of them, and what could not be reached. It holds no value of a row, and no
// hash that somebody could guess one by.
func (c *carrying) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "waymark forgotten v1\norder %d of %s by %s: %s\ncarried out %s\n",
		c.order.ID, moment(c.order.At.Time()), landscape.OneLine(c.order.Actor), landscape.OneLine(c.order.Why), moment(c.Log.Now().Time()))
	b.WriteString("\nRows whose records, hashes, keys and errors were overwritten, and whose salts were destroyed:\n")
	for _, row := range c.rows {
		fmt.Fprintf(&b, "  run %s  %s:%d\n", row.Run, row.Source, row.Row)
	}
	b.WriteString("\nWhat stays of each: its number, its place and length in what was read, its way, and the hash of its leaf, which nobody can compute again.\n")
	c.writeErased(&b)
	b.WriteString("\nNot deleted, because it is not Waymark's to delete:\n")
	c.writeOutputs(&b)
	if c.report.left {
		fmt.Fprintf(&b, "  who gave targets up: %s: %s\n", landscape.OneLine(c.LeftBy), landscape.OneLine(c.LeftWhy))
	}
	b.WriteString("\nNot reached:\n")
	for _, line := range []string{
		"sources: a run that reads the person's records again records them again",
		"rows that their source refused: they have no key by which they could be found",
		"Temporal's history, until its retention deletes it: where a chunk ends with the person's record, up to 63 bytes before its end, in the state of a hash",
		"backups and replicas of the landscape and of the payload store, write-ahead logs of Postgres, and what it has not vacuumed yet",
		"old versions of objects in a versioned bucket",
		"bundles and proofs that were given away",
		"lookup tables, documents, parameters, and texts in the landscape that people or services wrote",
	} {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, unread := range c.report.unread {
		fmt.Fprintf(&b, "  %s: not searched for the person\n", unread)
	}
	for _, chunk := range c.chunks {
		if chunk.Rows < smallDigest {
			fmt.Fprintf(&b, "  run %s  digests over %s of %s chunk %d: who guesses all of that can test the guess\n",
				chunk.Run, text.Count(chunk.Rows, "row"), chunk.Source, chunk.Chunk)
		}
	}
	return b.String()
}

// writeOutputs lists rows of outputs, and rows that were made of others as well.
func (c *carrying) writeOutputs(b *strings.Builder) {
	for _, run := range slices.Sorted(maps.Keys(c.report.found)) {
		for _, line := range c.report.found[run].Lines {
			if outcome := c.report.outcomeOf(run, line); !outcome.Absent() {
				fmt.Fprintln(b, landscape.ErasedLine(run, line, outcome))
			}
		}
		for _, token := range c.report.found[run].Mixed {
			fmt.Fprintf(b, "  run %s  %s, which was made of other rows as well\n", run, token)
		}
	}
}

// writeErased lists rows that are not in their targets any more.
func (c *carrying) writeErased(b *strings.Builder) {
	if c.report.outcomes == nil {
		return
	}
	b.WriteString("\nDeleted in tables, by this order:\n")
	for _, run := range slices.Sorted(maps.Keys(c.report.found)) {
		for _, line := range c.report.found[run].Lines {
			if outcome := c.report.outcomeOf(run, line); outcome.Absent() {
				fmt.Fprintln(b, landscape.ErasedLine(run, line, outcome))
			}
		}
	}
}

func (c *certificate) outcomeOf(run string, line landscape.OutputLine) plugin.ErasureOutcome {
	return c.outcomes[[2]string{run, line.Sink}][line.Line]
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
