package expr

import (
	"strings"

	"cel.dev/cel-go/common/cost"
)

// Counting the cost doubles the time of an evaluation. So it is done only for expressions, and rows, of which CEL's
// static estimate cannot say that they stay below the limit.

// Sizes of a cell for which the cost is estimated.
const (
	maxCellBytes   = 1 << 20 // the largest that a source lets through
	smallCellBytes = 4 << 10
)

// guard says when a program must count the cost.
type guard uint8

const (
	never       guard = iota // cheap even on the largest cells
	onLargeCell              // cheap unless a cell is larger than smallCellBytes
	always
)

// guard estimates the cost of the expression.
func (c *compilation) guard() (guard, error) {
	large, err := c.estimate(maxCellBytes)
	if err != nil || large <= maxCost {
		return never, err
	}
	small, err := c.estimate(smallCellBytes)
	if err != nil || small > maxCost {
		return always, err
	}
	return onLargeCell, nil
}

// estimate returns the highest cost of the expression for cells of up to so many bytes.
func (c *compilation) estimate(cellBytes uint64) (uint64, error) {
	estimate, err := c.env.cel.EstimateCost(c.checked, sizes{c.env, cellBytes})
	return estimate.Max, err
}

// sizes tells the estimate how large parameters are and the values of a row may be. It is a cost.Estimator.
type sizes struct {
	env       *Env
	cellBytes uint64
}

// EstimateSize implements cost.Estimator. A list or object inside a JSON cell has no more items than the cell has bytes.
func (s sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	largest := s.cellBytes
	if param, ok := strings.CutPrefix(path[0], paramName+"."); ok {
		largest = uint64(len(s.env.params[param].Text()))
	} else if path[0] != s.env.variable {
		return nil
	}
	size := cost.RangedSizeEstimate(0, largest)
	return &size
}

// EstimateCallCost implements cost.Estimator: but for ranges CEL's own estimates hold.
func (s sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	if function == rangeName {
		return estimateRange()
	}
	return nil
}

// needed reports whether the cost must be counted for this row.
func (g guard) needed(c cells) bool {
	if g != onLargeCell {
		return g == always
	}
	for i := range c.positions {
		if value, ok := c.at(i); ok && len(value.Text()) > smallCellBytes {
			return true
		}
	}
	return false
}
