package pipeline

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// secretWord is a word of a name that says that what it names gives access, wherever the word stands.
var secretWord = regexp.MustCompile(`^(passwords?|passwd|passphrases?|passcode|pwd|secrets?|token|credentials?|creds?|jwt|bearer)$`)

// gluedSecret is what such a name ends with if its words are not divided. No English word ends so.
var gluedSecret = regexp.MustCompile(`(password|passwd|passphrase|pwd|token|secret|credentials?)$|` +
	`^(db|pg|sql|mysql|smtp|imap|mail|ftp|sftp|ssh|ldap|redis|root|admin|user|http|proxy)pass$|` +
	`(api|access|secret|shared|account|private|priv|signing|encryption|auth|master|aes|hmac|rsa|ssh|ssl|tls|gpg|pgp|deploy|license)keys?$`)

// secretKind are the words before "key" that say which key it is, and leave no doubt.
var secretKind = regexp.MustCompile(`^(api|access|secret|shared|account|private|signing|encryption|auth|master|aes|hmac|rsa|ssh|ssl|tls|gpg|pgp|deploy|license)$`)

// openKind are the words before "key" or "token" that say that it opens nothing.
var openKind = regexp.MustCompile(`^(public|foreign|primary|sort|partition|business|natural|surrogate|row|join|group|page|next|continuation|sync)$`)

// aboutSecret are the words at the end of a name that say something of a secret without being it, such as where it is.
var aboutSecret = regexp.MustCompile(`^(files?|path|dir|folder|url|uri|endpoint|ttl|expiry|length|size|count|limit|type|algorithm|column|field|rate|through)$`)

// placeWord are the words that say where, or for when, something is meant.
var placeWord = regexp.MustCompile(`^(prod|production|test|testing|dev|development|stage|staging|live|qa|uat|eu|us|old|new|current|previous|primary|secondary|backup|[a-z]|\d+)?$`)

// SecretName reports whether a name is such as people give to secrets: PGPASSWORD, GITHUB_TOKEN_PROD, dbPass, api-key. MONKEY, TOKENIZER, BYPASS,
// SORT_KEY and TOKEN_URL are none. What has such a name must not be recorded.
func SecretName(name string) bool {
	words := nameWords(name)
	return surelySecret(words) || keyLast(words)
}

// surelySecret reports whether the words of a name leave no doubt: "key" alone may also be one of a row.
func surelySecret(words []string) bool {
	if len(words) == 0 || aboutSecret.MatchString(words[len(words)-1]) {
		return false
	}
	for i, word := range words {
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		switch {
		case openKind.MatchString(before):
		case secretWord.MatchString(word), gluedSecret.MatchString(word),
			(word == "key" || word == "keys") && secretKind.MatchString(before),
			word == "pass" && i == len(words)-1:
			return true
		}
	}
	return false
}

// keyLast reports whether a name ends with "key", and not in one that is known to open nothing.
func keyLast(words []string) bool {
	n := len(words)
	return n > 0 && words[n-1] == "key" && (n == 1 || !openKind.MatchString(words[n-2]))
}

// nameWords returns the words of a name, in lower case: divided by _, -, . and a change of case; without numbers at their ends, and without the
// places at the end.
func nameWords(name string) []string {
	var words []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, word := range humps(part) {
			words = append(words, strings.TrimRight(strings.ToLower(word), "0123456789"))
		}
	}
	for len(words) > 1 && placeWord.MatchString(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words
}

// humps returns the words of API2Key, apiKey and apikey.
func humps(name string) (words []string) {
	letters, start := []rune(name), 0
	for i := 1; i < len(letters); i++ {
		ends := unicode.IsUpper(letters[i]) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if ends {
			words, start = append(words, string(letters[start:i])), i
		}
	}
	return append(words, string(letters[start:]))
}

// accessWords are names of query parameters that give access, besides those that SecretName knows.
var accessWords = []string{"auth", "sig", "signature", "x-amz-credential", "x-amz-signature", "x-goog-credential", "x-goog-signature"}

// keyWords are such names that are given to other things as well: of a key, or of a place's short code.
var keyWords = []string{"code", "key"}

// leastKeyBytes is how long what such a name stands for must be, to be taken for a key.
const leastKeyBytes = 20

// givesAccess reports whether a parameter of an address is one that gives access.
func givesAccess(name, value string) bool {
	words := nameWords(name)
	return slices.Contains(accessWords, strings.ToLower(name)) || surelySecret(words) ||
		len(words) > 0 && slices.Contains(keyWords, words[len(words)-1]) && len(value) >= leastKeyBytes
}

var (
	secretText = regexp.MustCompile(`//[^/@:\s]*:[^/@\s]+@|-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20}|\beyJ[\w-]{8,}\.eyJ`)
	setting    = regexp.MustCompile(`(?:^|[\s?&;#,])([\w.%-]+)\s*=\s*([^\s&;#,]+)`)
)

// HoldsSecret reports whether a text is such as people keep secret, or has one in it: an address with a user's password or a parameter that gives
// access, a connection text with a password, a private key, or a token of a known form. Such a text must not be recorded.
func HoldsSecret(text string) bool {
	return secretText.MatchString(text) || slices.ContainsFunc(setting.FindAllStringSubmatch(text, -1), func(found []string) bool {
		return givesAccess(found[1], found[2])
	})
}
