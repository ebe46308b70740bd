package serve_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/oidc"
	"waymark/tests/issuer"
	"waymark/tests/manual"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// tokenOf returns a token of the issuer for somebody in the group of a role.
func (s *apiServer) tokenOf(t *testing.T, role landscape.Role, claims issuer.Claims) string {
	t.Helper()
	all := issuer.Claims{"sub": "00u-" + string(role), "email": string(role) + "@example.com", "groups": []string{string(role)}}
	maps.Copy(all, claims)
	return s.Issuer.Token(t, all)
}

// deadTokens are tokens that look like those of the issuer, and do not count.
func (s *apiServer) deadTokens(t *testing.T) map[string]string {
	t.Helper()
	admin := func(claims issuer.Claims) string { return s.tokenOf(t, landscape.Admin, claims) }
	_, kid := s.Issuer.Key()
	good := s.Issuer.Claims(issuer.Claims{"groups": []string{"admin"}})
	return map[string]string{
		"expired": admin(issuer.Claims{"exp": time.Now().Add(-time.Hour).Unix()}), "another audience": admin(issuer.Claims{"aud": "mail"}), "another issuer": admin(issuer.Claims{"iss": "https://evil.example"}),
		"not yet": admin(issuer.Claims{"nbf": time.Now().Add(time.Hour).Unix()}), "forged by a stranger": issuer.Sign(t, jose.RS256, jose.JSONWebKey{Key: strangersKey(t), KeyID: kid}, good),
	}
}

func strangersKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return key
}

// ofIssuer starts a run, orders and looks at values with tokens of an issuer: the record says who it was, and has no token.
func (s *apiServer) ofIssuer(t *testing.T) {
	binary, err := programs.Waymark()
	require.NoError(t, err)
	service, auditor := s.tokenOf(t, landscape.Service, nil), s.tokenOf(t, landscape.Auditor, nil)
	shop, ann := "service@example.com ("+s.Issuer.URL+"#00u-service)", "auditor@example.com ("+s.Issuer.URL+"#00u-auditor)"
	answer, body := s.Ask(t, "POST", "/v1/runs", service, `{"pipeline":"orders","params":{"least":3}}`, "Prefer", "wait=60")
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	var run client.RunReport
	require.NoError(t, json.Unmarshal(body, &run))
	require.Equal(t, shop, run.Actor)
	path := "/v1/runs/" + run.ID
	_, body = s.Ask(t, "GET", path+"/starts", service, "")
	var starts remote.Page[client.Start]
	require.NoError(t, json.Unmarshal(body, &starts))
	require.Equal(t, shop, starts.Items[0].Actor)
	for token, status := range map[string]int{
		s.tokenOf(t, landscape.Service, issuer.Claims{"email": "other@example.com"}): 200, s.tokenOf(t, landscape.Service, issuer.Claims{"sub": "someone-else"}): 404,
		s.Tokens[landscape.Service]: 404, s.Issuer.Token(t, issuer.Claims{"groups": "narrow"}): 404, s.tokenOf(t, landscape.Viewer, nil): 200,
	} {
		answer, body := s.Ask(t, "GET", path, token, "")
		require.Equal(t, status, answer.StatusCode, "%s", body)
	}
	answer, body = s.Ask(t, "POST", path+"/retry", s.tokenOf(t, landscape.Operator, nil), `{"why":"to see"}`)
	require.Equal(t, 202, answer.StatusCode, "%s", body)
	var again client.Retry
	require.NoError(t, json.Unmarshal(body, &again))
	_, body = s.Ask(t, "GET", "/v1/runs/"+again.Run+"/starts", service, "")
	require.NotContains(t, string(body), "operator@example.com", "somebody else started it")
	_, body = s.Ask(t, "GET", "/v1/runs/"+again.Run+"/starts", auditor, "")
	require.Contains(t, string(body), "operator@example.com ("+s.Issuer.URL+"#00u-operator)")

	answer, body = s.Ask(t, "GET", path+"/explain?row=3", auditor, "")
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	_, body = s.Ask(t, "GET", "/v1/disclosures?limit=1", s.Tokens[landscape.Admin], "")
	var shown remote.Page[client.Disclosure]
	require.NoError(t, json.Unmarshal(body, &shown))
	require.Equal(t, []string{ann, run.ID}, []string{shown.Items[0].Actor, shown.Items[0].Run})
	require.Regexp(t, `^oidc-[0-9a-f]{12}$`, shown.Items[0].Access)
	require.Contains(t, s.Waymark(t, "access", "disclosures", "--limit", "1"), ann)

	_, body = s.Ask(t, "GET", "/v1/whoami", auditor, "")
	var access client.Access
	require.NoError(t, json.Unmarshal(body, &access))
	require.Equal(t, []string{ann, s.Issuer.URL, "groups=auditor"}, []string{access.Name, access.Actor, access.Why})
	_, body = s.Ask(t, "GET", "/v1/whoami", s.Issuer.Token(t, issuer.Claims{"groups": []string{"hr"}}), "")
	require.Contains(t, string(body), `has no role here: the token has the claim groups with [\"hr\"], which no --oidc-role is about`)
	cmd := exec.CommandContext(t.Context(), binary, "runs", "--json")
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "WAYMARK_SERVER="+s.URL, "WAYMARK_TOKEN="+auditor)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), run.ID)
	s.Nowhere(t, strings.Split(service, ".")[2], strings.Split(auditor, ".")[2])
}

