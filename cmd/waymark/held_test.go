package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/tests/held"
)

// What holds the runs of scripts, by their folders.
var (
	webs  sync.Map // of *held.Web
	mores sync.Map // of more
	files sync.Map // of func(), which ends what keeps a file busy
	locks sync.Map // of func(), which lets go of a database
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

// hold ROWS [MORE] lets the server send no more of a file than the header and so many rows. A run that is told to stop waits for what is
// on its way, and gives that up after a while: with MORE rows, which signal and ordered let the server send, it comes.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := strconv.Atoi(args[0])
	ts.Check(err)
	webOf(ts).Hold(rows)
	mores.Delete(ts.Getenv("WORK"))
	if len(args) > 1 {
		rows, err := strconv.Atoi(args[1])
		ts.Check(err)
		mores.Store(ts.Getenv("WORK"), more{rows, stops(ts)})
	}
}

// more is what the server may send once a run is told to stop.
type more struct {
	rows  int
	stops int // that were on record before
}

// ordered waits until it is on record that a run is to stop, and lets the server send what it may have then.
func ordered(ts *testscript.TestScript, _ bool, _ []string) {
	if said, is := mores.Load(ts.Getenv("WORK")); is {
		until(ts, "no run is told to stop", func() bool { return stops(ts) > said.(more).stops })
		webOf(ts).Hold(said.(more).rows)
	}
}

// stops returns how often runs were told to stop.
func stops(ts *testscript.TestScript) (n int) {
	path := ts.MkAbs(".waymark/landscape.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	driver, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
	ts.Check(err)
	defer driver.Close()
	log := landscape.New(driver, nil)
	runs, err := log.RecentRuns(context.Background(), nil, 0)
	ts.Check(err)
	for _, run := range runs {
		actions, err := log.Actions(context.Background(), run.ID)
		ts.Check(err)
		for _, a := range actions {
			if a.Verb == landscape.VerbInterrupt || a.Verb == landscape.VerbCancel || a.Verb == landscape.VerbCancelFinal {
				n++
			}
		}
	}
	return n
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
	endOf(ts, &files)()
}

// endOf returns what ends the last thing of this kind that the script began.
func endOf(ts *testscript.TestScript, kind *sync.Map) func() {
	end, found := kind.Load(ts.Getenv("WORK"))
	if !found {
		ts.Fatalf("there is nothing to end")
	}
	return end.(func())
}
