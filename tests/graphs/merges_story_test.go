package graphs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// story is what must be recorded about one row of the source. Lists are words with a space between them.
type story struct {
	Decision decision
	Line     string            // the merged row, as the sink has it
	Raw      string            // of a refused merged row: what the sink of refused rows has as its record
	Tokens   map[string]string // by name: path, node and sink that ended it, what it became part of, and its parents
}

// decision is a row of coalesce_events.
type decision struct {
	Policy, Merge, Quorum, Expected string
	Arrived, Lost, NotNeeded, Order string
	FiredBy, Result, Code           string
	Collisions, Origins, Merged     string
	Hash                            string // of the merged row's canonical form; "" unless there is one
}

// ends is how a branch loses a row: the path, the node and the sink.
var ends = map[string]string{
	"a": "filter_dropped keep_a -", "b": "gate_routed keep_b aside", "c": "gate_discarded keep_c -", "d": "on_error_routed keep_d __quarantine__",
}

func (j *judged) story(in input) story {
	d := decision{
		Policy: j.policy, Merge: j.merge, Quorum: fmt.Sprint(j.quorum), Expected: words(j.branches), Arrived: words(j.arrived), Lost: "{}",
		NotNeeded: words(j.outstanding()), Order: words(j.tokens()), FiredBy: j.firedBy, Result: "nothing", Origins: "{}",
	}
	var lost, origins []field
	for _, branch := range slices.Sorted(slices.Values(j.known)) {
		lost = append(lost, field{name: branch, value: strings.Fields(ends[branch])[0]})
	}
	d.Lost = line(lost)
	if len(j.arrived) == 0 {
		return story{Decision: d, Tokens: j.ends("")}
	}
	fields, collisions, code := j.merged(in)
	for _, f := range fields {
		origins = append(origins, field{name: f.name, value: f.origin})
	}
	d.Collisions, d.Origins, d.Code, d.Merged = collisions, line(origins), code, "meet"
	if code == "" {
		d.Result, d.Hash = "merged", hash(fields)
		return story{Decision: d, Line: line(fields), Tokens: j.ends("default_flow meet out")}
	}
	d.Result = "refused"
	raw := in.line()
	if j.at != onePass {
		raw = canonical(fields)
	}
	return story{Decision: d, Raw: raw, Tokens: j.ends("on_error_routed meet refused")}
}

// outstanding returns the branches of which nothing was known when it was decided.
func (j *judged) outstanding() []string {
	return slices.DeleteFunc(slices.Clone(j.branches), func(branch string) bool {
		return slices.Contains(j.arrived, branch) || slices.Contains(j.known, branch)
	})
}

// token names the token that came to the coalesce, or is lost, by a branch.
func (j *judged) token(branch string) string {
	if j.at == onePass || j.at == lostBefore && slices.Contains(j.lost, branch) {
		return branch
	}
	return "wait_" + branch
}

// tokens names the tokens that came, in order.
func (j *judged) tokens() []string {
	var tokens []string
	for _, branch := range j.arrived {
		tokens = append(tokens, j.token(branch))
	}
	return tokens
}

// ends returns how all tokens ended, the merged one like this; it is not there if that is "".
func (j *judged) ends(merged string) map[string]string {
	tokens := map[string]string{source: "fork_parent copies -"}
	if merged != "" {
		tokens["meet"] = merged + " < " + words(j.tokens())
	}
	for _, branch := range j.branches {
		end := "branch_not_needed meet -"
		switch {
		case slices.Contains(j.lost, branch):
			end = ends[branch]
		case slices.Contains(j.arrived, branch):
			end = "coalesced meet - > meet"
		}
		if token := j.token(branch); token != branch {
			tokens[branch], tokens[token] = "batch_consumed "+token+" - < "+source, end+" < "+branch
		} else {
			tokens[branch] = end + " < " + source
		}
	}
	return tokens
}

func words(list []string) string { return strings.Join(list, " ") }

// line returns fields as the JSON object that a sink writes.
func line(fields []field) string {
	members := make([]string, len(fields))
	for i, f := range fields {
		value, err := json.Marshal(f.value)
		if err != nil {
			panic(err)
		}
		members[i] = fmt.Sprintf("%q:%s", f.name, value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// canonical returns the canonical form of a row of ints, texts and JSON objects of these: its members are sorted.
func canonical(fields []field) string {
	var row map[string]any
	if err := json.Unmarshal([]byte(line(fields)), &row); err != nil {
		panic(err)
	}
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func hash(fields []field) string {
	sum := sha256.Sum256([]byte(canonical(fields)))
	return hex.EncodeToString(sum[:])
}
