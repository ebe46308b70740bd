package main

import (
	"context"
	"log/slog"

	"github.com/spf13/pflag"

	"waymark/serve/oidc"
)

// issuerFlags say which issuer's tokens the HTTP API takes beside its own.
type issuerFlags struct {
	oidc.Config
	rules []string
}

// bind defines the flags.
func (f *issuerFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.Issuer, "oidc-issuer", "", "`URL` of an issuer of OpenID Connect whose tokens the API takes beside access tokens")
	flags.StringVar(&f.Audience, "oidc-audience", "", "`name` of the API that these tokens have as their audience")
	flags.StringArrayVar(&f.rules, "oidc-role", nil, "`rule` that gives roles, as CLAIM=VALUE:ROLE,ROLE or, for some pipelines, CLAIM=VALUE:ROLE@PATTERN,PATTERN; can be repeated")
}

// issuer returns the issuer that the flags name; nil if they name none.
func (f *issuerFlags) issuer() (*oidc.Issuer, error) {
	if f.Issuer == "" {
		if f.Audience != "" || f.rules != nil {
			return nil, wrongUsef("--oidc-audience and --oidc-role belong to an --oidc-issuer")
		}
		return nil, nil
	}
	if f.Audience == "" {
		return nil, wrongUsef("--oidc-issuer %s: say with --oidc-audience which of its tokens are for this API", f.Issuer)
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
	logger.Info("tokens of an issuer count", "issuer", issuer.Issuer, "audience", issuer.Audience)
}
