package api

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/serve/ui"
)

// answers are found once for all who ask the same at the same time, or within a second. Nobody gets an answer that is
// older than the last order that was given through this server, or than the last event of the record: who pauses a run,
// by whatever door, and then looks, sees it paused. What has neither, such as how far a run is, may be a second old.
type answers struct {
	orders atomic.Int64 // that were given through this server

	mu sync.Mutex
	of map[string]*answer // by question; those that count no more are removed
}

// answer is what was found, or the wait for it.
type answer struct {
	began time.Time // to be looked for
	mark  mark      // what had happened before
	done  chan struct{}
	value any
	err   error
}

// mark is what had happened at some moment, of what changes answers at once.
type mark struct {
	orders   int64
	happened client.Happened
}

// How long an answer counts, how long it may be looked for, and how many are kept.
const (
	answerGood  = time.Second
	answerTime  = time.Minute
	mostAnswers = 64
)

// A wish is what somebody wants to know, and how new.
type wish struct {
	question string
	asked    time.Time
	mark     mark
	good     time.Duration // how old an answer with this mark may be
}

// get returns the answer to a question, which find finds if it is not known. Who asks and goes away leaves the others
// their answer. It belongs to all who get it: nobody may change it. An error is for those who wait for it alone.
func (s *answers) get(ctx context.Context, w wish, find func(context.Context) (any, error)) (any, error) {
	for {
		a, mine := s.take(w)
		if mine {
			s.find(ctx, w, a, find)
			return a.value, a.err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, client.UnlessStopped(ctx, ctx.Err())
		}
		if a.serves(w) {
			return a.value, a.err
		}
	}
}

// take returns the answer that was found, or is looked for; mine says that who wishes is to look for it. It may be one
// that does not serve the wish, and for whose end it is to wait.
func (s *answers) take(w wish) (a *answer, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a = s.of[w.question]
	if a != nil && (!a.isDone() || a.counts(w)) {
		return a, false
	}
	a = &answer{began: time.Now(), mark: w.mark, done: make(chan struct{})}
	if s.of == nil {
		s.of = map[string]*answer{}
	}
	if _, known := s.of[w.question]; known || s.hasRoom() { // else it is for this one alone
		s.of[w.question] = a
	}
	return a, true
}

// hasRoom reports whether one more answer can be kept, in the place of the oldest that was found if there are too many:
// who asks for ever new things takes nobody else's room for long.
func (s *answers) hasRoom() bool {
	if len(s.of) < mostAnswers {
		return true
	}
	var oldest string
	for question, a := range s.of {
		if a.isDone() && (oldest == "" || a.began.Before(s.of[oldest].began)) {
			oldest = question
		}
	}
	delete(s.of, oldest)
	return oldest != ""
}

func (a *answer) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// serves reports whether who waited for the answer may take it: it was looked for after he asked, or nothing had
// happened since that he must see.
func (a *answer) serves(w wish) bool {
	return !a.began.Before(w.asked) || w.good > 0 && a.mark == w.mark
}

// counts reports whether an answer that was found is one for who comes now.
func (a *answer) counts(w wish) bool {
	return !a.began.Before(w.asked) || a.err == nil && a.mark == w.mark && time.Since(a.began) < w.good
}

// find looks for the answer, in the place of all who wish it.
func (s *answers) find(ctx context.Context, w wish, a *answer, find func(context.Context) (any, error)) {
	lasting, done := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer done()
	a.err = defect.Catch("answer", func() (err error) {
		a.value, err = find(lasting)
		return err
	})
	close(a.done)
	if w.good == 0 || a.err != nil {
		s.remove(w.question, a)
		return
	}
	time.AfterFunc(w.good, defect.Guard("answer", func() { s.remove(w.question, a) }))
}

func (s *answers) remove(question string, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[question] == a {
		delete(s.of, question)
	}
}

// happened returns what happened before it was called, or later.
func (c *call) happened() (client.Happened, error) {
	return answered(c, wish{question: "happened", asked: time.Now()}, happened)
}

func happened(c *call) (client.Happened, error) { return c.server.Home.Happened(c.Context()) }

// sight is all on which it depends what c.sees and its like let the caller see: callers of one sight get the same
// answers.
func (c *call) sight() string {
	sight := c.token.Roles + c.token.Pipelines // of JSON
	if !c.token.Has(allowed[look]...) {        // it sees its own runs
		sight += fmt.Sprintf("%q%q", c.token.Subject, c.token.Name)
	}
	return sight
}

// shared returns what find finds, which may be a second old if nothing has happened since. It depends on the path, the
// query and what the caller may see. find uses the call that it is given, which outlasts that of a caller who goes
// away, and sends nothing. Nobody may change what it returns.
func shared[T any](c *call, what string, find func(*call) (T, error)) (found T, err error) {
	question := strings.Join([]string{what, c.URL.Path, c.query.Encode(), c.sight()}, "\x00")
	w := wish{question: question, asked: time.Now(), good: answerGood}
	w.mark.orders = c.server.answers.orders.Load()
	if w.mark.happened, err = c.happened(); err != nil {
		return found, err
	}
	return answered(c, w, find)
}

// recent returns what find finds for many streams that ask again and again, and that may be as old as good, whatever
// has happened since. What it is must not depend on who asks.
func recent[T any](c *call, what string, good time.Duration, find func(*call) (T, error)) (T, error) {
	return answered(c, wish{question: what, asked: time.Now(), good: good}, find)
}

func answered[T any](c *call, w wish, find func(*call) (T, error)) (found T, err error) {
	value, err := c.server.answers.get(c.Context(), w, func(ctx context.Context) (any, error) {
		lasting := *c
		lasting.Request = c.WithContext(ctx)
		return find(&lasting)
	})
	if err != nil {
		return found, err
	}
	return value.(T), nil //nolint:forcetypeassert // as the question says
}

// runNow returns what is known of the run of the path that is recorded.
func runNow(c *call) (*client.RunReport, error) {
	return shared(c, "run", func(c *call) (*client.RunReport, error) {
		run, err := c.record()
		if err != nil {
			return nil, err
		}
		return c.report(run)
	})
}

// recordedRun is the page of a run, without what depends on the roles of who looks.
type recordedRun struct {
	landscape.Run
	body ui.Run
}

// pageOfRun returns the page of the run of the path.
func pageOfRun(c *call) (*recordedRun, error) {
	return shared(c, "page of a run", func(c *call) (page *recordedRun, err error) {
		page = &recordedRun{}
		if page.Run, err = c.record(); err != nil {
			return nil, err
		}
		report, err := runNow(c)
		if err != nil {
			return nil, err
		}
		page.body.RunReport = report
		edges, err := c.edges(page.Run)
		if err != nil {
			return nil, err
		}
		page.body.Figures = ui.FiguresOf(report.Status, edges, 0)
		if report.Run.Status != pipeline.Running { // of one that runs there may be many
			groups, err := errorsOf(c.Context(), c, page.Run)
			if err != nil {
				return nil, err
			}
			page.body.Errors = groups.Items
		}
		if client.Complete(report.Run.Status) {
			if page.body.Earlier, err = c.server.Home.RunBefore(c.Context(), page.Run); err != nil && !isMissing(err) {
				return nil, err
			}
		}
		page.body.Effects, err = c.unconfirmed(page.Run)
		return page, err
	})
}
