package lab

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Moment is a named moment of a process, and how often it had come by then, from 1.
type Moment struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// ParseMoment reads name@n; a name alone is its first time.
func ParseMoment(text string) (Moment, error) {
	name, number, counted := strings.Cut(text, "@")
	m := Moment{Name: name, N: 1}
	if counted {
		m.N, _ = strconv.Atoi(number)
	}
	if m.Name == "" || m.N < 1 {
		return m, fmt.Errorf("%q: write NAME@N, such as payload.renamed@3", text)
	}
	return m, nil
}

// String returns name@n.
func (m Moment) String() string { return fmt.Sprintf("%s@%d", m.Name, m.N) }

// place is the part of the program to which the moment belongs: the first word of its name.
func (m Moment) place() string {
	place, _, _ := strings.Cut(m.Name, ".")
	return place
}

// writing is how the names of moments end at which a write is about to be made: it can be short, and nothing else can.
const writing = ".writing"

// takes reports whether the fault can happen at the moment.
func (m Moment) takes(fault string) bool {
	action, _, _ := strings.Cut(fault, ":")
	switch action {
	case "short":
		return strings.HasSuffix(m.Name, writing)
	case "error":
		return !strings.HasSuffix(m.Name, writing)
	default:
		return true
	}
}

// number is different for different moments.
func (m Moment) number() uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(m.String()))
	return hash.Sum64()
}

// Part is one of several parts of all moments. A moment is always in the same part, even if another run has more or
// other moments: so that the parts together have all, whenever they are tried.
type Part struct{ Nr, Of int } // Nr from 1 to Of

// ParsePart reads NR/OF.
func ParsePart(text string) (p Part, err error) {
	nr, of, _ := strings.Cut(text, "/")
	p.Nr, _ = strconv.Atoi(nr)
	p.Of, _ = strconv.Atoi(of)
	if p.Nr < 1 || p.Nr > p.Of {
		return p, fmt.Errorf("%q: write a part and how many there are, such as 3/20", text)
	}
	return p, nil
}

func (p Part) has(m Moment) bool {
	return p.Of < 2 || m.number()%uint64(p.Of) == uint64(p.Nr-1)
}

// readMoments returns the moments of one process, in order, from its log. A process that came to none has no log.
func readMoments(log string) ([]Moment, error) {
	text, err := os.ReadFile(log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var moments []Moment
	for line := range strings.Lines(string(text)) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		m, err := ParseMoment(name + "@" + n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log, err)
		}
		moments = append(moments, m)
	}
	return moments, nil
}

// sample chooses n of the moments, or all of them: of every name one, then of every name another, and so on, so that
// rare names are in it. The same seed makes the same choice.
func sample(moments []Moment, n int, seed uint64) []Moment {
	if n == All {
		return moments
	}
	random := rand.New(rand.NewPCG(seed, 0))
	type ranked struct {
		Moment
		round int // how many of its name come before it
	}
	shuffled := slices.Clone(moments)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	rounds := map[string]int{}
	ranks := make([]ranked, len(shuffled))
	for i, m := range shuffled {
		ranks[i] = ranked{m, rounds[m.Name]}
		rounds[m.Name]++
	}
	slices.SortStableFunc(ranks, func(a, b ranked) int { return cmp.Compare(a.round, b.round) })
	var chosen []Moment
	for _, r := range ranks[:min(n, len(ranks))] {
		chosen = append(chosen, r.Moment)
	}
	return chosen
}
