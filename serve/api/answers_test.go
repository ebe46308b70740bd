package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
)

// finding finds answers, and takes a moment to do it.
type finding struct {
	answers
	found atomic.Int64
}

const findTime = 100 * time.Millisecond

func (f *finding) ask(ctx context.Context, question string, orders int64) (any, error) {
	w := wish{question: question, asked: time.Now(), mark: mark{orders: orders}, good: answerGood}
	return f.get(ctx, w, func(ctx context.Context) (any, error) {
		time.Sleep(findTime)
		return f.found.Add(1), ctx.Err()
	})
}

// TestEqualQuestionsAreAnsweredOnce: of all who ask within a second one finds the answer. Who comes after an order gets
// a newer one, and who waits for an older one then finds one for all who wait.
func TestEqualQuestionsAreAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &finding{}
		crowd := func(orders, want int64) {
			t.Helper()
			var all sync.WaitGroup
			for range 200 {
				all.Go(func() {
					found, err := f.ask(t.Context(), "q", orders)
					if err != nil || found != want {
						t.Errorf("found %v, %v in place of %v", found, err, want)
					}
				})
			}
			all.Wait()
		}
		began := time.Now()
		crowd(0, 1)
		crowd(0, 1)
		require.Equal(t, findTime, time.Since(began))
		crowd(1, 2)
		time.Sleep(answerGood)
		crowd(1, 3)

		var before sync.WaitGroup
		before.Go(func() { _, _ = f.ask(t.Context(), "q", 2) })
		time.Sleep(findTime / 2)
		crowd(3, 5) // the fourth was begun before the order
		before.Wait()
		_, err := f.ask(t.Context(), "other", 3)
		require.NoError(t, err)
		require.EqualValues(t, 6, f.found.Load())
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Empty(t, f.of, "nothing is kept for nobody")
	})
}

// TestWhoGoesAwayLeavesTheOthersTheirAnswer: neither does a panic leave them without one, nor is an error kept.
func TestWhoGoesAwayLeavesTheOthersTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &finding{}
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = f.ask(gone, "q", 0) })
		synctest.Wait()
		waits, tired := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := f.ask(waits, "q", 0)
			stopped, ok := errors.AsType[*client.Error](err)
			if !ok || stopped.Kind != client.Interrupted {
				t.Errorf("%v is not that of who waits no more", err)
			}
		})
		all.Go(func() {
			found, err := f.ask(t.Context(), "q", 0)
			if err != nil || found != int64(1) {
				t.Errorf("found %v, %v", found, err)
			}
		})
		synctest.Wait()
		leave()
		tired()
		all.Wait()

		w := wish{question: "bad", asked: time.Now(), good: answerGood}
		asked := 0
		for range 3 {
			_, err := f.get(t.Context(), w, func(context.Context) (any, error) {
				if asked++; asked == 1 {
					panic("broken")
				}
				return nil, errors.New("away")
			})
			require.Error(t, err)
			time.Sleep(time.Nanosecond)
			w.asked = time.Now()
		}
		require.Equal(t, 3, asked)
	})
}

// TestAnswersAreBounded: however many questions there are at once, few answers are kept.
func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &finding{}
		var all sync.WaitGroup
		for i := range 10 * mostAnswers {
			all.Go(func() { _, _ = f.ask(t.Context(), fmt.Sprint(i), 0) })
		}
		synctest.Wait()
		require.Len(t, f.of, mostAnswers)
		all.Wait()
		require.EqualValues(t, 10*mostAnswers, f.found.Load())
		for range 2 {
			_, err := f.ask(t.Context(), "one more", 0)
			require.NoError(t, err)
		}
		require.EqualValues(t, 10*mostAnswers+1, f.found.Load(), "it takes the place of an older one")
		require.Len(t, f.of, mostAnswers)
	})
}

