package crash

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"waymark/tests/sample"
)

// ordered is an approval request that two persons signed, and what has to be true once it is executed.
type ordered struct {
	scene   func(t *testing.T, p *program) (propose []string) // makes what the order is about
	rule    string
	again   string                         // what the execution says if nothing was left; empty for what most say
	subject []string                       // further arguments of execute
	record  string                         // query: how often it is recorded that this was done
	done    func(t *testing.T, p *program) // requires that it is done
}

var orders = map[string]ordered{
	"purge": {
		scene: func(t *testing.T, p *program) []string {
			p.run(t, 3, "run", "plain.yaml", "--run-id", "first")
			return []string{"purge", "--keep-source", "1ms"}
		},
		rule: "purge", record: "select count(*) from purges",
		done: func(t *testing.T, p *program) {
			require.Contains(t, p.run(t, 0, "purge", "--keep-source", "1ms", "--dry-run"), "would delete 0 payloads")
			p.run(t, 0, "scrub")
			p.run(t, 2, "reproduce", "first")
		},
	},
	"forget": {
		scene: func(t *testing.T, p *program) []string {
			p.write(t, "people.csv", people(60))
			p.write(t, "people.yaml", "name: people\nchunk: {rows: 20}\n"+
				"sources: {people: {csv: {path: people.csv}, key: [customer], schema: {fields: {customer: string, total: int}}}}\n"+
				"sinks: {out: {csv: {path: out/people.csv}}}\n")
			p.run(t, 0, "run", "people.yaml", "--run-id", "first")
			return []string{"forget", "customer=person-3-of-all"}
		},
		rule: "forget", subject: []string{"--subject", "customer=person-3-of-all"},
		record: "select count(*) from purges where purge_id in (select purge_id from forgettings)",
		done: func(t *testing.T, p *program) {
			require.Empty(t, places(t, p.folder))
			p.run(t, 0, "scrub")
		},
	},
	"waive": {
		scene: func(t *testing.T, p *program) []string {
			document, err := os.ReadFile("plain.yaml")
			require.NoError(t, err)
			p.write(t, "strict.yaml", string(document)+"policies: [{name: enough, assert: \"run.read > 10000\", gate: publish}]\n")
			p.run(t, 1, "run", "strict.yaml", "--run-id", "first")
			return []string{"waive", "first", "enough"}
		},
		rule: "waive", record: "select count(*) from actions where verb = 'waive'",
		done: func(t *testing.T, p *program) { p.run(t, 3, "resume", "first") },
	},
	"cancel": {
		scene: func(t *testing.T, p *program) []string {
			p.at("sink.part.synced=kill").run(t, -1, "run", "plain.yaml", "--run-id", "first")
			p.at("").run(t, 0, "cancel", "first", "--why", "it can be resumed")
			return []string{"cancel", "first", "--final"}
		},
		rule: "cancel_final", again: "run first is cancelled permanently, and what it staged is removed", record: "select count(*) from actions where verb = 'cancel_final'",
		done: func(t *testing.T, p *program) {
			require.Contains(t, p.run(t, 2, "resume", "first"), "cancelled permanently")
			staged, err := filepath.Glob(filepath.Join(p.folder, "out", ".*"))
			require.NoError(t, err)
			require.Empty(t, staged)
		},
	},
	"resolve": {
		scene: func(t *testing.T, p *program) []string {
			p.at("sink.part.synced=kill").run(t, -1, "run", "plain.yaml", "--run-id", "first")
			p.at("sink.part.check=unknown").run(t, 1, "resume", "first")
			return []string{"resolve", "first", blocked(t, p.at(""), "first"), "--not-applied"}
		},
		rule: "resolve", record: "select count(*) from actions where verb = 'resolve'",
		done: func(t *testing.T, p *program) { p.run(t, 3, "resume", "first") },
	},
}

// TestExecutionIsKilled: wherever the execution of an approval request is killed, it is executed again, once on record,
// what was left is done, and nothing accuses the run or the log of it.
func TestExecutionIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for verb, o := range orders {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			base := in(t, binary, "plain.yaml", "orders.csv")
			execute := append([]string{"execute", base.approved(t, o)}, o.subject...)
			whole := base.copied(t)
			whole.env = append(whole.env, "WAYMARK_FAILPOINT_LOG="+filepath.Join(whole.folder, "moments"))
			require.Contains(t, whole.run(t, 0, execute...), "is executed")
			for _, moment := range passed(t, whole) {
				t.Run(moment, func(t *testing.T) { base.copied(t).killedAt(t, o, moment, execute) })
			}
		})
	}
}

// approved makes two persons necessary, and returns the order that they signed.
func (p *program) approved(t *testing.T, o ordered) string {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(p.folder, ".waymark"), 0o700))
	p.write(t, ".waymark/approvers", p.person(t, "ann")+p.person(t, "bob"))
	propose := append(o.scene(t, p), "--propose", "--key", "ann", "--why", "it must be")
	p.run(t, 0, "orders", "rule", o.rule, "2", "--why", "four eyes")
	lines := strings.Fields(p.run(t, 0, propose...))
	order := lines[len(lines)-1]
	p.run(t, 0, "approve", order, "--key", "bob", "--why", "I looked")
	return order
}

// person writes a private key, and returns the line of the approvers file.
func (p *program) person(t *testing.T, name string) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, name)
	require.NoError(t, err)
	p.write(t, name, string(pem.EncodeToMemory(block)))
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	return name + "@example.com " + string(ssh.MarshalAuthorizedKey(key))
}

// copied returns the program in a copy of its folder, and with nothing planned.
func (p *program) copied(t *testing.T) *program {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "copy")
	out, err := exec.Command("cp", "-a", p.folder, folder).CombinedOutput() // with the modes of keys
	require.NoError(t, err, "%s", out)
	return &program{binary: p.binary, folder: folder}
}

// passed are the moments to which a program came.
func passed(t *testing.T, p *program) (found []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, "moments"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		found = append(found, strings.Join(strings.Fields(line), "@"))
	}
	require.NotEmpty(t, found)
	return found
}

// killedAt kills the execution of an order at a moment, and executes it again.
func (p *program) killedAt(t *testing.T, o ordered, moment string, execute []string) {
	t.Helper()
	p.at(moment+"=kill").run(t, -1, execute...)
	p.at("").run(t, 0, "log", "check")
	out := p.run(t, 0, execute...)
	if strings.Contains(out, "waymark purge --finish") { // what the killed process was about to delete
		p.run(t, 0, "purge", "--finish", "--why", "it is dead")
	}
	require.Contains(t, p.run(t, 0, execute...), cmp.Or(o.again, "nothing is left to do"))
	for query, want := range map[string]int{
		o.record: 1, "select count(*) from approved_executions": 1,
		"select count(*) from purged_payloads where deleted_us is null":                                                               0,
		"select count(*) from purges p where rules = '{}' and not exists (select 1 from forgettings f where f.purge_id = p.purge_id)": 0,
	} {
		var n int
		require.NoError(t, open(t, p.folder).QueryRow(query).Scan(&n))
		require.Equal(t, want, n, "%s: %s", query, out)
	}
	o.done(t, p)
	p.run(t, 0, "verify", "first")
	p.run(t, 0, "log", "check")
	require.NotContains(t, p.run(t, 0, "orders"), "ONE PERSON")
}
