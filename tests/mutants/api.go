package main

const apiTest = "^TestAPI$"

// doors has mutants of the HTTP API.
var doors = []mutant{
	{
		name: "roles are not asked for", never: "a viewer cancels runs, and reads values",
		file: "api/server.go", old: "if !token.Has(allowed[c.route.scope]...) {", new: "if false {",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "a revoked token counts", never: "who left the house still starts runs",
		file: "landscape/access.go", old: "t.Action != RevokeAccess && ", new: "",
		pkg: "./landscape/memdriver", run: "^TestDriver$/^Access$",
	},
	{
		name: "the secret of a token is not compared", never: "who knows an id, which logs have, acts as somebody else",
		file: "client/access.go", old: "return token, same && token.Valid(time.Now()), nil", new: "_ = same\n\treturn token, token.Valid(time.Now()), nil",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "patterns of pipelines are not looked at", never: "a service of one team sees the runs of another",
		file: "api/runs.go", old: "return c.token.Sees(pipeline) && ", new: "return ",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "values are shown before that is recorded", never: "somebody looks at a person's row, and nobody knows",
		file: "api/server.go", old: `return problem(http.StatusServiceUnavailable, notDisclosed,`, new: `_ = problem(http.StatusServiceUnavailable, notDisclosed,`,
		pkg: "./api", run: "^TestNothingIsShownUnrecorded$",
	},
	{
		name: "messages of groups quote values", never: "a viewer reads what only an auditor may",
		file: "api/look.go", old: "groups[i].Message = landscape.WithoutValues(groups[i].Message)", new: "",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "a key is good for any parameters", never: "a service believes that its second order ran",
		file: "api/runs.go", old: "if !same || len(params) < len(asked.Params) {", new: "if false {",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "pages of other sites may use the API", never: "a page that somebody opens cancels runs",
		file: "api/server.go", old: "case s.crossSite.Check(r) != nil:", new: "case false:",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "any host is this machine", never: "a page whose name was given the address of this machine reads what the API shows",
		file: "api/server.go", old: "case s.Private && !loopback(r.Host):", new: "case false:",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "a member that is there twice is taken", never: "a proxy checks one value, and the API takes the other",
		file: "api/decode.go", old: "if seen[name] {", new: "if false {",
		pkg: "./tests", run: apiTest,
	},
	{
		name: "a place is good for any list", never: "a page leaves items out",
		file: "api/cursor.go", old: "!hmac.Equal(raw[:macBytes], c.mac(string(raw[macBytes:])))", new: "false",
		pkg: "./api", run: "^TestCursors$",
	},
}
