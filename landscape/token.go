package landscape

// Token names one token of a run: a row at a place in the graph.
type Token struct {
	Source string // the origin: a source or a barrier
	Lane   int64  // of the origin's lanes
	Row    int64  // of the origin, from 1
}
