// Package draw lays out directed graphs without cycles in layers, from left to right. The same graph is laid out in the same way always.
package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Measures of a drawing, in CSS pixels.
const (
	letter     = 7.7 // width of one in the boxes
	padding    = 14  // of a box, on each side of its text
	narrowest  = 72  // box
	longest    = 30  // label, in characters; others are cut
	boxHeight  = 44
	laneHeight = 22 // of an edge that passes a layer
	rowGap     = 26
	layerGap   = 96
	margin     = 12
)

// sweeps are how often the layers are put in order, forth and back, so that fewer edges cross.
const sweeps = 24

// A Node is to be drawn as a box.
type Node struct {
	ID    string // not empty, unique
	Label string
}

// An Edge is to be drawn as a line between two nodes that are there.
type Edge struct{ From, To string }

// A Box is where a node is drawn.
type Box struct {
	ID            string
	Label         string // as it fits
	X, Y          float64
	Width, Height float64
}

// A Line is where an edge is drawn.
type Line struct {
	Path           string  // as the attribute d of an SVG path has it
	LabelX, LabelY float64 // where the middle of a label may be, above the line
}

// A Drawing is a graph with places. Boxes are in the order of the nodes, Lines in that of the edges.
type Drawing struct {
	Width, Height float64
	Boxes         []Box
	Lines         []Line
}

// item is what has a place in a layer: a node, or a bend of an edge that passes the layer.
type item struct {
	node          int // -1 for a bend
	layer         int
	above, below  []int // items in the layer before, and after
	y, height     float64
	place, wanted float64 // in its layer; and where its neighbours want it to be
}

// layout is the work on one drawing.
type layout struct {
	items  []item
	layers [][]int
	chains [][]int // of each edge: its items from node to node
}

// Lay places a graph. Nodes whose edges make a circle are placed as if one of these edges were not there.
func Lay(nodes []Node, edges []Edge) Drawing {
	if len(nodes) == 0 {
		return Drawing{}
	}
	l := layout{}
	at := map[string]int{}
	for i, node := range nodes {
		at[node.ID] = i
		l.items = append(l.items, item{node: i, height: boxHeight})
	}
	l.rank(at, edges)
	l.bend(at, edges)
	l.order()
	l.settle()
	return l.draw(nodes)
}

// rank puts each node in the layer after the last of those that lead to it.
func (l *layout) rank(at map[string]int, edges []Edge) {
	for range len(l.items) { // at most so often, also with a circle
		changed := false
		for _, edge := range edges {
			from, to := &l.items[at[edge.From]], &l.items[at[edge.To]]
			if to.layer <= from.layer && from.layer+1 < len(l.items) {
				to.layer, changed = from.layer+1, true
			}
		}
		if !changed {
			break
		}
	}
}

// bend gives each edge an item in each layer that it passes, and lists the items by layer.
func (l *layout) bend(at map[string]int, edges []Edge) {
	for _, edge := range edges {
		from, to := at[edge.From], at[edge.To]
		chain := []int{from}
		for layer := l.items[from].layer + 1; layer < l.items[to].layer; layer++ {
			l.items = append(l.items, item{node: -1, layer: layer, height: laneHeight})
			chain = append(chain, len(l.items)-1)
		}
		chain = append(chain, to)
		for i := range len(chain) - 1 {
			l.items[chain[i]].below = append(l.items[chain[i]].below, chain[i+1])
			l.items[chain[i+1]].above = append(l.items[chain[i+1]].above, chain[i])
		}
		l.chains = append(l.chains, chain)
	}
	for i, it := range l.items {
		for len(l.layers) <= it.layer {
			l.layers = append(l.layers, nil)
		}
		l.layers[it.layer] = append(l.layers[it.layer], i)
	}
	for _, layer := range l.layers {
		l.number(layer)
	}
}

func (l *layout) number(layer []int) {
	for place, i := range layer {
		l.items[i].place = float64(place)
	}
}

// order sorts each layer by the mean place of the neighbours, forth and back, and keeps the order with the fewest crossings.
func (l *layout) order() {
	best, fewest := l.copied(), l.crossings()
	for sweep := range sweeps {
		for step := range l.layers {
			layer, forth := l.layers[step], sweep%2 == 0
			if !forth {
				layer = l.layers[len(l.layers)-1-step]
			}
			for _, i := range layer {
				l.items[i].wanted = l.mean(i, forth, func(it *item) float64 { return it.place })
			}
			slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(l.items[a].wanted, l.items[b].wanted) })
			l.number(layer)
		}
		if crossings := l.crossings(); crossings < fewest {
			best, fewest = l.copied(), crossings
		}
	}
	l.layers = best
	for _, layer := range l.layers {
		l.number(layer)
	}
}

func (l *layout) copied() [][]int {
	layers := make([][]int, len(l.layers))
	for i, layer := range l.layers {
		layers[i] = slices.Clone(layer)
	}
	return layers
}

