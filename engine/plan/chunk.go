package plan

import "crypto/sha256"

// hashBudget is how many bytes the hashes of a chunk take, one for each row and node that changes it, unless the document
// says how many rows a chunk has. They stay in memory until all of them are recorded, while other chunks are under way.
// Measured with 200,000 rows through 150 steps, a process takes 350, 510 and 680 MB with 19, 37 and 66 MiB.
const hashBudget = 20 << 20

// sliceRows is how many rows are recorded together: a chunk of a multiple of it has no short slice. A chunk has that many
// rows at least.
const sliceRows = 1024

// limitRows gives chunks fewer rows if the hashes of one would go beyond the budget.
func (c *compiler) limitRows() {
	if c.doc.Pipeline.Chunk.Rows > 0 {
		return
	}
	for _, hashes := range c.hashes {
		rows := hashBudget / sha256.Size / max(hashes, 1) / sliceRows * sliceRows
		c.plan.Chunk.Rows = min(c.plan.Chunk.Rows, max(rows, sliceRows))
	}
}

// hashesOf returns how many hashes a token of the lane has at most, which is sent to one of these nodes first.
func (p *Plan) hashesOf(lane Lane, starts []int) (count int) {
	maker := lane.Node
	if lane.Parent == None {
		maker = lane.Origin
	}
	if p.Nodes[maker].Changes() {
		count++
	}
	for i, reached := range p.reachedFrom(starts) {
		if reached && p.Nodes[i].Changes() && p.Nodes[i].Operation != Coalesce { // which makes another token
			count++
		}
	}
	return count
}
