package pipeline

// checkRowTrigger reports names that no column has, and keys that only other triggers have.
func (l *loader) checkRowTrigger(path string, t ArrivalTrigger) {
	if t.Rows == nil {
		return
	}
	l.refuse(path, map[string]bool{"after": t.After != nil, "http": t.HTTP != nil},
		"rows of a table come neither from another pipeline nor by post: delete it, or rows")
	l.refuse(path, map[string]bool{"quiet": t.Quiet != 0, "changed": t.Changed != ""},
		"belongs to triggers of files: a row is complete, and arrives again when it changes; delete it")
	at := Key(Key(path, "rows"), "by")
	for i, column := range t.Rows.By {
		l.checkIdentifier(Item(at, i), column)
	}
}
