package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Sizes in pixels, and columns of the terminal.
const (
	columns              = 112
	width                = 960
	boxWidth, boxHeight  = 106, 56
	stepX, stepY         = 161, 84
	left, top            = 24, 24
	textTop, lineHeight  = 12, 19
	textSize, smallSize  = 13, 11
	ground, ink, faint   = "#0d1117", "#e6edf3", "#8b949e"
	line, source, sinkOf = "#30363d", "#388bfd", "#3fb950"
	wrong, walked        = "#f85149", "#d29922"
)

type place struct{ x, y int }

// draw draws the graph from left to right, each node as far right as its longest path from a source, and the lines below it.
func draw(r run) []byte {
	places, rows := layout(r)
	graph := top + rows*stepY
	height := graph + textTop + (len(r.Explain)+1)*lineHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace\" font-size=\"%d\">\n", width, height, textSize)
	fmt.Fprintf(&b, "<title>One run of the example, and why one row is in review.csv</title>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"%s\"/>\n", width, height, ground)
	for _, e := range r.Edges {
		drawEdge(&b, e, places, r.onWay(e))
	}
	for _, n := range r.Nodes {
		drawNode(&b, n, places[n.Node])
	}
	text(&b, left, graph+textTop, textSize, sinkOf, "$ waymark explain last --sink review --line 3")
	for i, said := range r.Explain {
		color := ink
		if strings.HasPrefix(said, "way ") {
			color = walked
		} else if strings.Contains(said, "sha256 ") || said == "…" {
			color = faint
		}
		text(&b, left, graph+textTop+(i+1)*lineHeight, textSize, color, said)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// layout gives each node its place, and says how many rows of boxes there are.
func layout(r run) (map[string]place, int) {
	column := map[string]int{}
	for range r.Nodes { // as often as the longest path could be
		for _, e := range r.Edges {
			column[e.To] = max(column[e.To], column[e.From]+1)
		}
	}
	used, places, rows := map[int]int{}, map[string]place{}, 0
	for _, n := range r.Nodes {
		at := column[n.Node]
		places[n.Node] = place{left + at*stepX, top + used[at]*stepY}
		used[at]++
		rows = max(rows, used[at])
	}
	return places, rows
}

// onWay reports whether the explained row went along the edge.
func (r run) onWay(e edge) bool {
	way := strings.NewReplacer("[", " ", "]", "").Replace(r.Explain[len(r.Explain)-4])
	from := e.From
	if e.Label != "" {
		from += " " + e.Label
	}
	return strings.Contains(way+" ", " "+from+" > "+e.To+" ")
}

func drawEdge(b *bytes.Buffer, e edge, places map[string]place, walkedHere bool) {
	from, to := places[e.From], places[e.To]
	x1, y1, x2, y2 := from.x+boxWidth, from.y+boxHeight/2, to.x, to.y+boxHeight/2
	color, thick := faint, 1
	if walkedHere {
		color, thick = walked, 2
	}
	fmt.Fprintf(b, "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"/>\n",
		x1, y1, (x1+x2)/2, y1, (x1+x2)/2, y2, x2, y2, color, thick)
	if e.Label != "" {
		under := -6
		if y1 != y2 {
			under = 14
		}
		text(b, x1+4, y2+under, smallSize, color, e.Label)
	}
}

func drawNode(b *bytes.Buffer, n node, at place) {
	color := map[string]string{"source": source, "sink": sinkOf}[n.Kind]
	if color == "" {
		color = line
	}
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#161b22\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", at.x, at.y, boxWidth, boxHeight, color)
	text(b, at.x+9, at.y+18, textSize, ink, n.Node)
	text(b, at.x+9, at.y+32, smallSize, faint, n.Operation)
	text(b, at.x+9, at.y+47, smallSize, ink, grouped(n.In)+" rows")
	if n.Diverted > 0 {
		text(b, at.x, at.y+boxHeight+15, smallSize, wrong, fmt.Sprintf("%s in quarantine", grouped(n.Diverted)))
	}
	if n.Dropped > 0 {
		text(b, at.x, at.y+boxHeight+15, smallSize, faint, fmt.Sprintf("%s filtered", grouped(n.Dropped)))
	}
}

func text(b *bytes.Buffer, x, y, size int, color, said string) {
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n", x, y, size, color, html.EscapeString(said))
}

// grouped writes thousands apart.
func grouped(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
