package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// TestTriggerDoors: what commands say of triggers and tell them, the API does as well, and so do commands that ask a server.
func TestTriggerDoors(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := &apiServer{serving.StartAPI(t)}
	s.Arrive(t)
	h := &house{Server: s.Server, url: s.URL, token: s.Grant(t, "bob", "deployer")}
	answer, body := s.Ask(t, http.MethodPost, "/in/default/arriving/calls", "", `{"id": 7}`)
	require.Equal(t, 202, answer.StatusCode, "%s", body)
	var receipt client.Receipt
	require.NoError(t, json.Unmarshal(body, &receipt))
	t.Run("same answers", h.sameTriggers)
	t.Run("same as the API", s.triggersOverAPI)
	t.Run("orders", h.sameTriggerOrders)
	t.Run("refusals", s.triggerRefusals)
	t.Run("deliveries", func(t *testing.T) { h.deliveriesOrdered(t, receipt.Receipt) })
	t.Run("removed", h.removedTrigger)
	t.Run("purged", s.deliveryPurged)
}

// sameTriggers asks about triggers in the house and away from it.
func (h *house) sameTriggers(t *testing.T) {
	for _, words := range []string{
		"triggers", "triggers --environment default", "triggers --environment nowhere", "triggers arrivals drop", "triggers arrivals arriving/drop --only ready", "triggers arrivals default/arriving/drop --limit 1",
		"triggers arrivals calls", "triggers arrivals default/arriving/nope", "triggers pause default/arriving/nope --why x", "triggers ignore drop nope --why x", "triggers again drop nope --why x", "triggers pause drop",
		"triggers ignore drop --why x", "triggers ignore drop a --all --why x",
	} {
		for _, more := range []string{"", " --json"} {
			var here, away said
			require.Eventually(t, func() bool { // looks go on
				args := strings.Fields(words + more)
				here, away = h.command(t, false, args...), h.command(t, true, args...)
				return reflect.DeepEqual(here, away)
			}, patience, time.Millisecond, "%s: %+v %+v", words+more, &here, &away)
		}
	}
	here := h.command(t, false, "triggers", "arrivals", "nope")
	away := h.command(t, true, "triggers", "arrivals", "nope")
	require.Equal(t, 2, away.code)
	require.Equal(t, h.unnamed(here.err), h.unnamed(away.err))
	first := serving.Listed[client.Arrival](t, h.Server, "triggers", "arrivals", "drop")[0]
	h.same(t, "triggers", "arrivals", "drop", "--after", first.ID)
	require.Equal(t, 2, h.command(t, true, "triggers", "arrivals", "drop", "--after", "nope@7").code)
	require.Contains(t, h.command(t, true, "triggers").out, "deliveries")
	require.Regexp(t, `warn +triggers +2 triggers, 2 arrivals waiting; default/arriving/calls: paused by \w+: to see; 1 delivery waits; default/arriving/drop: paused by \w+: <b>to see</b>; 1 file waits`,
		h.command(t, false, "doctor").out)

	run, file := h.ArrivedRun(t), filepath.Join(h.Folder, "arriving/a.csv")
	h.same(t, "status", run)
	require.Regexp(t, `(?m)^trigger +default/arriving/drop brought `+file+`$`, h.command(t, true, "status", run).out)
	for _, word := range []string{file, "a.csv", "arriving/a.csv"} {
		h.same(t, "find", word)
		require.Regexp(t, file+`, which (source files reads|trigger default/arriving/drop brought) +arriving +waymark status `+run, h.command(t, true, "find", word).out)
	}
	require.Equal(t, 1, h.command(t, true, "find", "b.csv").code)
}

// triggersOverAPI compares the answers of the API with what commands print, page by page.
func (s *apiServer) triggersOverAPI(t *testing.T) {
	viewer := s.Tokens[landscape.Viewer]
	var items []json.RawMessage
	for next := ""; ; {
		_, body := s.Ask(t, "GET", "/v1/triggers/default/arriving/drop/arrivals?limit=1"+next, viewer, "")
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		require.NoError(t, json.Unmarshal(body, &page))
		items = append(items, page.Items...)
		if page.Next == "" {
			break
		}
		next = "&after=" + page.Next
	}
	told := serving.Listed[json.RawMessage](t, s.Server, "triggers", "arrivals", "drop", "--limit", "0")
	require.Len(t, items, 2)
	for i, item := range told {
		require.JSONEq(t, string(item), string(items[i]))
	}
	_, body := s.Ask(t, "GET", "/v1/triggers/default/arriving/drop", viewer, "")
	var one client.Trigger
	require.NoError(t, json.Unmarshal(body, &one))
	require.Equal(t, []any{client.FileTrigger, int64(1), "<b>to see</b>", true, false}, []any{one.Kind, one.Waiting, one.Why, one.Paused, one.Removed})
	_, body = s.Ask(t, "GET", "/v1/triggers?environment=default", viewer, "")
	require.Contains(t, string(body), `"kind":"deliveries"`)
	require.Contains(t, string(body), `"kind":"files"`)
}

