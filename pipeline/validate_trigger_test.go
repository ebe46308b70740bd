package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestProblemsOfTriggers(t *testing.T) {
	const document = "name: x\nparams: {part: {type: string, default: a}, n: {type: int}, day: {type: date, default: \"${slot:date}\"}}\n" +
		"sources:\n  in: {csv: {path: \"in/*.csv\"}}\n  more: {csv: {path: \"more/*.csv\"}}\n  web: {csv: {path: https://example.org/a.csv}}\n  table: {postgres: {dsn: \"host=db.example dbname=x\", table: t, order_by: [id]}}\n" +
		"  query: {postgres: {dsn: \"host=db.example dbname=x\", query: select 1 as id, order_by: [id]}}\n" +
		"sinks: {out: {csv: {path: out.csv}}}\ntriggers:\n  drop: "
	const full = "params: {n: 1, day: 2026-11-21}"
	for name, c := range map[string]struct{ trigger, want string }{
		"no source":            {"{every: 2s, " + full + "}", `x.yaml:11:3: triggers.drop: the key "source" is missing`},
		"an unknown key":       {"{source: in, quite: 2s, " + full + "}", `x.yaml:11:22: triggers.drop: unknown key "quite" (did you mean "quiet"?)`},
		"an unknown source":    {"{source: inn, " + full + "}", `x.yaml:11:18: triggers.drop.source: no source named "inn" (did you mean "in"?)`},
		"an address":           {"{source: web, " + full + "}", `x.yaml:11:18: triggers.drop.source: the source "web" reads "https://example.org/a.csv", where no files arrive: its path must be that of files, or s3://BUCKET/KEY, mostly with a pattern such as *.csv`},
		"a table":              {"{source: table, " + full + "}", `x.yaml:11:18: triggers.drop.source: the source "table" reads a database, where no files arrive: add rows: {by: [COLUMN, KEY]} to the trigger, name a source that reads files, or use schedules`},
		"rows of files":        {"{source: in, rows: {by: [id]}, " + full + "}", `x.yaml:11:18: triggers.drop.source: the source "in" reads no table: make it a postgres source, or delete rows`},
		"rows of a query":      {"{source: query, rows: {by: [id]}, " + full + "}", `x.yaml:11:18: triggers.drop.source: the source "query" reads a query, and rows arrive at a table: give it a table`},
		"rows and quiet":       {"{source: table, rows: {by: [at, id]}, quiet: 1s, " + full + "}", `x.yaml:11:54: triggers.drop.quiet: belongs to triggers of files: a row is complete, and arrives again when it changes; delete it`},
		"rows after another":   {"{source: table, rows: {by: [at, id]}, after: {pipeline: y, sink: out}, " + full + "}", `x.yaml:11:47: triggers.drop.after: rows of a table come neither from another pipeline nor by post: delete it, or rows`},
		"too often":            {"{source: in, every: 1ms, " + full + "}", `x.yaml:11:29: triggers.drop.every: must be at least 100ms and at most 1h, not 1ms`},
		"a batch of what":      {"{source: in, batch: {wait: 2s}, " + full + "}", `x.yaml:11:22: triggers.drop.batch: the key "files" is missing`},
		"an id for a number":   {"{source: in, run_id: n, params: {day: 2026-11-21}}", `x.yaml:11:30: triggers.drop.run_id: the parameter "n" is of type int, and the id of a run is a string`},
		"an id for nothing":    {"{source: in, run_id: prt, " + full + "}", `x.yaml:11:30: triggers.drop.run_id: no parameter named "prt" (did you mean "part"?)`},
		"an id and a value":    {"{source: in, run_id: part, params: {part: a, n: 1, day: 2026-11-21}}", `x.yaml:11:30: triggers.drop.run_id: the parameter "part" has a value in params already: delete one of the two`},
		"a value that is none": {"{source: in, params: {n: x, day: 2026-11-21}}", `x.yaml:11:34: triggers.drop.params.n: "x" is not a valid int: expected ASCII digits with an optional minus sign (FORMAT)`},
		"no value":             {"{source: in, params: {day: 2026-11-21}}", `x.yaml:11:3: triggers.drop: gives no value to the parameter "n", which has no default: add params: {n: VALUE}`},
		"no slot":              {"{source: in, params: {n: 1}}", `x.yaml:11:3: triggers.drop: runs that a trigger begins are about no slot, to which the default of the parameter "day" refers: add params: {day: VALUE}`},
		"two for a source":     {"{source: in, " + full + "}\n  more: {source: in, " + full + "}", `x.yaml:12:18: triggers.more.source: the source "in" has the trigger "drop" already, and each file would be in a run of both: delete one of them`},
		"after itself":         {"{source: in, after: {pipeline: x, sink: out}, " + full + "}", `x.yaml:11:40: triggers.drop.after.pipeline: each run of "x" would begin another one, without end: name another pipeline`},
		"after nothing":        {"{source: in, after: {pipeline: y}, " + full + "}", `x.yaml:11:22: triggers.drop.after: the key "sink" is missing`},
		"quiet and complete":   {"{source: in, after: {pipeline: y, sink: out}, quiet: 1s, " + full + "}", `x.yaml:11:62: triggers.drop.quiet: what a run published is complete: delete quiet, or after`},
		"a bad name":           {"{source: in, " + full + "}\n  a b: {source: more, " + full + "}", `x.yaml:12:3: triggers["a b"]: "a b" is not a name: use a to z, 0 to 9, _ and -, at most 63 characters, a letter or digit first`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pipeline.Load("x.yaml", []byte(document+c.trigger+"\n"), pipeline.Environment{Params: map[string]string{"n": "1", "day": "2026-11-21"}})
			require.EqualError(t, err, c.want)
		})
	}
}

