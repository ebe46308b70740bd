package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/tests/bench/served"
)

const (
	schedulesAtRest = 1000 // of a pipeline each
	fewSchedules    = 10   // with which lists are read first
	triggersAtRest  = 100  // of the first of these
	dueAtOnce       = 200  // of other pipelines
	restTime        = 20 * time.Second
)

// scheduled is a document with a schedule, and perhaps a trigger.
func (r *resting) scheduled(name, every string, trigger bool) string {
	document := fmt.Sprintf(`name: %[1]s
params: {slot: {type: string, default: "${slot:label}"}}
sources: {in: {csv: {path: "%[2]s/in.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: "%[2]s/out/%[1]s/${param:slot}.csv"}}}
schedules: {beat: {every: %[3]s}}
`, name, r.folder, every)
	if trigger {
		document = strings.Replace(document, "in.csv", "arriving/"+name+"-*.csv", 1) + "triggers: {drop: {source: in, run_id: slot}}\n"
	}
	return document
}

// resting is a server whose schedules are measured.
type resting struct {
	*bench
	*served.Server
	deployer string // an access token
}

// schedules has very many schedules and triggers of which none is due, and then many that are due at once.
func schedules(ctx context.Context, b *bench) error {
	if err := os.Mkdir(filepath.Join(b.folder, "arriving"), 0o700); err != nil {
		return err
	}
	if err := b.write("in.csv", "id\n1\n2\n"); err != nil {
		return err
	}
	server, err := served.Start(ctx, b.binary, b.folder)
	if err != nil {
		return err
	}
	defer server.Stop()
	grant := exec.CommandContext(ctx, b.binary, "access", "grant", "deployer", "--role", "deployer", "--why", "a measurement")
	grant.Dir = b.folder
	token, err := grant.Output()
	if err != nil {
		return fmt.Errorf("access grant: %w", err)
	}
	r := &resting{b, server, strings.TrimSpace(string(token))}
	r.rest("nothing deployed")
	if err := r.deploy(ctx, "rest", 0, fewSchedules, "year", triggersAtRest); err != nil {
		return err
	}
	if err := r.lists(ctx, fewSchedules); err != nil {
		return err
	}
	if err := r.deploy(ctx, "rest", fewSchedules, schedulesAtRest, "year", triggersAtRest); err != nil {
		return err
	}
	if err := r.made(schedulesAtRest); err != nil {
		return err
	}
	r.rest(fmt.Sprintf("%d schedules at rest", schedulesAtRest))
	if err := r.lists(ctx, schedulesAtRest); err != nil {
		return err
	}
	if err := r.deploy(ctx, "due", 0, dueAtOnce, "minute", 0); err != nil {
		return err
	}
	if err := r.made(schedulesAtRest + dueAtOnce); err != nil {
		return err
	}
	return r.due(ctx)
}

// rest tells what the server costs while nothing is asked of it.
func (r *resting) rest(name string) {
	time.Sleep(restTime / 2) // what was done before may still be followed up
	before := r.CPU()
	time.Sleep(restTime)
	r.tell(name, 100*(r.CPU()-before)/restTime.Seconds(), "% core")
}

// deploy deploys pipelines with numbers from one to before another; those with low numbers have a trigger each.
func (r *resting) deploy(ctx context.Context, name string, from, to int, every string, triggers int) error {
	var all errgroup.Group
	all.SetLimit(4)
	for i := from; i < to; i++ {
		all.Go(func() error {
			named := fmt.Sprintf("%s%04d", name, i)
			body, err := json.Marshal(map[string]string{"document": r.scheduled(named, every, i < triggers), "why": "a measurement"})
			if err == nil {
				err = r.ask(ctx, http.MethodPost, "/v1/pipelines", body)
			}
			return err
		})
	}
	return all.Wait()
}

// ask calls the API, and reads its answer.
func (r *resting) ask(ctx context.Context, method, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+r.deployer)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return err
}

// made waits until so many schedules are made in Temporal, which is the last thing that is done for one.
func (r *resting) made(number int) error {
	for range 600 {
		log, err := os.ReadFile(filepath.Join(r.folder, "log"))
		if err != nil {
			return err
		}
		if bytes.Count(log, []byte("schedule made in Temporal")) >= number {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("there are not %d schedules", number)
}

// lists tells how long what is asked about schedules and pipelines takes, with so many of them: the middle one of some
// times. Of a list that is the first page.
func (r *resting) lists(ctx context.Context, number int) error {
	const times = 9
	for _, path := range []string{
		"/v1/schedules", "/v1/pipelines", "/v1/triggers", "/v1/runs", "/v1/schedules/default/rest0000/beat",
	} {
		var took [times]time.Duration
		for i := range took {
			began := time.Now()
			if err := r.ask(ctx, http.MethodGet, path, nil); err != nil {
				return err
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took[:])
		r.tell(fmt.Sprintf("GET %s, of %d", path, number), float64(took[times/2].Microseconds())/1000, "ms")
	}
	return nil
}

// due waits for the next full minute, in which a slot of each of the pipelines is due, and tells how long it takes
// until the outputs are there.
func (r *resting) due(ctx context.Context) error {
	for time.Now().Second() > 45 { // some may not be on record yet
		time.Sleep(time.Second)
	}
	slot := time.Now().UTC().Truncate(time.Minute)
	minute := slot.Add(time.Minute)
	time.Sleep(time.Until(minute))
	outputs := filepath.Join(r.folder, "out", "due*", slot.Format("2006-01-02T15:04Z")+".csv")
	before := r.CPU()
	for first := true; ctx.Err() == nil; {
		found, err := filepath.Glob(outputs)
		if err != nil {
			return err
		}
		if first && len(found) > 0 {
			first = false
			r.tell("first of 200 due at once", time.Since(minute).Seconds(), "s")
		}
		if len(found) == dueAtOnce {
			break
		}
		if time.Since(minute) > 50*time.Second {
			return fmt.Errorf("of %d slots that were due %d are done after %v", dueAtOnce, len(found), time.Since(minute))
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.tell("200 due at once", time.Since(minute).Seconds(), "s")
	r.tell("200 due at once, CPU", r.CPU()-before, "s")
	return ctx.Err()
}