// TestIssuerIsAway serves while the issuer of tokens does not answer, and takes them when it does. Tokens of ours count all the time.
func TestIssuerIsAway(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	provider := issuer.Start(t)
	provider.SetAway(true)
	s := &apiServer{serving.StartAPI(t, provider.Flags()...)}
	s.Issuer = provider
	require.Eventually(t, func() bool { return strings.Contains(s.Log.String(), "tokens of the issuer cannot be checked yet") }, patience, 10*time.Millisecond)
	answer, body := s.Ask(t, "GET", "/v1/whoami", s.tokenOf(t, landscape.Viewer, nil), "")
	require.Equal(t, []any{503, "ISSUER_AWAY", "5"}, []any{answer.StatusCode, code(t, body), answer.Header.Get("Retry-After")})
	var problem remote.Problem
	require.NoError(t, json.Unmarshal(body, &problem))
	require.Contains(t, problem.Cure, "waymark access grant")
	require.NotRegexp(t, regexp.MustCompile(`502|dial|/\.well-known`), problem.Detail)
	answer, _ = s.Ask(t, "GET", "/v1/whoami", s.Tokens[landscape.Viewer], "")
	require.Equal(t, 200, answer.StatusCode)
	provider.SetAway(false)
	require.Eventually(t, func() bool {
		answer, _ := s.Ask(t, "GET", "/v1/whoami", s.tokenOf(t, landscape.Viewer, nil), "")
		return answer.StatusCode == 200
	}, patience, 100*time.Millisecond)
	provider.SetAway(true)
	answer, _ = s.Ask(t, "GET", "/v1/whoami", s.tokenOf(t, landscape.Viewer, nil), "")
	require.Equal(t, 200, answer.StatusCode, "its keys are known")
}

// TestPageOfIssuers reads the settings that docs/sign-in.md shows, and compares what it says that somebody without a role gets.
func TestPageOfIssuers(t *testing.T) {
	text := manual.Page(t, "sign-in.md")
	var settings struct {
		Issuer   string   `yaml:"oidc-issuer"`
		Audience string   `yaml:"oidc-audience"`
		Rules    []string `yaml:"oidc-role"`
		Client   string   `yaml:"oidc-client-id"`
		Secret   string   `yaml:"oidc-client-secret-file"`
		Scopes   []string `yaml:"oidc-scope"`
	}
	require.NoError(t, yaml.UnmarshalWithOptions([]byte(strings.Join(manual.Blocks(text, "yaml"), "\n")), &settings, yaml.Strict()))
	config := oidc.Config{Issuer: settings.Issuer, Audience: settings.Audience}
	for _, written := range settings.Rules {
		rule, err := oidc.ParseRule(written)
		require.NoError(t, err)
		config.Rules = append(config.Rules, rule)
	}
	_, err := oidc.New(config)
	require.NoError(t, err)
	ann := "ann@example.com (" + settings.Issuer + "#00u1)"
	require.Contains(t, text, "\n"+ann+"\n")
	require.Contains(t, text, "\n"+(&oidc.NoRole{Issuer: settings.Issuer, Who: ann, Claims: `the claim groups with ["hr"]`}).Error()+"\n")
}