func TestProblemsOfHTTPTriggers(t *testing.T) {
	const document = "name: x\nsources:\n  in: {csv: {path: \"in/*.csv\"}}\n  posts: {webhook: {RECORDS}}\nsinks: {out: {csv: {path: out.csv}}}\ntriggers:\n  calls: "
	for name, c := range map[string]struct{ records, trigger, want string }{
		"a file":               {"", `{source: in, http: {verify: none}}`, `triggers.calls.source: the source "in" does not read what is posted: make it a webhook source, or delete http`},
		"after a pipeline":     {"", `{source: posts, after: {pipeline: y, sink: out}, http: {verify: none}}`, `triggers.calls.after: what other services post comes from no pipeline: delete after, or http`},
		"no http":              {"", `{source: posts}`, `triggers.calls.source: the source "posts" reads what other services post: add http: {verify: standard, secret: "${secret:NAME}"} to its trigger`},
		"no secret":            {"", `{source: posts, http: {verify: github}}`, `triggers.calls.http: nobody could tell who posts: add secret: "${secret:NAME}"`},
		"the secret itself":    {"", `{source: posts, http: {verify: github, secret: hunter2}}`, `triggers.calls.http.secret: the document is recorded, and a secret must not be: write ${secret:NAME}`},
		"more than a secret":   {"", `{source: posts, http: {verify: github, secret: "whsec_${secret:A}"}}`, `triggers.calls.http.secret: the document is recorded, and a secret must not be: write ${secret:NAME}`},
		"a variable":           {"", `{source: posts, http: {verify: github, secret: "${A}"}}`, `triggers.calls.http.secret: the document is recorded, and a secret must not be: write ${secret:NAME}`},
		"one secret twice":     {"", `{source: posts, http: {verify: github, secret: "${secret:A}", previous: "${secret:A}"}}`, `triggers.calls.http.previous: is the secret itself: name the one that it replaces, or delete the key`},
		"a secret for nothing": {"", `{source: posts, http: {verify: none, secret: "${secret:A}"}}`, `triggers.calls.http: verify: none looks at no signature: delete the secret, or say how deliveries are signed`},
		"another way":          {"", `{source: posts, http: {verify: md5}}`, `triggers.calls.http.verify: "md5" is not one of standard, github, stripe, hmac, none`},
		"no description":       {"", `{source: posts, http: {verify: hmac, secret: "${secret:A}"}}`, `triggers.calls.http: verify: hmac needs to know where the signature is: add hmac: {header: X-Signature}`},
		"a description":        {"", `{source: posts, http: {verify: github, secret: "${secret:A}", hmac: {header: X}}}`, `triggers.calls.http.hmac: belongs to verify: hmac: delete one of the two`},
		"no header":            {"", `{source: posts, http: {verify: hmac, secret: "${secret:A}", hmac: {header: "X Y"}}}`, `triggers.calls.http.hmac.header: "X Y" is not the name of a header`},
		"no time is signed":    {"", `{source: posts, http: {verify: github, secret: "${secret:A}", tolerance: 1m}}`, `triggers.calls.http.tolerance: belongs to signatures that cover a time, which those of verify: github do not: delete it`},
		"quiet":                {"", `{source: posts, quiet: 1s, http: {verify: none}}`, `triggers.calls.quiet: belongs to triggers of files: what is posted is complete, and does not change; delete it`},
		"an empty key":         {"records: data..x", `{source: posts, http: {verify: none}}`, `sources.posts.webhook.records: has an empty key: write the keys with one dot between them, as in data.items`},
		"an id for ever": {"", `{source: posts, http: {verify: hmac, secret: "${secret:A}", hmac: {header: ` +
			`X-Sig, id: X-Id}}}`, `triggers.calls.http: the signature covers no id and no time: who gets hold of a ` +
			`delivery could send it again for ever, under another X-Id. Add window: 24h`},
		"no header of an id": {"", `{source: posts, http: {verify: hmac, secret: "${secret:A}", window: 1h, ` +
			`hmac: {header: X-Sig, id: "X Y"}}}`, `triggers.calls.http.hmac.id: "X Y" is not the name of a header`},
		"a window of no id": {"", `{source: posts, http: {verify: hmac, secret: "${secret:A}", window: 1h, ` +
			`hmac: {header: X-Sig}}}`, `triggers.calls.http.window: belongs to an id that the signature does not ` +
			`cover`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pipeline.Load("x.yaml", []byte(strings.Replace(document, "RECORDS", c.records, 1)+c.trigger+"\n"), pipeline.Environment{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTriggersAreReadWithoutTheRest(t *testing.T) {
	table, err := pipeline.LoadTimetable("full.yaml", readFull(t))
	require.NoError(t, err)
	require.Len(t, table.Triggers, 4)
	require.Equal(t, &pipeline.Upstream{Pipeline: "nest-counts", Sink: "review"}, table.Triggers[1].Value.After)
	require.Equal(t, pipeline.Batching{Files: 100, Wait: table.Triggers[0].Value.Batch.Wait}, table.Triggers[0].Value.Batch)
}
