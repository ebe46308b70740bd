package main

// issuerPkg has their tests.
const issuerPkg = "./serve/oidc"

// issuers has mutants of who is known by tokens of an issuer.
var issuers = []mutant{
	{
		name: "tokens of the issuer for others count", never: "a token that somebody got for a mail program opens the record",
		file: "serve/oidc/issuer.go", old: "ClientID: audience, SupportedSigningAlgs", new: "SkipClientIDCheck: audience != \"\", SupportedSigningAlgs",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "the name of the issuer does not matter", never: "a token says that it is of another issuer, whose subjects are other people",
		file: "serve/oidc/issuer.go", old: "SupportedSigningAlgs: algorithms,", new: "SupportedSigningAlgs: algorithms, SkipIssuerCheck: true,",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "tokens of the issuer never expire", never: "a token in an old log opens the record for ever",
		file: "serve/oidc/issuer.go", old: "SupportedSigningAlgs: algorithms,", new: "SupportedSigningAlgs: algorithms, SkipExpiryCheck: true,",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "a token of the issuer counts before its time", never: "a token that was made for next week opens the record today",
		file: "serve/oidc/issuer.go", old: "time.Unix(int64(from), 0).After(i.now().Add(skew))", new: "false && from > 0",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "a signature with a shared secret is taken", never: "who reads the public key of the issuer is whoever he says",
		file: "serve/oidc/issuer.go", old: "oidc.ES512, oidc.EdDSA,", new: "oidc.ES512, oidc.EdDSA, \"HS256\", \"none\",",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "signatures of the issuer are not checked", never: "everybody is whoever he says",
		file: "serve/oidc/issuer.go", old: "SupportedSigningAlgs: algorithms,", new: "SupportedSigningAlgs: algorithms, InsecureSkipSignatureCheck: true,",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "somebody without a subject is somebody", never: "the record says that nobody did it",
		file: "serve/oidc/issuer.go", old: "if verified.Subject == \"\" || len(caller.Subject) > mostSubject {", new: "if len(caller.Subject) > mostSubject+len(verified.Subject) {",
		pkg: issuerPkg, run: "^TestAttacks$",
	},
	{
		name: "a readable name may look like a subject", never: "the record names somebody who did not do it",
		file: "serve/oidc/issuer.go", old: "kept := []rune(notReadable.ReplaceAllString(name, \"_\"))", new: "kept := []rune(name)",
		pkg: issuerPkg, run: "^TestWhoItIs$",
	},
	{
		name: "a subject is written as it is", never: "who chooses his subject sees the runs of another service",
		file: "serve/oidc/issuer.go", old: "url.PathEscape(verified.Subject)", new: "verified.Subject",
		pkg: issuerPkg, run: "^TestWhoItIs$",
	},
	{
		name: "a role of one rule counts for the pipelines of another", never: "who may repair one pipeline gives orders to all that he may see",
		file: "serve/oidc/rule.go", old: " || reasons != nil && !slices.Equal(pipelines, rule.Pipelines)", new: "",
		pkg: issuerPkg, run: "^TestRoles$",
	},
	{
		name: "strangers make the server ask the issuer", never: "made-up keys make every server a flood for the issuer",
		file: "serve/oidc/fetch.go", old: "found && f.now().Before(known.until)", new: "found && f.now().Before(known.until) && false",
		pkg: issuerPkg, run: "^TestKeysAreRotated$",
	},
	{
		name: "keys are taken in the open", never: "who is on the way sends keys of his own",
		file: "serve/oidc/fetch.go", old: "if !confidential(r.URL) {", new: "if false {",
		pkg: issuerPkg, run: "^TestNothingIsAskedInTheOpen$",
	},
	{
		name: "whom no rule is about comes in", never: "everybody whom the issuer knows looks at runs",
		file: "serve/oidc/issuer.go", old: "if reasons == nil {", new: "if false {",
		pkg: issuerPkg, run: "^TestRoles$",
	},
	{
		name: "an ID token of another request is taken", never: "a token that was stolen elsewhere signs somebody in",
		file: "serve/oidc/signin.go", old: "subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(begun.Nonce)) != 1", new: "begun.Nonce == \"\"",
		pkg: issuerPkg, run: "^TestAttacksOnSignIn$",
	},
	{
		name: "a code of another sign-in is taken", never: "a code that was stolen signs the thief in as its owner",
		file: "serve/oidc/signin.go", old: "return i.oauth(redirect).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), key, err", new: "return i.oauth(redirect).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(\"\")), key, err",
		pkg: issuerPkg, run: "^TestSignIn$",
	},
	{
		name: "a sign-in that was begun counts for ever", never: "an answer of the issuer that was found later signs somebody in",
		file: "serve/oidc/signin.go", old: "case i.now().After(begun.Over):", new: "case i.now().IsZero():",
		pkg: issuerPkg, run: "^TestAttacksOnSignIn$",
	},
	{
		name: "pages take tokens that are for requests", never: "a token that a program sends signs somebody in",
		file: "serve/oidc/signin.go", old: "i.verify(ctx, sent, i.ClientID)", new: "i.verify(ctx, sent, i.Audience)",
		pkg: issuerPkg, run: "^TestSignIn$|^TestAttacksOnSignIn$",
	},
	{
		name: "one is sent anywhere after signing in at the issuer", never: "a stranger's page asks for the password again, and looks like ours",
		file: "serve/api/signin.go", old: "Begin(c.Context(), redirect, ours(c.query.Get(\"to\")))", new: "Begin(c.Context(), redirect, c.query.Get(\"to\"))",
		pkg: "./tests/pages", run: "^TestPages$/sign-in",
	},
	{
		name: "a session outlives the token of the issuer", never: "who left the house goes on looking",
		file: "serve/api/session.go", old: " || s.caller != nil && !s.caller.Valid(now)", new: "",
		pkg: "./tests/pages", run: "^TestPages$/sign-in|a_session_ends",
	},
	{
		name: "who comes back from the issuer is led on by it", never: "the browser leaves the cookie of the session out, and everybody has to sign in again and again",
		file: "serve/api/signin.go", old: "return ui.Page{Title: \"Signed in\", Body: ui.SignedIn{To: to}}, nil", new: "return elsewhere(to), nil",
		pkg: "./tests/pages", run: "^TestPages$/sign-in",
	},
}
