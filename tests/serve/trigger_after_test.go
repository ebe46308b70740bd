package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
	"waymark/tests/serving"
)

// strikes is a document whose runs begin as files arrive; reviews is one whose runs begin as those publish their reviews.
const (
	strikes = `
name: strikes
params: {part: {type: string, default: all}}
sources: {strikes: {csv: {path: "FOLDER/in/*.csv"}, schema: {fields: {id: int}}, on_invalid: quarantine}}
steps: [{name: severe, gate: "row.id > 100", routes: {"true": review, "false": all}}]
sinks:
  review: {jsonl: {path: "FOLDER/out/review-${param:part}TARGET}
  all: {jsonl: {path: "FOLDER/out/all-${param:part}.jsonl"}}
triggers: {drop: {source: strikes, every: 100ms, quiet: 100ms, run_id: part}}
`
	reviews = `
name: reviews
params: {part: {type: string, default: all}}
sources: {reviews: {jsonl: {path: "FOLDER/out/PATTERN", allow_empty: true}, schema: {fields: {id: int}}}}
steps: [{name: half, set: {half: "row.id / 2"}}]
sinks: {done: {jsonl: {path: "FOLDER/out/done/${param:part}.jsonl"}}}
triggers: {strikes: {source: reviews, after: {pipeline: strikes, sink: review}, every: 100ms, run_id: part, TRIGGER}}
`
)

// upstream serves a folder with a pipeline whose trigger is after another one.
func upstream(t *testing.T, target, pattern, trigger string) *watching {
	t.Helper()
	s := watch(t, t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "in"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "out"), 0o700))
	for name, document := range map[string]string{"strikes": strikes, "reviews": reviews} {
		text := strings.NewReplacer("FOLDER", s.Folder, "TARGET", target, "PATTERN", pattern, "TRIGGER", trigger).Replace(document)
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, name+".yaml"), []byte(text), 0o600))
	}
	s.Waymark(t, "deploy", "strikes.yaml", "--allow-path", s.Folder)
	s.Waymark(t, "deploy", "reviews.yaml", "--allow-path", s.Folder)
	return s
}

// at returns what is on record of everything that arrived at a trigger, by item.
func (s *watching) at(t *testing.T, trigger string) (found []landscape.Arrival) {
	t.Helper()
	found, err := landscape.Select[landscape.Arrival](t.Context(), s.Landscape(t), trigger)
	require.NoError(t, err)
	return found
}

// follows waits until so many outputs are in a state at the trigger after the other pipeline, and returns all that arrived there.
func (s *watching) follows(t *testing.T, state landscape.ArrivalState, n int) (all []landscape.Arrival) {
	t.Helper()
	require.Eventually(t, func() bool {
		all = s.at(t, "default/reviews/strikes")
		count := 0
		for _, a := range all {
			if a.State == state {
				count++
			}
		}
		return count == n
	}, patience, 50*time.Millisecond, "%d %s", n, state)
	return all
}

// TestATriggerAfterAnotherPipeline begins a run for each output of complete runs, which reads what was published and nothing else; both records say so.
func TestATriggerAfterAnotherPipeline(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "changed: again")
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "out", "review-none.jsonl"), []byte("{\"id\":7}\n"), 0o600))
	s.put(t, "a.csv", "id\n1\n200\n3\n300\n")
	read := s.follows(t, landscape.ArrivalDone, 1)[0]
	first := s.at(t, "default/strikes/drop")[0]
	require.Equal(t, landscape.OutputItem(first.Run, "review"), read.Item)
	output, err := read.Output()
	require.NoError(t, err)
	require.Equal(t, []any{first.Run, "review", int64(2), filepath.Join(s.Folder, "out", "review-"+first.Run+".jsonl")}, []any{output.Run, output.Sink, output.Rows, output.Files[0].Path})
	s.holds(t, "out/done", read.Run, "{\"id\":200,\"half\":100}\n{\"id\":300,\"half\":150}\n")
	require.Len(t, s.at(t, "default/reviews/strikes"), 1, "nobody published the other file")

	story := s.Waymark(t, "explain", read.Run, "--sink", "done", "--line", "2")
	require.Regexp(t, `from +row 2 of review, which run `+first.Run+` of strikes \(completed\) published: strikes:4 there`, story)
	require.Regexp(t, `(?s)row 4 of strikes, in run `+first.Run+` .*in/a\.csv, line 5, .*record  300\n`, story, "the story goes on where the record was read first")
	require.Regexp(t, `read +by run `+read.Run+` of reviews \(completed\) as reviews:2\n`, story)
	require.NotContains(t, s.Waymark(t, "explain", first.Run, "--row", "1"), "read  ", "nobody read what is in the other output")
	require.Len(t, serving.Listed[struct{}](t, s.Server, "explain", read.Run, "--row", "1"), 2, "one line for each run")
	s.Waymark(t, "verify", read.Run)
	require.Equal(t, "review", serving.Listed[triggered](t, s.Server, "triggers")[0].After.Sink)
}

