package failpoint

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Point is one entry of a plan: what happens when a moment comes for the n-th time in this process.
type Point struct {
	Name   string
	N      int64 // from 1
	Action Action

	delay time.Duration // of Delay
	short int           // of Short: how many bytes are written; -1: half of them
	err   error         // of Error and Unknown
}

// Action is what happens at a moment.
type Action string

// The actions.
const (
	Kill    Action = "kill"    // the process gets SIGKILL
	Stop    Action = "stop"    // the process gets SIGSTOP, and continues when it gets SIGCONT
	Error   Action = "error"   // Hit returns an error
	Cut     Action = "short"   // Short returns fewer bytes
	Delay   Action = "delay"   // the moment takes longer
	Unknown Action = "unknown" // Hit returns ErrUnknown
	Panic   Action = "panic"   // the goroutine panics
)

// moment matches a name. It is compiled when a plan is read, which no normal build does.
var moment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*$`) })

var numbers = map[string]error{"ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO}

// ParsePlan reads what is to happen at which moments: `name[@n]=action[:argument]`, separated by semicolons. n counts how
// often the moment came in this process, from 1, which is the default. The actions are
//
//	kill, stop       a signal to the own process; stop continues at SIGCONT
//	error[:what]     an error: ENOSPC, EIO, or a text
//	short[:bytes]    of a write, only so many bytes are written, or half of them
//	delay:duration   such as delay:200ms
//	unknown          of sink.part.check alone: the target cannot tell
//	panic            the goroutine panics; also of goroutine.WHERE, the beginning of what package defect catches there
//
// An empty text is an empty plan. The error names the entry that is wrong.
func ParsePlan(text string) ([]Point, error) {
	var plan []Point
	for entry := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		point, err := parsePoint(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		for _, other := range plan {
			if other.Name == point.Name && other.N == point.N {
				return nil, fmt.Errorf("%q: there is an entry for this moment already", entry)
			}
		}
		plan = append(plan, point)
	}
	return plan, nil
}

func parsePoint(entry string) (Point, error) {
	place, what, ok := strings.Cut(entry, "=")
	if !ok {
		return Point{}, errors.New("write name=action or name@n=action")
	}
	point := Point{N: 1}
	name, n, counted := strings.Cut(place, "@")
	if point.Name = name; !moment().MatchString(name) {
		return Point{}, errors.New("a name is made of words with dots between them, such as payload.renamed")
	}
	if counted {
		var err error
		if point.N, err = strconv.ParseInt(n, 10, 64); err != nil || point.N < 1 {
			return Point{}, errors.New("after @ belongs a number from 1")
		}
	}
	action, argument, given := strings.Cut(what, ":")
	point.Action = Action(action)
	return point, point.parseArgument(argument, given)
}

func (p *Point) parseArgument(argument string, given bool) error {
	switch p.Action {
	case Kill, Stop, Unknown, Panic:
		if given {
			return fmt.Errorf("%s takes no argument", p.Action)
		}
		if p.Action == Unknown && p.Name != Check {
			return fmt.Errorf("only %s can be unknown", Check)
		}
		p.err = ErrUnknown
	case Error:
		p.err = injected(argument)
	case Cut:
		p.short = -1
		if given {
			var err error
			if p.short, err = strconv.Atoi(argument); err != nil || p.short < 0 {
				return errors.New("after short: belongs a number of bytes")
			}
		}
	case Delay:
		var err error
		if p.delay, err = time.ParseDuration(argument); err != nil || p.delay <= 0 {
			return errors.New("after delay: belongs a duration such as 200ms")
		}
	default:
		return errors.New("the actions are kill, stop, error, short, delay, unknown and panic")
	}
	return nil
}

// injected returns the error for the argument of an error action.
func injected(argument string) error {
	if number, ok := numbers[argument]; ok {
		return fmt.Errorf("failpoint: %w", number)
	}
	if argument == "" {
		argument = "an error was asked for here"
	}
	return errors.New("failpoint: " + argument)
}
