package api

import (
	"net/http"
	"slices"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
)

// table returns the routes. What is not here does not exist.
func table() []route {
	return []route{
		{
			method: http.MethodGet, path: "/v1/whoami", scope: anybody, about: "Who the access token is for, and what it may",
			answer: client.Access{}, status: http.StatusOK, handle: whoami,
		},
		{
			method: http.MethodGet, path: "/v1/runs", scope: own, about: "The runs, the newest first",
			query:  ofRuns,
			answer: remote.Page[client.Run]{}, status: http.StatusOK, handle: listRuns,
		},
		{
			method: http.MethodPost, path: "/v1/runs", scope: start, about: "Start a run of a pipeline; with Prefer: wait=SECONDS, wait for its end",
			query: ofLines, also: lines, most: mostRowsBody,
			body: remote.StartRequest{}, answer: client.RunReport{}, status: http.StatusAccepted, handle: startRun,
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}", scope: own, about: "How a run is, with the counts of its nodes and sinks",
			answer: client.RunReport{}, status: http.StatusOK, handle: getRun,
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/follow", scope: own, about: "How far a run is, as server-sent events, until it has ended",
			stream: "text/event-stream", status: http.StatusOK, handle: followRun,
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/starts", scope: own, about: "Who asked for the run, and what became of that",
			answer: remote.Page[client.Start]{}, status: http.StatusOK, handle: startsOfRun,
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/edges", scope: own, about: "The edges of the run's graph, and how many rows took each",
			answer: remote.Page[client.Edge]{}, status: http.StatusOK, handle: withRun(edgesOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/rows", scope: own, about: "The rows that came to a node, took an edge, or are in a sink: their ids and ways, without values",
			query:  ofRows,
			answer: remote.Page[client.Row]{}, status: http.StatusOK, handle: withRun(rowsOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/errors", scope: own, about: "Why rows were refused, in groups, without values",
			answer: remote.Page[client.ErrorGroup]{}, status: http.StatusOK, handle: withRun(errorsOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/errors/rows", scope: read, about: "Why rows were refused, one by one, with the values that messages quote",
			query: list, answer: remote.Page[client.RowError]{}, status: http.StatusOK, handle: withRun(rowErrorsOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/what-if", scope: read,
			about: "What another version of its pipeline would have done with the rows of a complete run; " +
				"nothing is written",
			query:  []param{{name: "version", about: "the number of the version", number: true}},
			answer: audit.Trial{}, status: http.StatusOK, handle: withRun(whatIf),
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/what-if", scope: deploy, and: read,
			about: "What another document, in the place of the run's own, would have done with the rows of a " +
				"complete run; nothing is written",
			body: remote.WhatIfRequest{}, answer: audit.Trial{}, status: http.StatusOK, handle: withRun(whatIfDocument),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/timeline", scope: own, about: "Where the time of a run went: when rows passed, what each worker did, which chunks took long",
			answer: client.Timeline{}, status: http.StatusOK, handle: withRun(timeline),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/past", scope: own, about: "How a run stood at a moment: its counts, edges, sinks and barriers, from what the record had then",
			query:  ofPast,
			answer: client.Past{}, status: http.StatusOK, handle: withRun(pastOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/compare", scope: look, about: "How a complete run differs from an earlier one: which rows ended elsewhere, and at which node the two went apart first",
			query:  ofComparison,
			answer: client.Comparison{}, status: http.StatusOK, handle: withRun(compareRuns),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/compare/rows", scope: look, about: "The rows that a complete run treated otherwise than an earlier one, or those that ended so and so in both",
			query:  ofComparedRows,
			answer: remote.Page[compare.PairedRow]{}, status: http.StatusOK, handle: withRun(comparedRows),
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/retry", scope: order, about: "Retry the rows in quarantine with the document that refused them, or with another version, in a new, linked run",
			body: remote.RetryRequest{}, answer: client.Retry{}, status: http.StatusAccepted, handle: withRun(retry),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/explain", scope: read, about: "What happened to one row, and why, with its values",
			query:  question,
			answer: audit.Explanation{}, status: http.StatusOK, handle: withRun(explain),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/why-not", scope: read, about: "What kept a row, and all that came of it, out of a sink",
			query:  ofWhyNot,
			answer: audit.Denial{}, status: http.StatusOK, handle: withRun(whyNot),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/effects", scope: own, about: "The completion record of each part of each output",
			query: list, answer: remote.Page[client.Effect]{}, status: http.StatusOK, handle: withRun(effectsOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/events", scope: read, about: "What happened in the run, from its start to its end, one event on each line, with the SHA-256 of the line before: as waymark events prints it",
			stream: "application/x-ndjson", status: http.StatusOK, handle: withRun(eventsOf),
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/verification", scope: read, about: "Begin to compute everything again that is recorded of a run, and to compare",
			answer: remote.Verification{}, status: http.StatusAccepted, handle: withRun(verifyRun),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/verification", scope: read, about: "How far the last verification of a run is, or what it found; a server keeps that until it ends",
			answer: remote.Verification{}, status: http.StatusOK, handle: withRun(verificationOf),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/bundle", scope: read, about: "The bundle of evidence about a run that has ended, as waymark export writes it; also in ranges",
			query:  ofBundle,
			stream: "application/zip", status: http.StatusOK, handle: withRun(sendBundle),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/proof", scope: read,
			about: "The proof of one row, as waymark prove writes it: hashes of the row, from which who can guess " +
				"it learns it",
			query:  ofProof,
			stream: "application/json", status: http.StatusOK, handle: withRun(sendProof),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/report", scope: read,
			about:  "What a run read, made and refused, who and what decided, with its proof, as one file in HTML, as waymark export --as report writes it",
			stream: "text/html", status: http.StatusOK, handle: withRun(sendReport),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/dossier", scope: read, about: "What happened to a row, with its values and its proof, as one file in HTML, as waymark explain --dossier writes it",
			query:  question,
			stream: "text/html", status: http.StatusOK, handle: withRun(sendDossier),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/payloads/{digest}", scope: read, about: "The bytes of a payload that the run needs, if they have the digest",
			stream: "application/octet-stream", status: http.StatusOK, handle: withRun(sendPayload),
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/outputs/{sink}", scope: read, about: "The file that a sink published, if it still holds that; also in ranges",
			stream: "application/octet-stream", status: http.StatusOK, handle: withRun(output),
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/pause", scope: order, about: "Pause a run when its work in flight is finished",
			body: remote.OrderRequest{}, answer: remote.Ordered{}, status: http.StatusOK, handle: withRun(pause),
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/resume", scope: order, about: "Resume a run where it left off, or let a paused one continue",
			body: remote.ResumeRequest{}, answer: remote.Ordered{}, status: http.StatusAccepted, handle: withRun(resume),
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/cancel", scope: order, about: "Cancel a run, also one that has not begun",
			body: remote.CancelRequest{}, answer: remote.Ordered{}, status: http.StatusOK, handle: cancel,
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/resolve", scope: order, about: "Say whether a blocked effect was applied",
			body: remote.ResolveRequest{}, answer: remote.Ordered{}, status: http.StatusOK, handle: withRun(resolve),
		},
		{
			method: http.MethodGet, path: "/v1/pipelines", scope: own, about: "The deployed pipelines",
			query:  ofDeployed,
			answer: remote.Page[client.Pipeline]{}, status: http.StatusOK, handle: pipelines,
		},
		{
			method: http.MethodPost, path: "/v1/pipelines", scope: deploy, about: "Deploy a document as a new version of its pipeline, and make it current",
			body: remote.DeployRequest{}, answer: client.Deployed{}, status: http.StatusOK, handle: deployDocument,
		},
		{
			method: http.MethodGet, path: "/v1/pipelines/{name}", scope: own, about: "A version of a pipeline: its files, who deployed it, which one is current",
			query:  ofVersion,
			answer: client.Pipeline{}, status: http.StatusOK, handle: withPipeline((*local.Home).Pipeline),
		},
		{
			method: http.MethodGet, path: "/v1/pipelines/{name}/document", scope: look, about: "The document of a version, and the parameters that it declares",
			query:  ofVersion,
			answer: client.PipelineDocument{}, status: http.StatusOK, handle: withPipeline((*local.Home).PipelineDocument),
		},
		{
			method: http.MethodGet, path: "/v1/pipelines/{name}/history", scope: look, about: "Which version became current when, by whom and why, the last first",
			query:  inEnvironment,
			answer: remote.Page[client.Redeployment]{}, status: http.StatusOK, handle: pipelineHistory,
		},
		{
			method: http.MethodGet, path: "/v1/pipelines/{name}/diff", scope: look, about: "What two versions do differently, and then in which lines",
			query:  ofVersions,
			answer: client.PipelineDiff{}, status: http.StatusOK, handle: pipelineDiff,
		},
		{
			method: http.MethodPost, path: "/v1/pipelines/{name}/promote", scope: deploy, about: "Make a version that is current in one environment the current one in another",
			body: remote.RedeployRequest{}, answer: client.Redeployed{}, status: http.StatusOK, handle: redeploy((*local.Home).Promote),
		},
		{
			method: http.MethodPost, path: "/v1/pipelines/{name}/rollback", scope: deploy, about: "Make an older version current again",
			body: remote.RedeployRequest{}, answer: client.Redeployed{}, status: http.StatusOK, handle: redeploy((*local.Home).Rollback),
		},
		{
			method: http.MethodPost, path: "/v1/pipelines/{name}/retire", scope: deploy, about: "Let no more runs of a pipeline start",
			body: remote.RedeployRequest{}, answer: client.Redeployed{}, status: http.StatusOK, handle: redeploy((*local.Home).Retire),
		},
		{
			method: http.MethodPost, path: "/v1/pipelines/{name}/restore", scope: deploy, about: "Let runs of a retired pipeline start again",
			body: remote.RedeployRequest{}, answer: client.Redeployed{}, status: http.StatusOK, handle: redeploy((*local.Home).Unretire),
		},
		{
			method: http.MethodGet, path: "/v1/schedules", scope: look, about: "The schedules of deployed pipelines",
			query:  append([]param{{name: "environment", about: "only those in it"}}, list...),
			answer: remote.Page[client.Schedule]{}, status: http.StatusOK, handle: schedules,
		},
		{
			method: http.MethodGet, path: "/v1/schedules/{environment}/{pipeline}/{schedule}", scope: look, about: "A schedule, and the result of each of its slots",
			query:  ofSlots,
			answer: client.Grid{}, status: http.StatusOK, handle: gridOf,
		},
		{
			method: http.MethodPost, path: "/v1/schedules/{environment}/{pipeline}/{schedule}/pause", scope: order,
			about: "Pause a schedule until it is resumed, or until an instant: it starts no runs",
			body:  remote.PauseScheduleRequest{}, answer: client.ScheduleOrder{}, status: http.StatusOK,
			handle: pauseSchedule,
		},
		{
			method: http.MethodPost, path: "/v1/schedules/{environment}/{pipeline}/{schedule}/resume", scope: order, about: "Let a paused schedule begin runs again, and of the slots that it missed none, the last or all",
			body: remote.ResumeScheduleRequest{}, answer: client.ScheduleResumed{}, status: http.StatusOK,
			handle: resumeSchedule,
		},
		{
			method: http.MethodPost, path: "/v1/schedules/{environment}/{pipeline}/{schedule}/run", scope: order, about: "Run a slot that has no run, or whose last one failed",
			body: remote.SlotRequest{}, answer: client.SlotsAsked{}, status: http.StatusAccepted, handle: runSlot,
		},
		{
			method: http.MethodGet, path: "/v1/triggers", scope: look, about: "The triggers of deployed pipelines, and what waits for a run at each",
			query:  []param{{name: "environment", about: "only those in it"}},
			answer: remote.Page[client.Trigger]{}, status: http.StatusOK, handle: triggers,
		},
		{
			method: http.MethodGet, path: "/v1/triggers/{environment}/{pipeline}/{trigger}", scope: look, about: "A trigger, and what waits for a run there",
			answer: client.Trigger{}, status: http.StatusOK, handle: triggerOf,
		},
		{
			method: http.MethodGet, path: "/v1/triggers/{environment}/{pipeline}/{trigger}/arrivals", scope: look, about: "What arrived at a trigger and which run took it, the last first",
			query:  ofArrivals,
			answer: remote.Page[client.Arrival]{}, status: http.StatusOK, handle: arrivals,
		},
		{
			method: http.MethodPost, path: "/v1/triggers/{environment}/{pipeline}/{trigger}/pause", scope: order, about: "Let a trigger begin no runs until somebody resumes it",
			body: remote.OrderRequest{}, answer: client.TriggerOrder{}, status: http.StatusOK, handle: orderTrigger((*local.Home).PauseTrigger),
		},
		{
			method: http.MethodPost, path: "/v1/triggers/{environment}/{pipeline}/{trigger}/resume", scope: order, about: "Let a paused trigger begin runs again, also of what arrived meanwhile",
			body: remote.OrderRequest{}, answer: client.TriggerOrder{}, status: http.StatusOK, handle: orderTrigger((*local.Home).ResumeTrigger),
		},
		{
			method: http.MethodPost, path: "/v1/triggers/{environment}/{pipeline}/{trigger}/ignore", scope: order, about: "Let what arrived at a trigger, and waits, get no run",
			body: remote.IgnoreRequest{}, answer: client.ArrivalOrder{}, status: http.StatusOK, handle: ignoreArrivals,
		},
		{
			method: http.MethodPost, path: "/v1/triggers/{environment}/{pipeline}/{trigger}/again", scope: order, about: "Let what arrived at a trigger arrive once more, so that a run reads it again",
			body: remote.AgainRequest{}, answer: client.ArrivalOrder{}, status: http.StatusOK, handle: arriveAgain,
		},
		{
			method: http.MethodGet, path: "/v1/starts", scope: look, about: "Who asked for runs, and what became of that, the last first",
			query:  ofStarts,
			answer: remote.Page[client.Start]{}, status: http.StatusOK, handle: starts,
		},
		{
			method: http.MethodGet, path: "/v1/queue", scope: look, about: "The runs that wait for places, in order",
			answer: remote.Page[client.Waiting]{}, status: http.StatusOK, handle: queue,
		},
		{
			method: http.MethodGet, path: "/v1/find", scope: look,
			about: "What a word may mean: runs, pipelines, outputs, files and documents by their digests, rows by token, line, " +
				"digest or as they were read; and in unsearched, where it was not looked for",
			query:  ofLookup,
			answer: client.LookupResult{}, status: http.StatusOK, handle: find,
		},
		{
			method: http.MethodGet, path: "/v1/events", scope: look, about: "What happened, in one order that never changes: as webhooks tell it",
			query:  []param{{name: "after", about: "only events after this position", number: true}, {name: "limit", about: "at most so many events, from 1 to 500; 50 by default", number: true}, {name: "type", about: "only events of it", many: true}},
			answer: remote.Page[client.OutboxEvent]{}, status: http.StatusOK, handle: events,
		},
		{
			method: http.MethodGet, path: "/v1/events/stream", scope: look, about: "The same as server-sent events, for ever; with Last-Event-ID it continues after a position",
			query:  []param{{name: "after", about: "only events after this position", number: true}, {name: "type", about: "only events of it", many: true}},
			stream: "text/event-stream", status: http.StatusOK, handle: streamEvents,
		},
		{
			method: http.MethodGet, path: "/v1/doctor", scope: look, about: "Whether runs can work: what waymark doctor looks at, what it found, and what cures it",
			answer: remote.Page[client.CheckText]{}, status: http.StatusOK, handle: doctor,
		},
		{
			method: http.MethodGet, path: "/v1/access", scope: admin, about: "The access tokens, without their secrets",
			answer: remote.Page[client.Access]{}, status: http.StatusOK, handle: accessTokens,
		},
		{
			method: http.MethodPost, path: "/v1/access/{token}/revoke", scope: admin, about: "Revoke an access token for ever",
			body: remote.OrderRequest{}, answer: remote.Ordered{}, status: http.StatusOK, handle: revoke,
		},
		{
			method: http.MethodGet, path: "/v1/disclosures", scope: admin, about: "Who was shown values of rows, the last first",
			query: list, answer: remote.Page[client.Disclosure]{}, status: http.StatusOK, handle: disclosures,
		},
		{
			method: http.MethodGet, path: "/openapi.json", scope: open, about: "This API, as OpenAPI 3.1 describes it",
			stream: "application/json", status: http.StatusOK, handle: openapi,
		},
		{
			method: http.MethodPost, path: deliveries + "{environment}/{pipeline}/{trigger}", scope: open, about: "Post to a trigger with http, signed as its document says: 202 when the delivery is recorded, the same receipt if it was sent before",
			media: "*/*", answer: client.Receipt{}, status: http.StatusAccepted, handle: takeDelivery,
		},
	}
}

// ofRuns, ofRows and ofStarts are the parameters of lists of these.
var (
	ofRuns   = append([]param{{name: "pipeline", about: "only runs of it", many: true}, {name: "status", about: "only runs with it", many: true}, {name: "named", about: "only the run that the word means: its id, the beginning of that, the id of the workflow that somebody started for it, or last"}}, list...)
	ofStarts = append([]param{{name: "state", about: "only starts in it", values: []string{"accepted", "waiting", "begun", "refused", "cancelled", "skipped", "superseded"}}}, list...)
	ofRows   = append([]param{{name: "node", about: "only rows that came to it"}, {name: "edge", about: "only rows that took it; ::PATH for all that ended so"}, {name: "sink", about: "only rows that its target confirmed and holds"}, asOf}, list...)
)

// ofArrivals are the parameters of a list of arrivals.
var ofArrivals = append([]param{{name: "state", about: "only arrivals in it", values: []string{"ready", "taken", "done", "ignored", "gone"}}}, list...)

// ofLines are the parameters of a start whose body are the rows of a source.
var ofLines = []param{
	{name: "pipeline", about: "NAME or NAME@VERSION; this and the others only with a body of " + lines},
	{name: "source", about: "the source that reads the body"}, {name: "environment", about: "in which the pipeline is deployed"},
	{name: "param", about: "NAME=VALUE of a parameter of the pipeline", many: true}, {name: "why", about: "why the run is started"},
}

// ofBundle and ofProof are the parameters of what others can verify.
var (
	ofBundle = []param{
		{name: "payloads", about: "which payloads are in it; none if it is left out", values: []string{"none", "refused", "source", "all"}},
		{name: "artifacts", about: "with the outputs, as they were published", values: []string{"true"}},
		{name: "redact", about: "SOURCE or SOURCE.FIELD whose values are left out", many: true},
	}
	ofProof = []param{{name: "row", about: "its number in the source, from 1", number: true}, {name: "source", about: "the source, if the run has several; or a barrier"}}
)

// asOf is the moment of which a question is, and ofPast the parameters of a question that is of nothing else.
var (
	asOf   = param{name: "at", about: "as it stood so many microseconds after the run began; now if it is left out", number: true}
	ofPast = []param{asOf}
)

// ofLookup are the parameters of a search.
var ofLookup = []param{{name: "q", about: "what is looked for"}, {name: "run", about: "only in this run"}}

// ofComparison and ofComparedRows are the parameters of a comparison, and of lists of the rows that it counts.
var (
	ofComparison   = []param{{name: "with", about: "the earlier run; the one before this, of the same pipeline, if it is left out"}}
	ofComparedRows = slices.Concat(ofComparison, []param{
		{name: "from", about: "only rows that ended there in the earlier run, as ends says it"}, {name: "to", about: "only rows that ended there in this run"},
		{name: "node", about: "only rows that went apart first at this node"},
		{name: "kind", about: "flipped: that ended elsewhere; refused: of these, those that passed before; changed: that ended alike and had other values on the way", values: []string{"flipped", "refused", "changed"}},
	}, list)
)

// inEnvironment, ofDeployed, ofVersion, ofVersions and ofSlots are the parameters of what is deployed.
var (
	inEnvironment = []param{{name: "environment", about: "in which it is deployed; the default one if it is left out"}}
	ofDeployed    = slices.Concat(inEnvironment, list)
	ofVersion     = append([]param{{name: "version", about: "its number; the current one if it is left out", number: true}}, inEnvironment...)
	ofVersions    = append([]param{
		{name: "from", about: "the number of the older one; the current one if it is left out", number: true},
		{name: "to", about: "the number of the newer one; the current one if it is left out", number: true},
	}, inEnvironment...)
	ofSlots = []param{
		{name: "from", about: "the first slot, or a date; the last 31 if it is left out"},
		{name: "to", about: "the last slot, or a date; the last one that was due, skipped or run if it is left out"},
	}
)

// question are the parameters by which one row is asked for.
var question = []param{
	{name: "token", about: "id of the row's token, such as orders:17"}, {name: "source", about: "of row and key, if the run has several"},
	{name: "row", about: "its number in the source, from 1", number: true}, {name: "key", about: "FIELD=VALUE of its business key", many: true},
	{name: "sink", about: "with line: a row of its output"}, {name: "line", about: "its number in the output, from 1, without a header", number: true},
}

// ofWhyNot are the parameters of why a row is not in a sink.
var ofWhyNot = append([]param{{name: "not_in", about: "the sink that the row is not in"}}, question...)

// Needs returns what each route asks of its callers, by METHOD PATH: one role of each set; nil for a route that asks
// for no access token.
func Needs() map[string][][]landscape.Role { return needsOf(table()) }

func needsOf(routes []route) map[string][][]landscape.Role {
	needs := map[string][][]landscape.Role{}
	for i := range routes {
		needs[routes[i].method+" "+routes[i].path] = routes[i].needs()
	}
	return needs
}