// TestOutputsInPartsArrive as one, of which the run reads all parts.
func TestOutputsInPartsArrive(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `", parts: true}`, "review-*/part-*.jsonl", "batch: {files: 2, wait: 1m}")
	s.put(t, "a.csv", "id\n200\n")
	s.put(t, "b.csv", "id\n300\n400\n")
	all := s.follows(t, landscape.ArrivalDone, 2)
	require.Equal(t, all[0].Run, all[1].Run, "one batch")
	text, err := os.ReadFile(filepath.Join(s.Folder, "out", "done", all[0].Run+".jsonl"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{`{"id":200,"half":100}`, `{"id":300,"half":150}`, `{"id":400,"half":200}`}, strings.Fields(string(text)))
	story := s.Waymark(t, "explain", all[0].Run, "--row", "3")
	require.Regexp(t, `of review, which run .* published: strikes:[12] there`, story)
	require.Equal(t, 2, strings.Count(story, ", in run "))
}

// TestOutputsInABucketArrive with all their parts.
func TestOutputsInABucketArrive(t *testing.T) {
	sample.Rarely(t)
	bucket := buckets.New(t)
	bucket.Setenv(t)
	s := watch(t, t.TempDir(), "--allow-network", "127.0.0.0/8")
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "in"), 0o700))
	options := fmt.Sprintf(`", s3: {endpoint: %q, path_style: true}, `, bucket.Endpoint)
	for _, d := range []struct{ name, document string }{
		{"strikes", strings.NewReplacer("FOLDER/out/review-${param:part}TARGET", "s3://"+bucket.Name+"/out/${param:part}"+options+"parts: true}").Replace(strikes)},
		{"reviews", strings.NewReplacer(`FOLDER/out/PATTERN", `, "s3://"+bucket.Name+"/out/*/*/part-*.jsonl"+options, ", TRIGGER", "").Replace(reviews)},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, d.name+".yaml"), []byte(strings.ReplaceAll(d.document, "FOLDER", s.Folder)), 0o600))
		s.Waymark(t, "deploy", d.name+".yaml", "--allow-path", s.Folder, "--allow-network", "127.0.0.0/8")
	}
	s.put(t, "a.csv", "id\n200\n1\n300\n")
	s.holds(t, "out/done", s.follows(t, landscape.ArrivalDone, 1)[0].Run,
		"{\"id\":200,\"half\":100}\n{\"id\":300,\"half\":150}\n")
}

// TestWhatIsRetriedArrivesAgain unless the trigger ignores that.
func TestWhatIsRetriedArrivesAgain(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "changed: ignore")
	s.put(t, "a.csv", "id\n200\nx\n")
	s.put(t, "b.csv", "id\n400\ny\n")
	s.follows(t, landscape.ArrivalDone, 2)
	files := s.at(t, "default/strikes/drop")
	s.deployWith(t, "strikes", "{id: int}", "{id: string}", `row.id > 100`, "row.id > 'a'")
	s.Waymark(t, "errors", files[0].Run, "--retry", "--version", "2", "--param", "part=a", "--allow-path", s.Folder, "--why", "to see")
	for _, a := range s.follows(t, landscape.ArrivalIgnored, 1) {
		if a.State == landscape.ArrivalIgnored {
			require.Equal(t, "it has rows of run "+files[0].Run+", which were retried (changed: ignore)", a.Reason)
		}
	}
	s.deployWith(t, "reviews", "changed: ignore", "changed: again", "{id: int}", "{id: string}", "row.id / 2", "row.id")
	s.Waymark(t, "errors", files[1].Run, "--retry", "--version", "2", "--param", "part=b", "--allow-path", s.Folder, "--why", "to see")
	s.follows(t, landscape.ArrivalDone, 3)
}

// deployWith deploys a document with other texts in the place of some.
func (s *watching) deployWith(t *testing.T, name string, texts ...string) {
	t.Helper()
	path := filepath.Join(s.Folder, name+".yaml")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer(texts...).Replace(string(text))), 0o600))
	s.Waymark(t, "deploy", name+".yaml", "--allow-path", s.Folder)
}

// TestWhatIsOverwritten before a run took it is gone: only what was published last can be read.
func TestWhatIsOverwritten(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "changed: again")
	s.Waymark(t, "triggers", "pause", "reviews/strikes", "--why", "to see")
	s.deployWith(t, "strikes", "review-${param:part}.jsonl\"", "review-last.jsonl\", overwrite: true")
	s.put(t, "a.csv", "id\n200\n")
	s.follows(t, landscape.ArrivalReady, 1)
	s.put(t, "b.csv", "id\n300\n")
	s.follows(t, landscape.ArrivalGone, 1)
	s.Waymark(t, "triggers", "resume", "reviews/strikes")
	all := s.follows(t, landscape.ArrivalDone, 1)
	require.Len(t, all, 2)
	for _, a := range all {
		if a.State == landscape.ArrivalDone {
			s.holds(t, "out/done", a.Run, "{\"id\":300,\"half\":150}\n")
		}
	}
}