// crossings counts the pairs of lines between neighbouring layers that cross.
func (l *layout) crossings() (count int) {
	for _, layer := range l.layers {
		var seen []float64 // places of the ends of lines from items higher up
		for _, i := range layer {
			for _, to := range l.items[i].below {
				for _, place := range seen {
					if place > l.items[to].place {
						count++
					}
				}
			}
			for _, to := range l.items[i].below {
				seen = append(seen, l.items[to].place)
			}
		}
	}
	return count
}

// mean is that of a measure of the neighbours in the layer before (forth) or after; of the item itself if it has none there.
func (l *layout) mean(i int, forth bool, of func(*item) float64) float64 {
	neighbours := l.items[i].below
	if forth {
		neighbours = l.items[i].above
	}
	if len(neighbours) == 0 {
		return of(&l.items[i])
	}
	sum := 0.0
	for _, n := range neighbours {
		sum += of(&l.items[n])
	}
	return sum / float64(len(neighbours))
}

// settle gives the items heights: as near to their neighbours as the order and the gaps let them.
func (l *layout) settle() {
	for _, layer := range l.layers {
		y := 0.0
		for _, i := range layer {
			l.items[i].y = y + l.items[i].height/2
			y += l.items[i].height + rowGap
		}
	}
	for sweep := range sweeps {
		for step := range l.layers {
			layer, forth := l.layers[step], sweep%2 == 0
			if !forth {
				layer = l.layers[len(l.layers)-1-step]
			}
			l.pull(layer, forth)
		}
	}
}

// pull moves the items of a layer to where their neighbours are, and then apart again: half of the way down, half of it up.
func (l *layout) pull(layer []int, forth bool) {
	down, up := make([]float64, len(layer)), make([]float64, len(layer))
	for k, i := range layer {
		wanted := l.mean(i, forth, func(it *item) float64 { return it.y })
		down[k], up[k] = wanted, wanted
	}
	for k := 1; k < len(layer); k++ {
		down[k] = max(down[k], down[k-1]+l.apart(layer[k-1], layer[k]))
	}
	for k := len(layer) - 2; k >= 0; k-- {
		up[k] = min(up[k], up[k+1]-l.apart(layer[k], layer[k+1]))
	}
	for k, i := range layer {
		l.items[i].y = (down[k] + up[k]) / 2
	}
}

// apart is how far the middles of two items, one above the other, are from each other at least.
func (l *layout) apart(a, b int) float64 {
	return (l.items[a].height+l.items[b].height)/2 + rowGap
}

// draw turns layers and heights into boxes and lines.
func (l *layout) draw(nodes []Node) Drawing {
	top := math.Inf(1)
	for _, it := range l.items {
		top = min(top, it.y-it.height/2)
	}
	d := Drawing{Boxes: make([]Box, len(nodes))}
	left, right := make([]float64, len(l.layers)), make([]float64, len(l.layers))
	x := float64(margin)
	for n, layer := range l.layers {
		width := 0.0
		for _, i := range layer {
			if node := l.items[i].node; node >= 0 {
				label, w := fitted(nodes[node].Label)
				width = max(width, w)
				d.Boxes[node] = Box{ID: nodes[node].ID, Label: label, X: x, Y: l.items[i].y - top + margin - boxHeight/2, Width: w, Height: boxHeight}
			}
			d.Height = max(d.Height, l.items[i].y-top+l.items[i].height/2+2*margin)
		}
		left[n], right[n] = x, x+width
		x += width + layerGap
	}
	d.Width = x - layerGap + margin
	for _, chain := range l.chains {
		d.Lines = append(d.Lines, l.line(chain, d.Boxes, left, right, margin-top))
	}
	return d
}

// line draws an edge along its items.
func (l *layout) line(chain []int, boxes []Box, left, right []float64, shift float64) Line {
	first, last := &l.items[chain[0]], &l.items[chain[len(chain)-1]]
	x, y := boxes[first.node].X+boxes[first.node].Width, first.y+shift
	line := Line{Path: fmt.Sprintf("M%.1f %.1f", x, y)}
	if first.layer >= last.layer { // back, of a circle
		line.Path += fmt.Sprintf("L%.1f %.1f", boxes[last.node].X, last.y+shift)
		return line
	}
	for k, i := range chain[1:] {
		it := &l.items[i]
		toX, toY := left[it.layer], it.y+shift
		middle := (right[it.layer-1] + toX) / 2
		line.Path += fmt.Sprintf("H%.1fC%.1f %.1f %.1f %.1f %.1f %.1f", right[it.layer-1], middle, y, middle, toY, toX, toY)
		if k == 0 {
			line.LabelX, line.LabelY = middle, (y+toY)/2-6
		}
		y = toY
	}
	return line
}

// fitted returns a label as it fits into a box, and how wide that is.
func fitted(label string) (text string, width float64) {
	if utf8.RuneCountInString(label) > longest {
		label = string([]rune(label)[:longest-1]) + "…"
	}
	return label, max(narrowest, float64(utf8.RuneCountInString(label))*letter+2*padding)
}