// sameTriggerOrders gives orders in the house and away from it.
func (h *house) sameTriggerOrders(t *testing.T) {
	file := func(name string) string { return filepath.Join(h.Folder, "arriving", name) }
	for _, order := range [][]string{
		{"ignore", file(serving.HostileFile), "ignored", "already: nothing changed"}, {"again", file(serving.HostileFile), "waiting for a run", "already: nothing changed"},
		{"again", file("a.csv"), "waiting for a run", "already"}, {"ignore", file("a.csv"), "ignored", "already"},
	} {
		done := h.command(t, true, "triggers", order[0], "drop", order[1], "--why", "a test")
		require.Equal(t, 0, done.code, done.err)
		require.Contains(t, done.out, order[2])
		require.NotContains(t, done.out, "already")
		again := h.command(t, false, "triggers", order[0], "drop", order[1], "--why", "a test")
		require.Contains(t, again.out, order[3])
	}
	ignored := h.Reaches(t, "drop", landscape.ArrivalIgnored, 2)
	require.Equal(t, []any{"a.csv", int64(1), "ignored by bob: a test"}, []any{filepath.Base(ignored[0].Item), ignored[0].Revision, ignored[0].Reason})
	require.Len(t, ignored[0].Orders, 2, "it arrived again, and was ignored")
	require.Equal(t, []any{landscape.AgainArrival, "bob", "a test"}, []any{ignored[0].Orders[0].Action, ignored[0].Orders[0].Actor, ignored[0].Orders[0].Why})

	require.Contains(t, h.command(t, true, "triggers", "resume", "drop").err, "--why", "a server needs a reason")
	require.Contains(t, h.command(t, true, "triggers", "resume", "drop", "--why", "seen").out, "is resumed; 1 file waits")
	done := h.Reaches(t, "drop", landscape.ArrivalDone, 2)
	require.Equal(t, []any{serving.HostileFile, int64(1)}, []any{filepath.Base(done[0].Item), done[0].Revision})
	taken := h.command(t, true, "triggers", "ignore", "drop", done[0].Item, "--why", "late")
	require.Equal(t, 2, taken.code)
	require.Contains(t, taken.err, "cannot be ignored: it is done")

	require.NoError(t, os.Remove(file("a.csv")))
	require.Contains(t, h.command(t, true, "triggers", "again", "drop", file("a.csv"), "--why", "it is away").out, "waiting for a run")
	gone := h.Reaches(t, "drop", landscape.ArrivalGone, 1)
	require.Equal(t, int64(2), gone[0].Revision, "no run reads what is not there")
}

// triggerRefusals: what somebody may not see does not exist for him, and orders need a reason and something to be about.
func (s *apiServer) triggerRefusals(t *testing.T) {
	other := s.Grant(t, "other", "operator", "orders")
	for _, path := range []string{"", "/arrivals"} {
		_, unseen := s.Ask(t, "GET", "/v1/triggers/default/arriving/drop"+path, other, "")
		_, unknown := s.Ask(t, "GET", "/v1/triggers/default/arriving/nope"+path, s.Tokens[landscape.Viewer], "")
		require.Equal(t, "TRIGGER_NOT_FOUND", code(t, unseen))
		require.Equal(t, strings.ReplaceAll(detail(t, unknown), "nope", "drop"), detail(t, unseen))
	}
	_, body := s.Ask(t, "GET", "/v1/triggers", other, "")
	require.JSONEq(t, `{"items":[]}`, string(body))
	operator := s.Tokens[landscape.Operator]
	for _, test := range []struct {
		verb, body string
		status     int
	}{
		{"pause", `{}`, 400}, {"resume", `{}`, 400}, {"ignore", `{"item":"a"}`, 400}, {"ignore", `{"why":"x"}`, 400}, {"ignore", `{"why":"x","item":"a","all":true}`, 400}, {"again", `{"why":"x"}`, 400},
		{"again", `{"why":"x","item":"nope"}`, 404}, {"ignore", `{"why":"x","item":"nope"}`, 404}, {"again", `{"why":"x","item":"nope","all":true}`, 400},
	} {
		answer, body := s.Ask(t, "POST", "/v1/triggers/default/arriving/drop/"+test.verb, operator, test.body)
		require.Equal(t, test.status, answer.StatusCode, "%s %s: %s", test.verb, test.body, body)
		answer, _ = s.Ask(t, "POST", "/v1/triggers/default/arriving/drop/"+test.verb, other, `{"why":"x","item":"nope"}`)
		require.Contains(t, []int{400, 404}, answer.StatusCode)
	}
	for query, want := range map[string]string{"state=nope": "BAD_QUERY", "after=nope": "BAD_CURSOR", "item=x": "BAD_QUERY", "limit=0": "BAD_QUERY"} {
		_, body := s.Ask(t, "GET", "/v1/triggers/default/arriving/drop/arrivals?"+query, operator, "")
		require.Equal(t, want, code(t, body), query)
	}
}

