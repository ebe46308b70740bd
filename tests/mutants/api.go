package main

const apiTest = "^TestAPI$"

const pagesTest = "^TestPages$"

const (
	crawlTest  = "^TestCrawl$"
	voicesTest = "^TestVoicesAgree$"
)

// doors has mutants of the HTTP API.
var doors = []mutant{
	{
		name: "a text is written as it is", never: "a row of a file does in the browser of an auditor what its author wants",
		file: "serve/ui/shown.go", old: "b.WriteString(template.HTMLEscapeString(string(r)))", new: "b.WriteString(string(r))",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name:  "the page of a row says that it was computed again, whatever became of its record",
		never: "an auditor takes a row that was forgotten for one that was compared",
		file:  "serve/ui/pages/journey.html", old: `(ne (print .Source.State) "stored")}}<span`, new: `false}}<span`,
		pkg: "./serve/ui", run: "^TestJourneyOfALostRecord$",
	},
	{
		name: "what turns a text around has no name", never: "an auditor reads another text than is in the row",
		file: "serve/ui/shown.go", old: "name = invisible(r)", new: "name = \"\"",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "what a target refused late is shown among the rows that it holds", never: "a page says that 3 rows arrived, and behind the number are 4",
		file: "client/rows.go", old: "if filter.Sink != \"\" && !ended.InSink {", new: "if false {",
		pkg: "./tests/pages", run: crawlTest, tier: night,
	},
	{
		name: "a page leaves out rows that were made", never: "the page of a run has other counts than the commands and SQL",
		file: "serve/ui/bodies.go", old: "return a.In + a.Created }", new: "return a.In }",
		pkg: "./tests/pages", run: voicesTest, tier: night,
	},
	{
		name: "pages take the token of a request", never: "what a browser was made to send is obeyed in the name of a program",
		file: "serve/api/signin.go", old: "if !c.route.page() {", new: "if !c.route.page() || c.Header.Get(\"Authorization\") != \"\" {",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "a form that was refused begins later", never: "a run begins that nobody wants any more",
		file: "serve/api/pages_deployed.go", old: "ui.Form{Run: client.NewRunID(), Params", new: "ui.Form{Run: asked.Run, Params",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "a retry with a version writes over outputs", never: "the rows that were delivered are replaced by the ones that were refused",
		file: "client/retry.go", old: "SlotOf{})\n\t\tif err == nil {\n\t\t\terr = doc.compile(s.Planner, beside)", new: "SlotOf{})\n\t\tif err == nil {\n\t\t\terr = doc.compile(s.Planner, \"\")",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "an older schema is taken as it is", never: "a landscape whose schema must be migrated first is opened, and nothing can be recorded in it",
		file: "landscape/sqlitestore/store.go", old: "err == nil && version == chain.Version() {", new: "err == nil {",
		pkg: "./landscape/sqlitestore", run: "^TestALaterVersion$",
	},
	{
		name: "a session outlives its token", never: "who left the house goes on looking",
		file: "client/access.go", old: "return token, same && token.Valid(c.log.Now().Time()), nil", new: "return token, same, nil",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "one is sent anywhere after signing in", never: "a stranger's page asks for the token again, and looks like ours",
		file: "serve/api/session.go", old: "return elsewhere(ours(c.PostForm.Get(\"to\"))), nil", new: "return elsewhere(c.PostForm.Get(\"to\")), nil",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "anybody sees the values of refused rows", never: "a viewer reads what only an auditor may",
		file: "serve/api/pages_errors.go", old: "if !body.Offer {", new: "if false {",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "a run is cancelled for ever by one click", never: "work of a night is thrown away by mistake",
		file: "serve/api/forms.go", old: "if c.PostFormValue(\"confirm\") != run.Pipeline {", new: "if false {",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "lists are shared by all who ask", never: "who may see one pipeline sees the runs of all",
		file: "serve/api/answers.go", old: "sight := c.token.Roles + c.token.Pipelines", new: `sight := ""`,
		pkg: "./serve/api", run: "^TestAnswersAreSharedByWhoSeesTheSame$",
	},
	{
		name: "an order leaves answers as they are", never: "who paused a run sees it running",
		file: "serve/api/server.go", old: "defer c.server.answers.orders.Add(1)",
		new: "_ = c.server.answers.orders.Load()",
		pkg: "./serve/api", run: "^TestAnswersAreSharedByWhoSeesTheSame$",
	},
	{
		name: "what Temporal does not answer is no", never: "a run that is executed is shown as abandoned",
		file: "client/local/attendance.go", old: "if !isDone(v.done) || v.err != nil {", new: "if !isDone(v.done) {",
		pkg: "./client/local", run: "^TestAttendanceOutlastsWhoAsks$",
	},
	{
		name: "what Temporal said once counts for ever", never: "a run is shown as executed while Temporal is silent",
		file: "client/local/attendance.go", old: " || time.Since(a.known.began) > listGood {", new: " {",
		pkg: "./client/local", run: "^TestAttendanceTellsTheTruthWhileTemporalIsSilent$",
	},
	{
		name: "roles are not asked for", never: "a viewer cancels runs, and reads values",
		file: "serve/api/server.go", old: "if !token.Has(allowed[s]...) {", new: "if false {",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "a revoked token counts", never: "who left the house still starts runs",
		file: "landscape/access.go", old: "t.Action != RevokeAccess && ", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Access$",
	},
	{
		name: "the secret of a token is not compared", never: "who knows an id, which logs have, acts as somebody else",
		file: "client/access.go", old: "return token, same && token.Valid(c.log.Now().Time()), nil", new: "_ = same\n\treturn token, token.Valid(c.log.Now().Time()), nil",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "patterns of pipelines are not looked at", never: "a service of one team sees the runs of another",
		file: "serve/api/runs.go", old: "return c.token.Sees(pipeline) && ", new: "return ",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "values are shown before that is recorded", never: "somebody looks at a person's row, and nobody knows",
		file: "serve/api/server.go", old: `return problem(http.StatusServiceUnavailable, notDisclosed,`, new: `_ = problem(http.StatusServiceUnavailable, notDisclosed,`,
		pkg: "./serve/api", run: "^TestNothingIsShownUnrecorded$",
	},
	{
		name: "messages of groups quote values", never: "a viewer reads what only an auditor may",
		file: "serve/api/look.go", old: "groups[i].Message, groups[i].Values = landscape.WithoutValues(groups[i].Message), nil", new: "",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "a key is good for any parameters", never: "a service believes that its second order ran",
		file: "serve/api/runs.go", old: "if !same {", new: "if false {",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "pages of other sites may use the API", never: "a page that somebody opens cancels runs",
		file: "serve/api/server.go", old: "case s.crossSite.Check(r) != nil:", new: "case false:",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "any host is this machine", never: "a page whose name was given the address of this machine reads what the API shows",
		file: "serve/api/server.go", old: "case s.Private && !loopback(r.Host) && !isDelivery(r.URL.Path):", new: "case false:",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "a member that is there twice is taken", never: "a proxy checks one value, and the API takes the other",
		file: "serve/api/decode.go", old: "if seen[name] {", new: "if false {",
		pkg: "./tests/serve", run: apiTest,
	},
	{
		name: "a place is good for any list", never: "a page leaves items out",
		file: "serve/api/cursor.go", old: "!hmac.Equal(raw[:macBytes], c.mac(place))", new: "false",
		pkg: "./serve/api", run: "^TestCursors$",
	},
	{
		name: "a link to sign in works again and again", never: "who reads the terminal's history acts as who began the server",
		file: "serve/api/session.go", old: "if fits && take {", new: "if false {",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "who may not see values may guess records", never: "a viewer learns what a cell says by asking for each value that it may have",
		file: "serve/api/look.go", old: "Guess: c.token.Has(allowed[read]...),", new: "Guess: true,",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "a form that was sent before leads to the run that it began", never: "somebody goes back, writes another parameter, and believes that the second run has it",
		file: "serve/api/pages_deployed.go", old: "if _, other := c.before(asked); other != nil {", new: "if false {",
		pkg: "./tests/pages", run: pagesTest,
	},
	{
		name: "the next page of compared rows begins with the last row again", never: "a row is there twice, or a list has no end",
		file: "audit/compare/rows.go", old: "first = after.Row + 1", new: "first = after.Row",
		pkg: "./audit", run: "^TestCompare$",
	},
	{
		name: "rows that ended elsewhere are listed among those that ended alike", never: "the rows behind a number are others than it counts",
		file: "audit/compare/rows.go", old: "differs = differs && !flipped", new: "_ = flipped",
		pkg: "./audit", run: "^TestCompare$",
	},
	{
		name: "compare takes outputs that differ for the same", never: "a changed aggregate is said to make the same",
		file: "audit/compare/compare.go", old: "return c.Flipped+c.Changed == 0 && !only && !other", new: "return c.Flipped+c.Changed == 0 && !only && (other || !other)",
		pkg: "./audit", run: "^TestCompare$",
	},
}
