package csv

import "waymark/plugin"

// Pieces returns where the cells of a record are, with their quotes. It is plugin.Divided's.
func (p *parser) Pieces(text string) []plugin.Piece {
	p.cells = p.cells[:0] // splitCells refuses some records before it looks for cells
	_ = p.splitCells(text)
	cells := p.cells[:min(len(p.cells), len(p.layout.columns))]
	pieces := make([]plugin.Piece, len(cells))
	for i, c := range cells {
		if c.quoted {
			c.start, c.end = c.start-1, c.end+1
		}
		pieces[i] = plugin.Piece{Field: p.layout.columns[i].field.Name, Offset: c.start, Length: c.end - c.start}
	}
	return pieces
}