func detail(t *testing.T, body []byte) string {
	t.Helper()
	var problem struct{ Detail string }
	require.NoError(t, json.Unmarshal(body, &problem))
	return problem.Detail
}

// deliveriesOrdered ignores what others posted by its receipt, and lets it arrive again.
func (h *house) deliveriesOrdered(t *testing.T, receipt string) {
	for _, verb := range []string{"ignore", "again"} {
		done := h.command(t, true, "triggers", verb, "calls", receipt, "--why", "a test")
		require.Equal(t, 0, done.code, done.err)
	}
	require.Contains(t, h.command(t, true, "triggers", "resume", "calls", "--why", "seen").out, "is resumed; 1 delivery waits")
	done := h.Reaches(t, "calls", landscape.ArrivalDone, 1)
	require.Equal(t, []any{"webhook://" + receipt, int64(1)}, []any{done[0].Item, done[0].Revision})
	require.Regexp(t, `webhook://`+receipt+`, which trigger default/arriving/calls brought +arriving +waymark status `+done[0].Run, h.command(t, true, "find", receipt).out)
	content, err := os.ReadFile(filepath.Join(h.Folder, "out/arriving", done[0].Run+".jsonl"))
	require.NoError(t, err)
	require.Equal(t, "{\"id\":7}\n", string(content))
}

// removedTrigger: what waits for a trigger that is not there any more is shown, and can be ignored.
func (h *house) removedTrigger(t *testing.T) {
	h.Waymark(t, "triggers", "pause", "drop", "--why", "to see")
	h.Drop(t, "late.csv")
	h.Reaches(t, "drop", landscape.ArrivalReady, 1)
	document := strings.ReplaceAll(serving.Arriving, "FOLDER", h.Folder)
	document = strings.Replace(document, "  drop: {source: files, every: 100ms, quiet: 100ms, run_id: part}\n", "", 1)
	require.NoError(t, os.WriteFile(filepath.Join(h.Folder, "arriving.yaml"), []byte(document), 0o600))
	h.Waymark(t, "deploy", "arriving.yaml", "--allow-path", h.Folder)
	h.same(t, "triggers", "arrivals", "default/arriving/drop")
	shown := h.command(t, true, "triggers").out
	require.Regexp(t, `default/arriving/drop +files +files +removed +1 `, shown)
	require.Contains(t, h.command(t, true, "triggers", "pause", "drop", "--why", "x").err, "trigger default/arriving/drop was removed with version 2 of arriving")
	require.Contains(t, h.command(t, false, "triggers", "again", "drop", filepath.Join(h.Folder, "arriving/late.csv"), "--why", "x").err, "was removed")
	for i, count := range []string{"1 arrival", "0 arrivals"} {
		done := h.command(t, i == 0, "triggers", "ignore", "default/arriving/drop", "--all", "--why", "it is gone")
		require.Contains(t, done.out, fmt.Sprintf("%s at trigger default/arriving/drop: ignored now", count))
	}
	require.NotContains(t, h.command(t, true, "triggers").out, "arriving/drop")
}

// deliveryPurged: what was delivered and ignored is purged as source records are, and is not read again then; what waits is not purged.
func (s *apiServer) deliveryPurged(t *testing.T) {
	s.Waymark(t, "triggers", "pause", "calls", "--why", "to see")
	var receipts []string
	for _, body := range []string{`{"id": 8}`, `{"id": 9}`} {
		_, answer := s.Ask(t, http.MethodPost, "/in/default/arriving/calls", "", body)
		var receipt client.Receipt
		require.NoError(t, json.Unmarshal(answer, &receipt))
		receipts = append(receipts, receipt.Receipt)
	}
	s.Waymark(t, "triggers", "ignore", "calls", receipts[0], "--why", "a test")
	s.Waymark(t, "purge", "--keep-source", "1ms", "--why", "a test")
	out, err := s.Try(t.Context(), "triggers", "again", "calls", receipts[0], "--why", "a test")
	require.Error(t, err)
	require.Contains(t, out, "cannot be read again: what was delivered, or found, is purged or forgotten")
	s.Waymark(t, "triggers", "ignore", "calls", receipts[1], "--why", "a test")
	s.Waymark(t, "triggers", "again", "calls", receipts[1], "--why", "a test")
	s.Waymark(t, "triggers", "resume", "calls")
	s.Reaches(t, "calls", landscape.ArrivalDone, 2)
	s.Waymark(t, "scrub")
}
