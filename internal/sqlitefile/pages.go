package sqlitefile

import (
	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// Room for the pages that connections of this process keep: without it, SQLite returns each page that it lets go of to the operating system. A connection that reads lets go of all
// of its pages whenever another one has written, so that small runs spent a third of their time on that. Pages for which there is no room are allocated as before.
const (
	slotBytes = 8_192 + 512 // a page of a landscape, and what SQLite keeps beside one
	slots     = 1_024
)

func init() {
	tls := libc.NewTLS()
	defer tls.Close()
	room := libc.Xmalloc(tls, slots*slotBytes)
	if room == 0 {
		return
	}
	args := libc.NewVaList(room, int32(slotBytes), int32(slots))
	defer libc.Xfree(tls, args)
	if sqlite.Xsqlite3_config(tls, sqlite.SQLITE_CONFIG_PAGECACHE, args) != sqlite.SQLITE_OK { // somebody has used SQLite in this process before
		libc.Xfree(tls, room)
	}
}