// TestAnswersAreSharedByWhoSeesTheSame has people of all rights ask for lists at the same time, and an event happen
// between two questions of the same second: each sees what he may see, and what has happened.
func TestAnswersAreSharedByWhoSeesTheSame(t *testing.T) {
	s, home, all := asked(t, 0)
	store, err := sqlitestore.Open(t.Context(), home.Place(), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	log := landscape.New(store, time.Now)
	begin := func(id, pipeline, actor, trigger string) {
		t.Helper()
		run, graph := landscapetest.Scene{Run: id}.Graph()
		run.Pipeline, run.Actor, run.Trigger = pipeline, actor, trigger
		require.NoError(t, log.BeginRun(t.Context(), run, graph))
	}
	begin("of-ann", "orders", "ann", "api")
	begin("of-bob", "orders", "bob", "api")
	begin("of-eve", "bills", "eve", "api")
	token := func(name string, role landscape.Role, pipelines ...string) string {
		t.Helper()
		granted, err := home.GrantAccess(t.Context(), client.AccessRequest{
			By: client.By{Why: "a test"}, Name: name, Roles: []landscape.Role{role}, Pipelines: pipelines,
		})
		require.NoError(t, err)
		return granted.Token
	}
	people := []struct{ token, sees, then string }{ // then: after a run of bills was begun on the command line
		{all, "of-eve of-bob of-ann", "of-sue of-eve of-bob of-ann"},
		{token("viewer", landscape.Viewer), "of-eve of-bob of-ann", "of-sue of-eve of-bob of-ann"},
		{token("viewer of orders", landscape.Viewer, "ord*"), "of-bob of-ann", "of-bob of-ann"},
		{token("viewer of bills", landscape.Viewer, "bills"), "of-eve", "of-sue of-eve"},
		{token("bob", landscape.Service), "of-bob", "of-bob"},
		{token("eve", landscape.Service), "of-eve", "of-eve"},
		{token("eve", landscape.Service, "orders"), "", ""},
	}
	list := func(token, path string) string {
		answer := get(s, path, token)
		if answer.Code != http.StatusOK {
			return answer.Body.String()
		}
		var page remote.Page[client.Run]
		if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil {
			return err.Error()
		}
		var ids []string
		for _, run := range page.Items {
			ids = append(ids, run.ID)
		}
		return strings.Join(ids, " ")
	}
	seesNow := func(sees func(i int) string) {
		t.Helper()
		var crowd sync.WaitGroup
		for i, person := range people {
			for range 5 {
				crowd.Go(func() {
					if got := list(person.token, "/v1/runs"); got != sees(i) {
						t.Errorf("person %d sees %q and not %q", i, got, sees(i))
					}
				})
			}
		}
		crowd.Wait()
		for i, person := range people {
			code := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[strings.Contains(sees(i), "of-bob")]
			require.Equal(t, code, get(s, "/v1/runs/of-bob", person.token).Code, "person %d", i)
		}
	}
	seesNow(func(i int) string { return people[i].sees })
	begin("of-sue", "bills", "sue", "command line")
	seesNow(func(i int) string { return people[i].then })

	before := s.answers.orders.Load()
	request := httptest.NewRequest(http.MethodPost, "/v1/runs/of-bob/pause", strings.NewReader(`{"why":"to look"}`))
	request.Host = "localhost:8686"
	request.Header.Set("Authorization", "Bearer "+all)
	request.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(httptest.NewRecorder(), request)
	require.Equal(t, before+1, s.answers.orders.Load(), "no answer from before an order is given after it")

	require.NoError(t, log.StopRun(t.Context(), "of-bob", pipeline.Cancelled, "by another door"))
	require.Contains(t, get(s, "/v1/runs/of-bob", all).Body.String(), "by another door")
	require.Contains(t, get(s, "/v1/runs?status=cancelled", all).Body.String(), "of-bob")
}

// TestWhatMustFailIsNotOffered: a run that only another one can follow has no button that resumes it.
func TestWhatMustFailIsNotOffered(t *testing.T) {
	for cure, offered := range map[client.Cure]int{client.Mend: 2, client.Resume: 2, client.Restore: 2, client.Fork: 1, client.SendAgain: 1, client.CancelFinal: 1, client.GiveUp: 1} {
		orders := ordersFor(&client.RunReport{Status: &client.Status{
			Run: client.Run{ID: "r", Status: pipeline.Failed}, Advice: client.Advice{Cures: []client.Cure{cure}},
		}})
		require.Len(t, orders, offered, cure)
		require.Equal(t, "Cancel for ever", orders[offered-1].Name)
	}
}
