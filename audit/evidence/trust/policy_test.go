package trust_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
)

// key makes the public key of a log or witness.
func key(t *testing.T, kind keys.Kind, name string) string {
	t.Helper()
	made, err := keys.Generate(t.TempDir(), kind, name)
	require.NoError(t, err)
	return made.VKey
}

func set(names string) map[string]bool {
	found := map[string]bool{}
	for _, name := range strings.Fields(names) {
		found[name] = true
	}
	return found
}

// TestQuorum has the example of the specification: two of three, and any of three others.
func TestQuorum(t *testing.T) {
	text := "# two organisations\nlog " + key(t, keys.Log, "p.example/log") + " https://p.example/\n\n"
	for _, name := range strings.Fields("X1 X2 X3 Y1 Y2 Y3") {
		text += "\twitness  " + name + " " + key(t, keys.Witness, strings.ToLower(name)+".example") + "\n"
	}
	text += "group X-witnesses 2 X1 X2 X3\ngroup Y-witnesses any Y1 Y2 Y3\ngroup X-and-Y all X-witnesses Y-witnesses\n"
	for quorum, tests := range map[string]map[string]string{
		"none":        {"": ""},
		"X1":          {"X1": "", "X2": "the witness X1 did not cosign the head, and the policy requires it"},
		"X-witnesses": {"X1 X3": "", "X1 X2 X3": "", "X2 Y1 Y2 Y3": "1 of the 3 members of the group X-witnesses cosigned the head, and the policy requires 2: X1, X3 did not"},
		"X-and-Y":     {"X1 X2 Y3": "", "X1 X2 X3": "1 of the 2 members of the group X-and-Y cosigned the head, and the policy requires 2: Y-witnesses did not"},
	} {
		policy, err := trust.Parse(text + "quorum " + quorum + "\n")
		require.NoError(t, err)
		require.Len(t, policy.Witnesses, 6)
		require.Len(t, policy.Logs, 1)
		for cosigned, want := range tests {
			err := policy.Check(set(cosigned))
			if want == "" {
				require.NoError(t, err)
				continue
			}
			require.EqualError(t, err, want)
		}
	}
}

// TestWrongPolicies: the line is named, and nothing is guessed.
func TestWrongPolicies(t *testing.T) {
	log, one, two := key(t, keys.Log, "p.example/log"), key(t, keys.Witness, "o.example"), key(t, keys.Witness, "t.example")
	renamed := "other" + one[strings.Index(one, "+"):]
	for text, want := range map[string]string{
		"":                                        "no line says which quorum it asks for",
		"log " + log:                              "no line says which quorum it asks for",
		"log " + log + "\r\nquorum none":          "line 1: it has a control character",
		"quorum none\nquorum none":                "line 2: another line says which quorum",
		"quorum one":                              "line 1: no line before it defines one",
		"log " + one + "\nquorum none":            "is not the public key of a log",
		"log x\nquorum none":                      `line 1: "x" is not the public key of a log`,
		"log\nquorum none":                        "line 1: \"log\" is none of `log KEY`",
		"logs " + log + "\nquorum none":           "line 1: ",
		"log " + log + "\nlog " + log:             "line 2: another line has the key of this log",
		"witness o " + log + "\nquorum none":      "line 1: witness o: it is not the public key of a witness",
		"witness o " + renamed:                    "line 1: witness o: it is not the public key of a witness",
		"witness o " + one + "\nwitness p " + one: "line 2: another line has the key of this witness",
		"witness o " + one + "\nwitness o " + two: "line 2: the name o has another meaning already",
		"witness none " + one:                     "line 1: the name none has another meaning",
		"witness o " + one + "\ngroup g 2 o":      `line 2: "2" is neither all nor any nor a number from 1 to 1`,
		"witness o " + one + "\ngroup g 0 o":      `line 2: "0" is neither`,
		"witness o " + one + "\ngroup g 01 o":     `line 2: "01" is neither`,
		"witness o " + one + "\ngroup g all none": "line 2: no line before it defines none",
		"witness o " + one + "\ngroup g all o o":  "line 2: o is in a group already",
		"group g all o\nwitness o " + one:         "line 1: no line before it defines o",
		"witness o " + one + "\nwitness p " + two + "\ngroup g all o\ngroup h any o p\nquorum h": "line 4: o is in a group already",
		"witness o " + one + "\ngroup g all o\nwitness g " + two:                                 "line 3: the name g has another meaning already",
		"witness o " + strings.Replace(one, "+", "+00", 1)[:len(one)] + "\nquorum none":          "line 1: witness o: it is not the public key of a witness",
		"witness o " + one + "\ngroup g\nquorum none":                                            "line 2: ",
		"witness o " + one + " https://o.example extra\nquorum none":                             "line 1: ",
		strings.Repeat("quorum none # a comment is a line of its own\n", 1):                      "line 1: ",
	} {
		_, err := trust.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestText: what is written is read again, and asks for more than half of the witnesses.
func TestText(t *testing.T) {
	log := key(t, keys.Log, "p.example/log")
	var witnesses []trust.Witness
	for i, want := range []string{"quorum none\n", "quorum a.example\n", "group witnesses 2 a.example b.example\nquorum witnesses\n", "group witnesses 2 a.example b.example c.example\nquorum witnesses\n"} {
		text, err := trust.Text([]string{log}, witnesses...)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(text, "log "+log+"\n"))
		require.True(t, strings.HasSuffix(text, "\n"+want), text)
		policy, err := trust.Parse(text)
		require.NoError(t, err)
		require.Len(t, policy.Witnesses, i)
		_, ok := policy.LogOf(log)
		require.True(t, ok)
		name := string(rune('a'+i)) + ".example"
		witnesses = append(witnesses, trust.Witness{Name: name, Key: key(t, keys.Witness, name), URL: "https://" + name})
	}
	_, err := trust.Text([]string{log}, witnesses[0], witnesses[0])
	require.ErrorContains(t, err, "another line has the key of this witness")
}

// TestQuantumLog: a log may have a key of ML-DSA-44 beside its own, and no witness may.
func TestQuantumLog(t *testing.T) {
	log, quantum := key(t, keys.Log, "p.example/log"), key(t, keys.Quantum, "p.example/log")
	text, err := trust.Text([]string{log, quantum})
	require.NoError(t, err)
	require.Equal(t, "log "+log+"\nlog "+quantum+"\nquorum none\n", text)
	policy, err := trust.Parse(text)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{policy.Logs[0].Quantum(), policy.Logs[1].Quantum()})
	for text, want := range map[string]string{
		"log " + quantum + "\nlog " + quantum:          "line 2: another line has the key of this log",
		"witness w " + quantum:                         "line 1: witness w: it is not the public key of a witness",
		"log " + quantum[:len(quantum)-4]:              "line 1: ",
		"log " + strings.Replace(quantum, "p", "q", 1): "line 1: ",
	} {
		_, err := trust.Parse(text + "\nquorum none\n")
		require.ErrorContains(t, err, want)
	}
}
