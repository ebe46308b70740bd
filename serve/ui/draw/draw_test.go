package draw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRandomGraphs holds what must be true of each drawing: no box lies on another, each edge leads to the right, nothing leaves the picture, and the same
// graph is drawn the same again.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var nodes []Node
		var edges []Edge
		for i := range 1 + random.IntN(40) {
			nodes = append(nodes, Node{ID: fmt.Sprint(i), Label: fmt.Sprintf("%0*d", 1+random.IntN(50), i)})
			for range random.IntN(3) {
				if i > 0 {
					edges = append(edges, Edge{fmt.Sprint(random.IntN(i)), fmt.Sprint(i)})
				}
			}
		}
		d := Lay(nodes, edges)
		require.Equal(t, d, Lay(nodes, edges), "seed %d", seed)
		require.Len(t, d.Lines, len(edges))
		boxes := map[string]Box{}
		top := d.Height
		for i, a := range d.Boxes {
			boxes[a.ID] = a
			top = min(top, a.Y)
			require.GreaterOrEqual(t, a.X, 0.0)
			require.GreaterOrEqual(t, a.Y, 0.0)
			require.LessOrEqual(t, a.X+a.Width, d.Width, "seed %d", seed)
			require.LessOrEqual(t, a.Y+a.Height, d.Height, "seed %d", seed)
			for _, b := range d.Boxes[:i] {
				apart := a.X+a.Width < b.X || b.X+b.Width < a.X || a.Y+a.Height < b.Y || b.Y+b.Height < a.Y
				require.True(t, apart, "seed %d: %v and %v", seed, a, b)
			}
		}
		require.LessOrEqual(t, top, d.Height/2, "seed %d: the picture does not begin with nothing", seed)
		for _, edge := range edges {
			require.Less(t, boxes[edge.From].X+boxes[edge.From].Width, boxes[edge.To].X, "seed %d: %v", seed, edge)
		}
	}
}

// TestACircleIsDrawn shows that also what is no pipeline is drawn.
func TestACircleIsDrawn(t *testing.T) {
	d := Lay([]Node{{"a", "a"}, {"b", "b"}}, []Edge{{"a", "b"}, {"b", "a"}})
	require.Len(t, d.Lines, 2)
}

func TestNothingIsDrawn(t *testing.T) {
	require.Empty(t, Lay(nil, nil).Boxes)
}

func BenchmarkLay(b *testing.B) {
	var nodes []Node
	var edges []Edge
	for i := range 300 {
		nodes = append(nodes, Node{fmt.Sprint(i), fmt.Sprint("node ", i)})
		if i > 0 {
			edges = append(edges, Edge{fmt.Sprint((i - 1) / 2), fmt.Sprint(i)})
		}
	}
	for b.Loop() {
		Lay(nodes, edges)
	}
}
