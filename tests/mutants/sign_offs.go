package main

// signOffs is mutants of what lets a person's signature count, under runs and under approval requests.
var signOffs = []mutant{
	{
		name: "a sign-off counts for any run", never: "a signature of one run is put beside another",
		file: "landscape/persons/sign_off.go", old: "case v.Run != record.Run:", new: "case false:",
		pkg: "./landscape/persons", run: "^TestSignOffAttacks$",
	},
	{
		name: "a key that has expired signs off runs", never: "who left, or stole a key, signs",
		file: "landscape/persons/sign_off.go", old: "return a.Allows(namespace, at)\n}\n", new: "return nil\n}\n",
		pkg: "./landscape/persons", run: "^TestSignOffAttacks$",
	},
	{
		name: "sign-offs are not compared with the log", never: "one that was removed is missed by nobody",
		file: "audit/evidence/check.go", old: "c.attestations, c.signOffs,", new: "c.attestations,",
		pkg: "./audit/evidence", run: "^TestEntriesOfSignOffs$",
	},
	{
		name: "who proposes an approval request approves it", never: "one person purges alone, with the word of nobody",
		file: "landscape/persons/case.go", old: "case other.Person == s.Person && sameKey(other.Key, s.Key):", new: "case false:",
		pkg: "./landscape/persons", run: "^TestFourEyes$",
	},
	{
		name: "an approval request is executed in any state", never: "what nobody approved is purged",
		file: "landscape/persons/case.go", old: "if was, is := s.State[name], now[name]; was != is {", new: "if was, is := s.State[name], now[name]; false {",
		pkg: "./landscape/persons", run: "^TestFourEyes$",
	},
	{
		name: "an approval request never expires", never: "an approval of last year is used today",
		file: "landscape/persons/case.go", old: "if !j.Now.Before(o.Expires.Time()) {", new: "if false {",
		pkg: "./landscape/persons", run: "^TestFourEyes$",
	},
	{
		name:  "a key counts at once under an approval request",
		never: "who can add a line to the approvers file is two persons",
		file:  "landscape/persons/case.go", old: "case s.At.Before(since.Add(MinAge)) && !since.IsZero():", new: "case false:",
		pkg: "./landscape/persons", run: "^TestFourEyes$",
	},
	{
		name: "an approval request is executed twice", never: "one approval purges again and again",
		file: "landscape/order.go", old: "\ttx.Insert = append(tx.Insert, x)\n\treturn errors.Join(err, l.noted(tx, x))", new: "\treturn err",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Orders$",
	},
	{
		name:  "an approval request that was killed cannot be continued",
		never: "what two persons ordered is half done for ever, or needs two persons once more",
		file:  "audit/retain/purge.go", old: "if order.ID == 0 {", new: "if true {",
		pkg: "./audit/retain", run: "^TestAnExecutedOrderIsContinued$",
	},
	{
		name: "fewer persons than signed execute an approval request", never: "the rule is what the caller says",
		file: "landscape/order.go", old: "if err == nil && (x.Persons > int64(1+len(signed)) ||", new: "if err == nil && (x.Persons > int64(100+len(signed)) ||",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Orders$",
	},
	{
		name: "one person cancels a run for good, whatever the rule says", never: "what several persons wanted to be resumed is lost, with what it staged",
		file: "landscape/run_status.go", old: "return l.MayOrder(ctx, OrderCancel)", new: "return nil",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Orders$",
	},
	{
		name:  "approval requests in a bundle are not compared with the log",
		never: "who exports a run leaves out who approved what was done to it",
		file:  "audit/evidence/bundle/verify_order.go", old: "return v.ordersAreLogged(all)", new: "return nil",
		pkg: "./audit/evidence/bundle", run: "^TestOrders$",
	},
	{
		name: "signatures under orders in a bundle are not verified", never: "who exports a run makes up who approved what was done to it",
		file: "audit/evidence/bundle/verify_order.go", old: "for _, o := range v.Orders {", new: "for _, o := range v.Orders[:0] {",
		pkg: "./audit/evidence/bundle", run: "^TestOrders$",
	},
	{
		name: "an execution does not need as many signatures as it says", never: "approvals are taken out of the record, or were never there",
		file: "landscape/persons/look_order.go", old: "signed < x.Persons && s.Problem", new: "signed < 1 && s.Problem",
		pkg: "./landscape/persons", run: "^TestLookAtOrders$",
	},
	{
		name: "the approvers file says nothing of who signed an order", never: "a line beside a signature makes anybody an approver",
		file: "landscape/persons/look_order.go", old: "err != nil || approvers == nil {", new: "true {",
		pkg: "./landscape/persons", run: "^TestLookAtOrders$",
	},
	{
		name:  "approval requests are not compared with the log",
		never: "an order that was made up, or removed, is missed by nobody",
		file:  "audit/evidence/check.go", old: "c.archives, c.orders, c.runs,", new: "c.archives, c.runs,",
		pkg: "./audit/evidence", run: "^TestEntriesOfOrders$",
	},
	{
		name: "log check does not verify the signatures under orders", never: "who has a sealer's key makes up who approved a purge",
		file: "client/local/log.go", old: "err = report.VerifyOrders(ctx, h.stores.Log.Reader, approvers)", new: "_ = approvers",
		pkg: "./cmd/waymark", run: "^TestScripts$/^orders$", tier: night,
	},
	{
		name: "an order about a run that is removed is not missed", never: "who removes an order with its approvals hides who had a policy waived",
		file: "audit/evidence/missing.go", old: "wrong == nil && s.Run == run {", new: "wrong == nil && s.Run == \"\" {",
		pkg: "./cmd/waymark", run: "^TestScripts$/^orders$", tier: night,
	},
	{
		name: "a sign-off that is removed is not missed in exports", never: "who removes the last sign-off, which rejected the run, gives away a bundle that verifies",
		file: "audit/evidence/sealed.go", old: "\t\tcase m.Restored:\n", new: "\t\tcase m.Restored, m.Type != Sealed:\n",
		pkg: "./audit/evidence", run: "^TestWhatARestoreLoses$",
	},
	{
		name: "what a restored backup does not have is not named", never: "who does not like what people signed restores a backup, and all agrees",
		file: "audit/evidence/check_records.go", old: "\t\tcase m.Restored:\n\t\t\tc.Warnings = append(", new: "\t\tcase m.Restored:\n\t\t\t_ = append(",
		pkg: "./audit/evidence", run: "^TestWhatARestoreLoses$",
	},
	{
		name: "orders to forget are not compared with the log", never: "who removes an order has the person back, and nobody knows that there was one",
		file: "audit/evidence/check.go", old: "c.forgettings, c.archives,", new: "c.archives,",
		pkg: "./audit/evidence", run: "^TestWhatARestoreLoses$",
	},
	{
		name: "what readers do not see may be signed", never: "a meaning reads otherwise than it was signed",
		file: "landscape/persons/sign_off.go", old: "if i := strings.IndexFunc(s.Meaning, unseen); i >= 0 {", new: "if i := strings.IndexFunc(s.Meaning, unseen); i > len(s.Meaning) {",
		pkg: "./landscape/persons", run: "^TestNewStatement$",
	},
	{
		name: "a sign-off that nobody vouches for looks like any other", never: "who records runs signs them as the chief",
		file: "landscape/persons/look.go", old: "	one.OwnWord = approvers == nil\n", new: "",
		pkg: "./audit/evidence/bundle", run: "^TestSignOffs$",
	},
	{
		name: "a sign-off counts from before the rows were there", never: "who signed an attempt that failed has released what the next one wrote",
		file: "activities/recompute/sign_offs.go", old: "case sealed < staged:", new: "case sealed < -staged:",
		pkg: "./cmd/waymark", run: "^TestScripts$/^release$", tier: night,
	},
	{
		name: "one person signs off a run in two roles", never: "two persons are required, and one releases alone",
		file: "activities/recompute/sign_offs.go", old: "case s.as[one.Person] != one.Role:", new: "case false:",
		pkg: "./cmd/waymark", run: "^TestScripts$/^release$", tier: night,
	},
	{
		name: "a sign-off that does not hold lets a run publish", never: "who may write the record makes up the signature that is missing",
		file: "activities/recompute/sign_offs.go", old: `if one.Problem != "" {`, new: `if one.Problem == "-" {`,
		pkg: "./cmd/waymark", run: "^TestScripts$/^release$", tier: night,
	},
	{
		name: "verify counts the sign-offs of today", never: "a run that waited for people never verifies",
		file: "activities/recompute/sign_offs.go", old: "case sealed >= epoch:", new: "case sealed < 0:",
		pkg: "./cmd/waymark", run: "^TestScripts$/^release$", tier: night,
	},
}
