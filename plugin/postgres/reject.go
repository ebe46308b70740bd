package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"waymark/plugin"
)

// isAboutRow reports whether a statement failed because of a row that it was to write, and not because of the table, the rights, the
// server or other transactions.
func isAboutRow(err error) bool {
	if _, lost := errors.AsType[*lostRows](err); lost {
		return true
	}
	state, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || len(state.Code) != 5 {
		return false
	}
	if isRaised(state) {
		return true // whatever it calls itself: it would say so again
	}
	switch class := state.Code[:2]; class {
	case "22", "23", "44", "54", "P0":
		return true
	case "08", "40", "53", "55", "57", "58", "72", "F0", "HV", "XX":
		return false
	default:
		// The standard leaves classes with these first signs to others: a trigger of the table's owner has one of its own.
		return strings.ContainsRune("56789IJKLMNOPQRSTUVWXYZ", rune(class[0]))
	}
}

// isRaised reports whether a function, as that of a trigger, said so of its own accord (raise).
func isRaised(state *pgconn.PgError) bool { return state.Routine == "exec_stmt_raise" }

// rejection says why the table rejected a row. Of the row it says nothing but what a trigger of the table's owner says, and of that
// little.
func (l *loader) rejection(state *pgconn.PgError) plugin.Rejection {
	r := plugin.Rejection{Field: l.field(state)}
	constraint := "the constraint " + nameOf(state.ConstraintName)
	switch code := state.Code; {
	case isRaised(state):
		r.Code, r.Message = codeSinkRefused, fmt.Sprintf("the table refused the row with SQLSTATE %s: %s", code, excerpt(state.Message))
	case code == "23505":
		r.Code, r.Message = codeSinkUnique, "the table has a row with the same key: see "+constraint
	case code == "23P01":
		r.Code, r.Message = codeSinkUnique, "the table has a row that excludes this one: see "+constraint
	case code == "23502":
		r.Code, r.Message = codeSinkNotNull, "the column must not be null"
		if r.Field == "" && state.ColumnName != "" {
			r.Message = "the column " + nameOf(state.ColumnName) + " must not be null, and no field is written into it"
		}
	case code == "23503":
		r.Code, r.Message = codeSinkForeign, "there is no row that this one refers to: see "+constraint
	case code == "23514" && state.ConstraintName == "":
		r.Code, r.Message = codeSinkCheck, "no partition of the table takes the row"
	case code[:2] == "23", code == "44000":
		r.Code, r.Message = codeSinkCheck, "the row does not satisfy "+constraint
	case code == "22001", code[:2] == "54":
		r.Code, r.Message = codeSinkTooLong, "a value is longer than its column, or an index of it, takes (SQLSTATE "+code+")"
	case code[:2] == "22" && r.Field != "": // else a trigger, or what a column is generated from, fails on it
		r.Code, r.Message = codeSinkType, "the column's type does not take the value (SQLSTATE "+code+")"
	default:
		r.Code, r.Message = codeSinkRefused, fmt.Sprintf("the table refused the row with SQLSTATE %s: %s", code, excerpt(state.Message))
	}
	return r
}

// nameOf returns the name of a part of the table for people.
func nameOf(name string) string {
	needsQuotes := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	if name == "" || utf8.RuneCountInString(name) > 63 || strings.ContainsFunc(name, needsQuotes) {
		return excerpt(name)
	}
	return name
}

// field returns the column that an error is about, or "".
func (l *loader) field(state *pgconn.PgError) string {
	if slices.Contains(l.columns, state.ColumnName) {
		return state.ColumnName
	}
	for _, where := range strings.Split(state.Where, "\n") {
		found := place.FindStringSubmatch(where)
		if found == nil {
			continue
		}
		if column := strings.TrimSuffix(found[2], ":"); slices.Contains(l.columns, column) {
			return column
		}
	}
	return ""
}
