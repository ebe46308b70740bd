package issuer

import "waymark/landscape"

// Flags are those of a server that takes tokens of the issuer: groups have the names of roles.
func (i *Issuer) Flags() []string {
	flags := []string{"--oidc-issuer", i.URL, "--oidc-audience", Audience, "--oidc-role", "groups=narrow:operator,auditor@others*"}
	for _, role := range landscape.Roles() {
		flags = append(flags, "--oidc-role", "groups="+string(role)+":"+string(role))
	}
	return flags
}
