package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"waymark/serve/oidc"
)

// issuerFlags say which issuer's tokens the HTTP API takes beside its own.
type issuerFlags struct {
	oidc.Config
	rules  []string
	secret string // the file of the client's secret
}

// bind defines the flags.
func (f *issuerFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.Issuer, "oidc-issuer", "", "`URL` of an issuer of OpenID Connect whose tokens the API takes beside access tokens")
	flags.StringVar(&f.Audience, "oidc-audience", "", "`name` of the API that these tokens have as their audience")
	flags.StringArrayVar(&f.rules, "oidc-role", nil, "`rule` that gives roles, as CLAIM=VALUE:ROLE,ROLE or, for some pipelines, CLAIM=VALUE:ROLE@PATTERN,PATTERN; can be repeated")
	flags.StringVar(&f.ClientID, "oidc-client-id", "", "`name` of the client of the issuer with which people sign in to the web pages")
	flags.StringVar(&f.secret, "oidc-client-secret-file", "", "`file` with the secret of the client; without it the client is a public one")
	flags.StringSliceVar(&f.Scopes, "oidc-scope", nil, "`scopes` to ask for beside openid, profile and email, separated by commas")
	flags.StringVar(&f.Redirect, "oidc-redirect", "", "`URL` to which the issuer sends people back, if a proxy is in front: https://HOST"+oidc.CallbackPath)
}

// issuer returns the issuer that the flags name; nil if they name none.
func (f *issuerFlags) issuer() (*oidc.Issuer, error) {
	if f.Issuer == "" {
		if f.Audience != "" || f.rules != nil || f.ClientID != "" {
			return nil, wrongUsef("--oidc-audience, --oidc-client-id and --oidc-role belong to an --oidc-issuer")
		}
		return nil, nil
	}
	switch {
	case f.Audience == "" && f.ClientID == "":
		return nil, wrongUsef("--oidc-issuer %s: say with --oidc-audience which of its tokens are for this API, or with --oidc-client-id how people sign in", f.Issuer)
	case f.ClientID == "" && (f.secret != "" || f.Scopes != nil || f.Redirect != ""):
		return nil, wrongUsef("--oidc-client-secret-file, --oidc-scope and --oidc-redirect belong to an --oidc-client-id")
	case f.secret != "":
		secret, err := os.ReadFile(f.secret)
		if f.ClientSecret = strings.TrimSpace(string(secret)); err != nil || f.ClientSecret == "" {
			return nil, wrongUsef("--oidc-client-secret-file %s: it has no secret: %v", f.secret, err)
		}
	}
	for _, text := range f.rules {
		rule, err := oidc.ParseRule(text)
		if err != nil {
			return nil, wrongUsef("--oidc-role: %v", err)
		}
		f.Rules = append(f.Rules, rule)
	}
	issuer, err := oidc.New(f.Config)
	if err != nil {
		return nil, wrongUsef("--oidc-issuer: %v", err)
	}
	return issuer, nil
}

// tellIssuer says at the start whether the issuer answers. If it does not, it is asked again for the next token that it is to have made.
func tellIssuer(ctx context.Context, issuer *oidc.Issuer, logger *slog.Logger) {
	if err := issuer.Reach(ctx); err != nil {
		logger.Warn("tokens of the issuer cannot be checked yet; access tokens count", "error", err)
		return
	}
	logger.Info("tokens of an issuer count", "issuer", issuer.Issuer, "audience", issuer.Audience, "client", issuer.ClientID)
}
