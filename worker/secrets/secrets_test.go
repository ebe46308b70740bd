package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/worker/secrets"
)

// keeper has files and a variable, and the rules of a server.
func keeper(t *testing.T, rules string) secrets.Keeper {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"orders/OWN": "of orders\n", "CRM": "shared", "DSN": "postgres://u:p@db.example.com/d",
		"URL":          "https://u:p@web.example.com/x",
		"orders/WORDS": "host=a.example,b.example port=1 user=u password=p", "both": "shared",
		"orders/both": "of orders", "billing": "a file called as a pipeline",
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	t.Setenv("WAYMARK_SECRET_VAR", "in a variable")
	k := secrets.Keeper{Folder: folder, Server: true}
	if rules != "" {
		require.NoError(t, k.Rules.Set(rules))
	}
	return k
}

func TestSecretsBelongToPipelines(t *testing.T) {
	k := keeper(t, "{CRM: {pipelines: [orders], hosts: [db.example.com]}, VAR: {pipelines: [billing]}}")
	own := secrets.Keeper{Folder: k.Folder}
	for _, c := range []struct{ pipeline, name, server, own string }{
		{"orders", "OWN", "of orders", "of orders"},
		{"billing", "OWN", "", ""},
		{"orders", "both", "of orders", "of orders"},
		{"billing", "both", "", "shared"},
		{"orders", "CRM", "shared", "shared"},
		{"billing", "CRM", "", "shared"},
		{"orders", "VAR", "", "in a variable"},
		{"billing", "VAR", "in a variable", "in a variable"},
		{"billing", "var", "", "in a variable"},
		{"", "OWN", "", ""},
		{"..", "CRM", "", "shared"},
		{"orders/..", "CRM", "", "shared"},
		{"orders", "../CRM", "", ""},
		{"orders", "orders", "", ""}, // a folder
	} {
		for want, k := range map[*string]secrets.Keeper{&c.server: k, &c.own: own} {
			value, err := k.Value(secrets.Owner{Pipeline: c.pipeline}, c.name)
			require.Equal(t, *want, value, "%+v", c)
			require.Equal(t, *want == "", err != nil, "%+v: %v", c, err)
		}
	}
	_, err := k.Value(secrets.Owner{Pipeline: "billing"}, "CRM")
	_, missing := k.Value(secrets.Owner{Pipeline: "billing"}, "MRC")
	require.EqualError(t, err, "secret CRM: pipeline billing has none of this name: put it into the file "+
		"billing/CRM of the server's --secrets-dir, "+
		"or share one in the server's settings, under secrets: CRM: {pipelines: [billing]}")
	require.ErrorContains(t, missing, "secret MRC: pipeline billing has none of this name",
		"that one is there for others is told to nobody")
}

