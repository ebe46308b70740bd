package dossier

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/activities"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

// doors say how a run was started.
var doors = map[string]string{
	activities.TriggerCLI:      "at the command line",
	activities.TriggerLibrary:  "by a Go program",
	activities.TriggerAPI:      "over the HTTP API",
	activities.TriggerSchedule: "by a schedule",
	activities.TriggerArrival:  "by a trigger of the document",
	activities.TriggerWorkflow: "by a workflow of another program",
	activities.TriggerTemporal: "through Temporal",
}

func door(trigger string) string { return cmp.Or(doors[trigger], text.Spaced(trigger)) }

// links say what a linked run is to the other one.
var links = map[landscape.Link]string{
	landscape.ForkLink:  "starts over in the place of",
	landscape.RetryLink: "retries refused records of",
}

// gates say what a policy that does not pass keeps a run from.
var gates = map[string]string{
	pipeline.GatePublish: "or nothing is published",
	pipeline.GateWarn:    "or people are warned",
	pipeline.GateSeal:    "which the seal binds",
}

// verdicts say how the evaluation of a policy ended.
var verdicts = map[landscape.PolicyWord]string{
	landscape.PolicyPassed: "passed",
	landscape.PolicyFailed: "did not pass",
	landscape.PolicyError:  "could not be evaluated",
	landscape.PolicyWaived: "was waived",
}

// deeds say what a person did.
var deeds = map[string]string{
	landscape.VerbPause:       "paused it",
	landscape.VerbContinue:    "let it continue",
	landscape.VerbInterrupt:   "interrupted it",
	landscape.VerbCancel:      "cancelled it",
	landscape.VerbCancelFinal: "cancelled it permanently",
	landscape.VerbResolve:     "said whether a write reached its target",
	landscape.VerbRetry:       "retried its refused records",
	landscape.VerbWaive:       "waived a policy",
}

// writes say what happened to a write besides that it began and was confirmed.
var writes = map[landscape.EffectWord]string{
	landscape.EffectFenced:     "came back after a later one had begun, and was refused",
	landscape.EffectFailed:     "failed",
	landscape.EffectReconciled: "was looked for at the target",
	landscape.EffectResolved:   "was decided by a person",
}

// place says where refused rows went.
func place(sink string) string {
	switch sink {
	case pipeline.QuarantineSink:
		return "in quarantine"
	case pipeline.DiscardSink:
		return "discarded"
	}
	return "sent to " + sink
}

// refusals say what a row is or has that was refused with a code: docs/codes.md has the cures.
var refusals = map[string]string{
	"BARE_QUOTE":            "a quote inside of a cell",
	"TEXT_AFTER_QUOTE":      "text after a closing quote",
	"UNTERMINATED_QUOTE":    "no closing quote",
	"BARE_CR":               "a line break outside of quotes",
	"BARE_LF":               "a line break outside of quotes",
	"ROW_TOO_LARGE":         "too large",
	"CELL_TOO_LARGE":        "a cell that is too large",
	"FIELD_COUNT":           "more or fewer cells than the header",
	"INVALID_UTF8":          "bytes that are not text",
	"REQUIRED":              "no value where one is required",
	"CONVERT":               "a value of another type",
	"NUMBER_RANGE":          "a number out of range",
	"TIME_RANGE":            "a time out of range, or a day that does not exist",
	"CONSTRAINT":            "a value that breaks a rule of the schema",
	"UNKNOWN_FIELD":         "a field that is not declared",
	"NO_RECORDS":            "a delivery without records",
	"SYNTAX":                "text that is not JSON",
	"NOT_OBJECT":            "JSON that is not an object",
	"DUPLICATE_KEY":         "JSON with a key twice",
	"LONE_SURROGATE":        "JSON with half a character",
	"DEPTH":                 "JSON that is nested too deeply",
	"UNREPRESENTABLE":       "a value that no row can hold",
	"UNIQUE":                "a value that an earlier row has",
	"NULL_OPERAND":          "a null where an expression needs a value",
	"NO_SUCH_KEY":           "no field or key that an expression reads",
	"NO_SUCH_OVERLOAD":      "a value of a type that an expression does not take",
	"DIVISION_BY_ZERO":      "a division by zero",
	"OVERFLOW":              "a result out of range",
	"COST":                  "an expression that takes too long",
	"RESULT_SIZE":           "a result that is too large",
	"RESULT_TYPE":           "a result of the wrong type",
	"EVAL":                  "an expression that fails",
	"FORMAT":                "a text that cannot be converted",
	"WRONG_TYPE":            "a value that cannot be converted",
	"INEXACT":               "a value that would be rounded",
	"NO_SUCH_FIELD":         "no field of a name that a step has",
	"FIELD_EXISTS":          "two fields with one name",
	"LOOKUP_MISSING":        "a key that the lookup table does not have",
	"NOT_A_LIST":            "no list where one is needed",
	"UNROUTED":              "a label without a route",
	"EXTRA_FIELD":           "a field for which the output has no column",
	"LONE_NULL":             "nothing but a null, which CSV cannot hold",
	"NUL_CHARACTER":         "a character that the table cannot hold",
	"NANOSECONDS":           "a time that is too exact for the table",
	"SINK_UNIQUE":           "a key that the table has already",
	"SINK_NOT_NULL":         "a null that the table refuses",
	"SINK_CHECK":            "a value that a rule of the table refuses",
	"SINK_FOREIGN_KEY":      "a reference to a row that is not there",
	"SINK_TYPE":             "a value of a type that the column does not take",
	"SINK_INEXACT":          "a value that the column would round",
	"SINK_TOO_LONG":         "a value that is too long for the column",
	"SINK_REFUSED":          "refused by the table",
	"SINK_DROPPED":          "left out by the table",
	"PANIC":                 "a defect of Waymark",
	"INCOMPLETE_BRANCHES":   "a branch did not come that the merge needs",
	"QUORUM_NOT_MET":        "too few branches came",
	"SELECT_BRANCH_MISSING": "the branch did not come that the merge selects",
	"COLLISION":             "branches with different values for one field",
	"TOO_MANY_GROUPS":       "a group too many",
	"BATCH_ROWS":            "a batch with another number of rows than expected",
}

// refusal is a code with what it means.
func refusal(code string) string {
	if words := refusals[code]; words != "" {
		return code + ": " + words
	}
	return code
}

// given are parameters, one after the other. What is no JSON object stays as it is.
func given(params string) string {
	var values map[string]string
	if json.Unmarshal([]byte(params), &values) != nil {
		return params
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, fmt.Sprintf("%s = %s", name, values[name]))
	}
	return strings.Join(pairs, ", ")
}
