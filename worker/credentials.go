package worker

import (
	"errors"

	"waymark/plugin/object"
)

// Variables with the keys of buckets that documents use. No flag holds them: everybody on a machine sees the command lines of its
// processes. People write them into settings; never rename.
const (
	DocumentKeyVariable    = "WAYMARK_DOCUMENT_ACCESS_KEY_ID"
	DocumentSecretVariable = "WAYMARK_DOCUMENT_SECRET_ACCESS_KEY"
	DocumentTokenVariable  = "WAYMARK_DOCUMENT_SESSION_TOKEN"
)

// Credentials are those with which documents reach buckets. The zero value is those of the process.
type Credentials = object.Credentials

// DocumentCredentials returns those with which documents reach buckets: the profile, or else the keys in the environment, or else
// those of the process. Errors repeat nothing of them.
func DocumentCredentials(profile string, env func(string) (string, bool)) (Credentials, error) {
	key, _ := env(DocumentKeyVariable)
	secret, _ := env(DocumentSecretVariable)
	token, _ := env(DocumentTokenVariable)
	switch {
	case (key == "") != (secret == ""):
		return Credentials{}, errors.New(DocumentKeyVariable + " and " + DocumentSecretVariable + " belong together: set both, or none")
	case token != "" && key == "":
		return Credentials{}, errors.New(DocumentTokenVariable + " belongs to " + DocumentKeyVariable + ", which is not set")
	case key != "" && profile != "":
		return Credentials{}, errors.New("--document-profile and " + DocumentKeyVariable + " exclude each other")
	}
	return Credentials{Profile: profile, AccessKeyID: key, SecretAccessKey: secret, Token: token}, nil
}
