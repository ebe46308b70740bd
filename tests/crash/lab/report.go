package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Trial is one crash, or two, and what came of it.
type Trial struct {
	First    Moment    `json:"first"`            // at which a run is killed
	Second   *Moment   `json:"second,omitempty"` // at which its recovery is killed; nil: it is not
	Died     bool      `json:"died"`             // the last of these moments came; for a kill, the process died there
	Resumed  bool      `json:"resumed"`
	Findings []Finding `json:"findings,omitempty"`
	Seconds  float64   `json:"seconds"`
	Folder   string    `json:"folder,omitempty"` // where what a failed trial left behind is kept
	Repeat   string    `json:"repeat,omitempty"` // the command that tries the same again
}

func (t Trial) failed() bool { return len(t.Findings) > 0 }

// last is the moment at which the last process of the trial was to die.
func (t Trial) last() Moment {
	if t.Second != nil {
		return *t.Second
	}
	return t.First
}

// count adds up the findings of a kind.
func (t Trial) count(kind Kind) int {
	sum := 0
	for _, f := range t.Findings {
		if f.Kind == kind {
			sum += f.Count
		}
	}
	return sum
}

// Report is everything that the laboratory found out.
type Report struct {
	Pipeline string         `json:"pipeline"`
	Seed     uint64         `json:"seed"`
	Fault    string         `json:"fault"`
	Moments  []Moment       `json:"moments"`          // of an undisturbed run
	Unlike   []Finding      `json:"unlike,omitempty"` // in what two undisturbed runs differ; nil: outputs and records could be compared
	Reached  map[string]int `json:"reached"`          // how often each name came in all processes whose moments were logged
	Singles  []Trial        `json:"singles"`
	Pairs    []Trial        `json:"pairs"`
	Seconds  float64        `json:"seconds"`
	Scratch  string         `json:"scratch,omitempty"` // if it was kept
}

func newReport(o Options) *Report {
	return &Report{Pipeline: o.Pipeline, Seed: o.Seed, Fault: o.Fault, Reached: map[string]int{}}
}

// reached counts the moments of a process.
func (l *laboratory) reached(moments []Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moments {
		l.report.Reached[m.Name]++
	}
}

func (r *Report) add(t Trial) {
	if t.Second == nil {
		r.Singles = append(r.Singles, t)
	} else {
		r.Pairs = append(r.Pairs, t)
	}
}

func (r *Report) finish(took time.Duration) { r.Seconds = took.Seconds() }

// Failed returns how many trials found something wrong.
func (r *Report) Failed() int {
	failed := 0
	for _, t := range slices.Concat(r.Singles, r.Pairs) {
		if t.failed() {
			failed++
		}
	}
	return failed
}

func (r *Report) tally() Tally {
	return Tally{Singles: len(r.Singles), Pairs: len(r.Pairs), Failed: r.Failed()}
}

// sum is one line of the matrix.
type sum struct {
	tried, died, resumed                     int
	lost, duplicated, torn, differing, stuck int
	seconds                                  float64
}

func (s *sum) add(t Trial) {
	s.tried++
	if t.Died {
		s.died++
	}
	if t.Resumed {
		s.resumed++
	}
	s.lost += t.count(Lost)
	s.duplicated += t.count(Duplicated)
	s.torn += t.count(Torn)
	s.differing += t.count(Differing)
	s.stuck += t.count(Stuck)
	s.seconds += t.Seconds
}

// WriteMatrix writes a table: places of the program, and what crashes there did. A pair stands with its second moment.
func (r *Report) WriteMatrix(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "place\tcrash\ttried\tcame there\tresumed\tlost\tduplicated\ttorn\tdiffering\tstuck\tseconds")
	for _, group := range []struct {
		crash  string
		trials []Trial
	}{{"in a run", r.Singles}, {"in its recovery", r.Pairs}} {
		places, total := map[string]*sum{}, &sum{}
		for _, t := range group.trials {
			place := t.last().place()
			if places[place] == nil {
				places[place] = new(sum)
			}
			places[place].add(t)
			total.add(t)
		}
		for _, place := range slices.Sorted(maps.Keys(places)) {
			places[place].write(tab, place, group.crash)
		}
		if len(group.trials) > 0 {
			total.write(tab, "all", group.crash)
		}
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	return r.writeRest(w)
}

func (s *sum) write(w io.Writer, place, crash string) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\n",
		place, crash, s.tried, s.died, s.resumed, s.lost, s.duplicated, s.torn, s.differing, s.stuck, s.seconds)
}

// writeRest says in words what the table does not.
func (r *Report) writeRest(w io.Writer) error {
	names := map[string]bool{}
	for _, m := range r.Moments {
		names[m.Name] = true
	}
	compared := "outputs byte for byte, and every record of the landscape"
	if len(r.Unlike) > 0 {
		compared = "what was read, and not what became of it, because two undisturbed runs differ: " + r.Unlike[0].What
	}
	fmt.Fprintf(w, "\n%d moments with %d names in a run; fault: %s; %.0f s; seed %d\ncompared with an undisturbed run: %s\n",
		len(r.Moments), len(names), r.Fault, r.Seconds, r.Seed, compared)
	shown := 0
	for _, t := range slices.Concat(r.Singles, r.Pairs) {
		switch {
		case t.failed():
			if shown++; shown <= maxShown {
				writeFailure(w, t)
			}
		case !t.Died:
			fmt.Fprintf(w, "not reached: %s\n", t.name())
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d trials failed\n", r.Failed(), len(r.Singles)+len(r.Pairs))
	return err
}

func (t Trial) name() string {
	if t.Second != nil {
		return t.First.String() + ", then " + t.Second.String()
	}
	return t.First.String()
}

// How many failed trials, and findings of each, are shown. The JSON has them all.
const (
	maxShown    = maxKept
	maxFindings = 5
)

func writeFailure(w io.Writer, t Trial) {
	fmt.Fprintf(w, "\nfailed: %s\n", t.name())
	for _, f := range t.Findings[:min(maxFindings, len(t.Findings))] {
		fmt.Fprintf(w, "  %s\n", f)
	}
	if more := len(t.Findings) - maxFindings; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	if t.Folder != "" {
		fmt.Fprintf(w, "  what is left:  %s\n  again:  %s\n", t.Folder, t.Repeat)
	}
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
