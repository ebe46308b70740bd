package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// armed is written by the linker, and by Arm.
var armed string

// Enabled says whether this build is armed.
var Enabled = armed != ""

// Environment variables of an armed build. The first holds the plan. The second names a file to which every moment appends
// a line, `name n`, before anything happens there, so that the file tells of the moment that killed the process. The third
// is the size of a run's sources, in bytes, from which the run is split: small inputs take the way of large ones. The
// fourth is by how much the process's clock is wrong, such as -1h.
const (
	PlanVariable  = "WAYMARK_FAILPOINTS"
	LogVariable   = "WAYMARK_FAILPOINT_LOG"
	SplitVariable = "WAYMARK_FAILPOINT_SPLIT"
	ClockVariable = "WAYMARK_FAILPOINT_CLOCK"
)

// active is what the environment said when the process began; nil in a normal build.
var active = fromEnvironment()

func fromEnvironment() *moments {
	if armed == "" {
		return nil
	}
	m, err := arm(os.Getenv(PlanVariable), os.Getenv(LogVariable))
	if text := os.Getenv(SplitVariable); err == nil && text != "" {
		if m.split, err = strconv.ParseInt(text, 10, 64); err != nil || m.split < 1 {
			err = fmt.Errorf("%s: write a number of bytes, 1 or more, not %q", SplitVariable, text)
		}
	}
	if text := os.Getenv(ClockVariable); err == nil && text != "" {
		if m.wrong, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%s: write by how much the clock is wrong, such as -1h, not %q", ClockVariable, text)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "waymark: environment variable %v\n", err)
		os.Exit(2)
	}
	return m
}

// Arm arms this process as the linker arms a build. Only the binary of a test calls it, before all else, where it is a
// process that its own test starts: no second program has to be linked for that.
func Arm() {
	armed, Enabled = "yes", true
	active = fromEnvironment()
}

// Hit marks a moment. The error, if any, is one that the code around it must treat as its own.
func Hit(name string) error {
	if active == nil {
		return nil
	}
	return active.hit(name)
}

// Short returns how many of n bytes the write that follows is to make: n, or fewer for a write that is cut short.
func Short(name string, n int) int {
	if active == nil {
		return n
	}
	return active.cut(name, n)
}

// Split returns the size of a run's sources, in bytes, from which the run is split; 0 in a normal build, and without
// SplitVariable.
func Split() int64 {
	if active == nil {
		return 0
	}
	return active.split
}

// Clock returns the clock by which the process records; nil, for that of the machine, in a normal build, and without
// ClockVariable.
func Clock() func() time.Time {
	if active == nil || active.wrong == 0 {
		return nil
	}
	return func() time.Time { return time.Now().Add(active.wrong) }
}

// Goroutine is where a plan can have a goroutine panic: goroutine.WHERE. It is not a moment, for nothing has been made:
// it is counted and logged only if the plan names it.
func Goroutine(where string) {
	if active == nil {
		return
	}
	if name := "goroutine." + where; active.plan[name] != nil {
		_ = active.hit(name)
	}
}

// moments counts the moments of a process. It is safe for concurrent use.
type moments struct {
	plan  map[string][]Point
	split int64         // see Split
	wrong time.Duration // see Clock

	mu    sync.Mutex
	count map[string]int64
	log   *os.File // nil: none
}

func arm(plan, log string) (*moments, error) {
	points, err := ParsePlan(plan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PlanVariable, err)
	}
	m := &moments{plan: map[string][]Point{}, count: map[string]int64{}}
	for _, point := range points {
		m.plan[point.Name] = append(m.plan[point.Name], point)
	}
	if log != "" {
		if m.log, err = os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644); err != nil {
			return nil, fmt.Errorf("%s: %w", LogVariable, err)
		}
	}
	return m, nil
}

// come counts and logs the moment, and returns what the plan has for it: nil for nothing.
func (m *moments) come(name string) *Point {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count[name]++
	n := m.count[name]
	if m.log != nil {
		if _, err := fmt.Fprintf(m.log, "%s %d\n", name, n); err != nil {
			giveUp("%s: %v", LogVariable, err)
		}
	}
	for i := range m.plan[name] {
		if point := &m.plan[name][i]; point.N == n {
			return point
		}
	}
	return nil
}

func (m *moments) hit(name string) error {
	point := m.come(name)
	if point == nil {
		return nil
	}
	if point.Action == Cut {
		giveUp("%s is no write: it cannot be short", name)
	}
	return point.act()
}

func (m *moments) cut(name string, n int) int {
	point := m.come(name)
	if point == nil {
		return n
	}
	if point.Action == Cut {
		if point.short < 0 {
			return n / 2
		}
		return min(point.short, n)
	}
	if err := point.act(); err != nil {
		giveUp("%s is a write: it can be short, and fails then", name)
	}
	return n
}

// act does what the plan says about the moment. After a kill or a panic it does not return.
func (p *Point) act() error {
	switch p.Action {
	case Kill:
		signal(syscall.SIGKILL)
		select {}
	case Stop:
		stop()
	case Delay:
		time.Sleep(p.delay)
	case Error, Unknown:
		return p.err
	case Panic:
		panic("failpoint: " + p.Name)
	}
	return nil
}

func signal(number syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), number); err != nil {
		giveUp("%v", err)
	}
}

// giveUp ends the process: a plan that cannot be carried out must not pass for one that was.
func giveUp(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "waymark: failpoint: "+format+"\n", args...)
	os.Exit(2)
}