// TestPipelinesDoNotFollowEachOther in a circle, and none follows what is not there.
func TestPipelinesDoNotFollowEachOther(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "changed: again")
	for change, want := range map[[2]string]string{
		{"pipeline: strikes", "pipeline: strieks"}: `(?s)wrong.yaml:\d+:\d+: triggers.strikes.after.pipeline: no pipeline strieks is deployed in default: deploy it first.*--anyway WHY`,
		{"sink: review}", "sink: revue}"}:          `triggers.strikes.after.sink: the pipeline strikes has no sink revue: it has review, all`,
	} {
		text, err := os.ReadFile(filepath.Join(s.Folder, "reviews.yaml"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "wrong.yaml"), []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600))
		out, err := s.Try(t.Context(), "deploy", "wrong.yaml", "--allow-path", s.Folder)
		require.Error(t, err)
		require.Regexp(t, want, out)
	}
	circle := "name: strikes\n" +
		"sources: {in: {jsonl: {path: \"" + s.Folder + "/out/done/*.jsonl\"}}}\n" +
		"sinks: {review: {jsonl: {path: \"" + s.Folder + "/out/x.jsonl\", overwrite: true}}}\n" +
		"triggers: {back: {source: in, after: {pipeline: reviews, sink: done}}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "circle.yaml"), []byte(circle), 0o600))
	out, err := s.Try(t.Context(), "deploy", "circle.yaml", "--allow-path", s.Folder, "--anyway", "I want it")
	require.Error(t, err)
	const sentence = "what strikes publishes would come back to it, and each run would begin others, without end: strikes after reviews after strikes; delete one of the triggers on this way"
	require.Contains(t, out, "circle.yaml: "+sentence)

	s.Waymark(t, "retire", "reviews", "--why", "to see")
	s.Waymark(t, "deploy", "circle.yaml", "--allow-path", s.Folder, "--anyway", "nobody publishes that now")
	out, err = s.Try(t.Context(), "restore", "reviews", "--why", "to see")
	require.Error(t, err)
	require.Contains(t, out, "reviews after strikes after reviews")
	s.Waymark(t, "rollback", "strikes", "--why", "to see")
	s.Waymark(t, "restore", "reviews", "--why", "to see")
	out, err = s.Try(t.Context(), "rollback", "strikes", "--to", "2", "--why", "to see")
	require.Error(t, err)
	require.Contains(t, out, sentence)
}

// TestTriggersThatBeginNoMoreRuns are named as somebody removes the sink after which they are, or retires its pipeline, and as long as that is so.
func TestTriggersThatBeginNoMoreRuns(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "changed: again")
	require.Empty(t, serving.Listed[triggered](t, s.Server, "triggers")[0].Error)
	s.deployWith(t, "strikes", "  review:", "  revue:", `"true": review`, `"true": revue`)
	const lacks = "the pipeline strikes has no sink review: it has revue, all"
	require.Equal(t, lacks, serving.Listed[triggered](t, s.Server, "triggers")[0].Error)
	out, err := s.Try(t.Context(), "retire", "strikes", "--why", "to see")
	require.NoError(t, err)
	require.Contains(t, out, "no more runs begin at trigger default/reviews/strikes: the pipeline strikes is retired in default: restore it first")
	out, err = s.Try(t.Context(), "restore", "strikes", "--why", "to see")
	require.NoError(t, err)
	require.Contains(t, out, "no more runs begin at trigger default/reviews/strikes: "+lacks)
	out, err = s.Try(t.Context(), "rollback", "strikes", "--why", "to see")
	require.NoError(t, err)
	require.NotContains(t, out, "no more runs begin")
	require.Empty(t, serving.Listed[triggered](t, s.Server, "triggers")[0].Error)
}

