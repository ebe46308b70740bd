package main

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/tests/held"
)

// What holds the runs of scripts, by their folders.
var (
	webs  sync.Map // of *held.Web
	files sync.Map // of func(), which ends what keeps a file busy
)

// serveHeld DOCUMENT… starts a web server with the files of the script's folder, puts its address in the place of $WEB in the
// documents, and lets documents lead there.
func serveHeld(ts *testscript.TestScript, _ bool, args []string) {
	web := held.Serve(ts.MkAbs("."))
	ts.Defer(web.Close)
	webs.Store(ts.Getenv("WORK"), web)
	ts.Setenv("WAYMARK_ALLOW_NETWORK", held.Networks)
	for _, document := range args {
		text := strings.ReplaceAll(ts.ReadFile(document), "$WEB", web.URL)
		ts.Check(os.WriteFile(ts.MkAbs(document), []byte(text), 0o600))
	}
}

// hold ROWS lets the server send no more of a file than the header and so many rows.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := strconv.Atoi(args[0])
	ts.Check(err)
	webOf(ts).Hold(rows)
}

// release lets the server send everything.
func release(ts *testscript.TestScript, _ bool, _ []string) { webOf(ts).Release() }

func webOf(ts *testscript.TestScript) *held.Web {
	web, found := webs.Load(ts.Getenv("WORK"))
	if !found {
		ts.Fatalf("there is no server: serve DOCUMENT… starts it")
	}
	return web.(*held.Web)
}

// busy FILE lets nobody write to a file until the command idle.
func busyFile(ts *testscript.TestScript, _ bool, args []string) {
	end, err := held.Busy(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(end)
	files.Store(ts.Getenv("WORK"), end)
}

// idle ends what the last busy began.
func idleFile(ts *testscript.TestScript, _ bool, _ []string) {
	end, found := files.Load(ts.Getenv("WORK"))
	if !found {
		ts.Fatalf("nothing is busy")
	}
	end.(func())()
}