func TestSecretsGoWhereTheyMay(t *testing.T) {
	k := keeper(t,
		`{CRM: {pipelines: [orders], hosts: [db.example.com, "other.example.com:5433", 10.0.0.7]},
VAR: {pipelines: [orders]}, DSN: {pipelines: [orders]}, URL: {pipelines: [orders]},
both: {pipelines: [orders], hosts: [db.example.com]}}`)
	for _, c := range []struct {
		name   string
		places []string
		chosen bool
		why    string // "" if it may
	}{
		{"OWN", []string{"anywhere.example:5432"}, false, ""},
		{"OWN", []string{"anywhere.example:5432"}, true, "which a parameter decides: write the host into the " +
			"document, or name it in the server's settings, under secrets: OWN: {pipelines: [orders], hosts: " +
			"[\"anywhere.example:5432\"]}"},
		{"CRM", []string{"db.example.com:5432"}, true, ""},
		{"CRM", []string{"DB.example.com.:1"}, false, ""},
		{"CRM", []string{"other.example.com:5433"}, false, ""},
		{"CRM", []string{"other.example.com:5432"}, false, "may not go to other.example.com:5432: add it to the " +
			"hosts of CRM under secrets in the server's settings: hosts: [\"other.example.com:5432\"]"},
		{"CRM", []string{"[::ffff:10.0.0.7]:443"}, false, `hosts: ["[::ffff:10.0.0.7]:443"]`},
		{"CRM", []string{"10.0.0.8:443"}, false, `hosts: ["10.0.0.8:443"]`},
		{"CRM", []string{"Evil.example.:443"}, false, `hosts: ["evil.example:443"]`},
		{"CRM", []string{"10.0.0.7:443"}, false, ""},
		{"CRM", []string{"db.example.com:5432", "evil.example:5432"}, false, "evil.example"},
		{"CRM", []string{"db.example.com.evil.example:5432"}, false, "may not go"},
		{"CRM", []string{"/var/run"}, false, "/var/run is none"},
		{"VAR", []string{"db.example.com:5432"}, false, "may not go"},
		{"both", []string{"db.example.com:5432"}, false, ""},
		{"both", []string{"evil.example:5432"}, false, "may not go"},
		// what the settings say of a name holds for the pipeline's own as well
		{"DSN", []string{"db.example.com:5432"}, true, ""},
		{"DSN", []string{"db.example.com:5433"}, false, "secret DSN of pipeline orders is an address, and goes " +
			"there and nowhere else, not to db.example.com:5433"},
		{"DSN", []string{"db.example.com:5432", "evil.example:5432"}, false, "nowhere else"},
		{"URL", []string{"web.example.com:443"}, false, ""},
		{"URL", []string{"web.example.com:80"}, false, "nowhere else"},
		{"WORDS", []string{"a.example:1", "b.example:1"}, false, ""},
		{"WORDS", []string{"b.example:2"}, false, "nowhere else"},
	} {
		owner := secrets.Owner{Pipeline: "orders"}
		value, err := k.Value(owner, c.name)
		require.NoError(t, err)
		err = k.Leave(owner, c.name, value, secrets.Way{Places: c.places, Chosen: c.chosen})
		if c.why == "" {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorContains(t, err, c.why, "%+v", c)
			require.NotContains(t, err.Error(), value)
		}
		k := secrets.Keeper{Folder: k.Folder}
		require.NoError(t, k.Leave(owner, c.name, value, secrets.Way{Places: c.places, Chosen: c.chosen}),
			"in the caller's own process")
	}
}

func TestWhoPostsIsKnownByASecretOfThePipelineAlone(t *testing.T) {
	k := keeper(t, "{CRM: {pipelines: [orders]}, VAR: {pipelines: [orders, billing]}, DSN: {pipelines: [orders], "+
		"endpoints: [ledger]}, both: {pipelines: [orders, billing]}}")
	for name, want := range map[string]string{"OWN": "of orders", "CRM": "shared", "VAR": "", "DSN": "",
		"both": "of orders", "URL": ""} {
		value, err := k.Bound("orders", name)
		require.Equal(t, want, value, name)
		require.Equal(t, want == "", err != nil, name)
	}
	_, err := k.Bound("orders", "VAR")
	require.EqualError(t, err, "secret VAR: others have it as well, and so could post in the place of who may: "+
		"put another one into the file orders/VAR of the server's --secrets-dir")
	value, err := secrets.Keeper{Folder: k.Folder}.Bound("billing", "VAR")
	require.NoError(t, err)
	require.Equal(t, "in a variable", value)
}

func TestDeliveriesAreSignedWithWhatEndpointsHave(t *testing.T) {
	k := keeper(t, "{CRM: {endpoints: [ledger], hosts: [ledger.example.com]}, VAR: {pipelines: [ledger]}}")
	value, err := k.Deliver("ledger", "CRM", "ledger.example.com:443")
	require.NoError(t, err)
	require.Equal(t, "shared", value)
	_, err = k.Deliver("ledger", "CRM", "evil.example:443")
	require.EqualError(t, err, "secret CRM of endpoint ledger may not go to evil.example:443: add it to the hosts "+
		"of CRM under secrets in the server's settings: hosts: [\"evil.example:443\"]")
	for name, k := range map[string]secrets.Keeper{"VAR": k, "OWN": k, "URL": k} {
		_, err = k.Deliver("ledger", name, "evil.example:443")
		require.ErrorContains(t, err, "share one in the server's settings, under secrets: "+name+": {endpoints: "+
			"[ledger], hosts: [\"evil.example:443\"]}")
	}
	_, err = k.Deliver("orders", "OWN", "evil.example:443")
	require.Error(t, err, "an endpoint is called as a pipeline")
}