// TestAnOutputThatIsNotWhatWasPublished stops the run that reads it: what its bytes are is seen when they are read.
func TestAnOutputThatIsNotWhatWasPublished(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "changed: again")
	s.Waymark(t, "triggers", "pause", "reviews/strikes", "--why", "to see")
	s.put(t, "a.csv", "id\n200\n")
	s.put(t, "b.csv", "id\n300\n")
	for _, a := range s.follows(t, landscape.ArrivalReady, 2)[:1] {
		output, err := a.Output()
		require.NoError(t, err)
		require.NoError(t, os.Remove(output.Files[0].Path))
	}
	gone := s.follows(t, landscape.ArrivalGone, 1)[0]
	require.Contains(t, gone.Reason, "was removed before a run took it")
	output, err := s.at(t, "default/reviews/strikes")[1].Output()
	require.NoError(t, err)
	overwritten(t, output.Files[0].Path, "{\"id\":301}\n")
	s.Waymark(t, "triggers", "resume", "reviews/strikes")
	taken := s.follows(t, landscape.ArrivalTaken, 1)[1]
	require.Eventually(t, func() bool { return s.status(t, taken.Run) == "failed" }, patience, 50*time.Millisecond)
	require.Regexp(t, `SOURCE_CHANGED: is not what sink review of run `+output.Run+` published, or was written again since the run began: see that what was published is there, and give the run up: waymark cancel `+taken.Run+` --final --why TEXT; then another run reads it`, s.statusText(t, taken.Run))
	require.NoFileExists(t, filepath.Join(s.Folder, "out", "done", taken.Run+".jsonl"))
	overwritten(t, output.Files[0].Path, "{\"id\":300}\n")
	s.Waymark(t, "cancel", taken.Run, "--final", "--why", "other bytes", "--allow-path", s.Folder)
	s.holds(t, "out/done", s.follows(t, landscape.ArrivalDone, 1)[1].Run, "{\"id\":300,\"half\":150}\n")
}

// TestAnOutputThatIsWrittenAgain with the same bytes is still what was published, also if it was away, or other bytes were in its place, while a run failed because of that.
func TestAnOutputThatIsWrittenAgain(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := upstream(t, `.jsonl"}`, "review-*.jsonl", "at_once: 3")
	s.Waymark(t, "triggers", "pause", "reviews/strikes", "--why", "to see")
	for name, text := range map[string]string{"a.csv": "id\n200\n", "b.csv": "id\n300\n", "c.csv": "id\n400\n"} {
		s.put(t, name, text)
	}
	var paths []string
	for _, a := range s.follows(t, landscape.ArrivalReady, 3) {
		output, err := a.Output()
		require.NoError(t, err)
		paths = append(paths, output.Files[0].Path)
	}
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(paths[0], later, later))
	text, err := os.ReadFile(paths[1])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(paths[1]+".new", text, 0o600))
	require.NoError(t, os.Rename(paths[1]+".new", paths[1]))
	away := paths[2] + ".away"
	require.NoError(t, os.Rename(paths[2], away))
	s.follows(t, landscape.ArrivalGone, 1)
	left := serving.Listed[leftAt](t, s.Server, "triggers")[0]
	require.Equal(t, leftAt{Waiting: 2, Gone: 1}, left)
	require.Regexp(t, `waiting +oldest +gone +ignored `, s.Waymark(t, "triggers"))
	require.NoError(t, os.Rename(away, paths[2]))
	s.follows(t, landscape.ArrivalReady, 3)
	require.Equal(t, leftAt{Waiting: 3}, serving.Listed[leftAt](t, s.Server, "triggers")[0], "what is there again is not gone")
	text, err = os.ReadFile(paths[0])
	require.NoError(t, err)
	overwritten(t, paths[0], "{\"id\":999}\n")
	s.Waymark(t, "triggers", "resume", "reviews/strikes")
	taken := ofState(s.follows(t, landscape.ArrivalDone, 2), landscape.ArrivalTaken)
	require.Len(t, taken, 1)
	require.Eventually(t, func() bool { return s.status(t, taken[0].Run) == "failed" }, patience, 50*time.Millisecond)
	require.NoError(t, os.Remove(paths[0]))
	require.NoError(t, os.WriteFile(paths[0], text, 0o600))
	s.Waymark(t, "cancel", taken[0].Run, "--final", "--why", "what was published is there again", "--allow-path", s.Folder)
	for _, a := range ofState(s.follows(t, landscape.ArrivalDone, 3), landscape.ArrivalDone) {
		s.Waymark(t, "verify", a.Run)
	}
}

// leftAt is what `triggers --json` counts of what no run has read.
type leftAt struct {
	Waiting int64 `json:"waiting"`
	Gone    int64 `json:"gone"`
	Ignored int64 `json:"ignored"`
}

// ofState returns those that are in a state.
func ofState(all []landscape.Arrival, state landscape.ArrivalState) []landscape.Arrival {
	return slices.DeleteFunc(slices.Clone(all), func(a landscape.Arrival) bool { return a.State != state })
}

// overwritten puts other bytes into a file, so that nothing else tells.
func overwritten(t *testing.T, path, text string) {
	t.Helper()
	before, err := os.Stat(path)
	require.NoError(t, err)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
}

// statusText is what status says of a run, which may have an exit code.
func (s *watching) statusText(t *testing.T, run string) string {
	t.Helper()
	out, _ := s.Try(t.Context(), "status", run)
	return out
}