// TestTheRuleThatACureNames lets the secret go there, and to no other port.
func TestTheRuleThatACureNames(t *testing.T) {
	for place, other := range map[string]string{
		"DB.example.com.:5432": "db.example.com:5433", "[::1]:443": "[::1]:80", "127.0.0.1:8686": "127.0.0.1:80",
	} {
		k, orders := keeper(t, ""), secrets.Owner{Pipeline: "orders"}
		_, err := k.Value(orders, "CRM")
		refused := (*secrets.RefusedError)(nil)
		require.ErrorAs(t, err, &refused)
		refused.Places = []string{place}
		_, cure, _ := strings.Cut(refused.Error(), "settings, under secrets: ")
		require.NoError(t, k.Rules.Set("{"+cure+"}"), cure)
		value, err := k.Value(orders, "CRM")
		require.NoError(t, err)
		require.NoError(t, k.Leave(orders, "CRM", value, secrets.Way{Places: []string{place}}))
		err = k.Leave(orders, "CRM", value, secrets.Way{Places: []string{other}})
		require.ErrorContains(t, err, "may not go")
		_, cure, _ = strings.Cut(err.Error(), "settings: ")
		require.NoError(t, k.Rules.Set("{CRM: {pipelines: [orders], "+cure+"}}"), cure)
		require.NoError(t, k.Leave(orders, "CRM", value, secrets.Way{Places: []string{other}}))
	}
}

func TestWhatStandsBehindADocument(t *testing.T) {
	k := keeper(t, "")
	require.ErrorContains(t, k.Standing("orders", "OWN", plan.Stranger),
		"deploy it with waymark deploy, or put it into the served folder as orders.yaml")
	require.NoError(t, k.Standing("orders", "OWN", plan.Proposed))
	require.ErrorContains(t, k.Held(plan.Proposed), "once the deployment is recorded")
	require.NoError(t, k.Held(plan.Recorded))
	k.Server = false
	require.NoError(t, k.Standing("orders", "OWN", plan.Stranger))
	require.NoError(t, k.Held(plan.Stranger))
}

func TestRulesAreReadStrictly(t *testing.T) {
	for text, why := range map[string]string{
		"":    "write {CRM:",
		"CRM": "write {CRM:",
		"{CRM: }": "1:6: CRM: write pipelines and hosts, as in CRM: {pipelines: [orders], " +
			"hosts: [db.example.com]}",
		"{CRM: {hosts: [a]}}":                            "CRM: it says for nobody",
		"{CRM: {pipelines: []}}":                         "pipelines: write a list",
		"{CRM: {pipelines: orders}}":                     "pipelines: write a list",
		"{CRM: {pipelines: ['orders*']}}":                `1:20: CRM: pipelines: "orders*" is not a name`,
		"{CRM: {pipelines: [a, a]}}":                     "a is here twice",
		"{CRM: {pipelines: [a], pipelines: [b]}}":        "",
		"{CRM: {pipelines: [a], host: [b]}}":             `unknown key "host"`,
		"{CRM: {pipelines: [a], hosts: ['https://b']}}":  `"https://b" is not a host`,
		"{CRM: {pipelines: [a], hosts: ['*.b.com']}}":    "is not a host",
		"{CRM: {pipelines: [a], hosts: [B.com]}}":        "in lower case",
		"{CRM: {pipelines: [a], hosts: ['b:99999']}}":    "is not a host",
		"{CRM: {pipelines: [a], hosts: ['']}}":           "is not a host",
		"{'a/b': {pipelines: [a]}}":                      `"a/b" is not the name of a secret`,
		"{../x: {pipelines: [a]}}":                       "is not the name of a secret",
		"{CRM: {pipelines: [a]}, CRM: {pipelines: [a]}}": "",
	} {
		var rules secrets.Rules
		err := rules.Set(text)
		require.Error(t, err, text)
		require.ErrorContains(t, err, why, text)
		require.Nil(t, rules, text)
	}
	const text = `{A: {pipelines: [orders, "123", "true"], ` +
		`hosts: [db.example.com, "10.0.0.1", "b:5432", "::1", "[::1]:5432"]}, b-c: {endpoints: [ledger], hosts: [x]}}`
	var rules, again secrets.Rules
	require.NoError(t, rules.Set(text))
	require.Equal(t, text, rules.String())
	require.NoError(t, again.Set(rules.String()))
	require.Equal(t, rules, again)
}
