package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// text returns the text of the node with its references replaced, and false after a problem.
func (l *loader) text(path string, n *node, rule fieldRule) (string, bool) {
	if n.kind == mappingNode || n.kind == listNode {
		l.report(path, "expects a text, not %s; write a text with special characters in quotes", n.describe())
		return "", false
	}
	text, ok := l.resolve(path, n, rule.text)
	if !ok {
		return "", false
	}
	if text == "" && rule.text != exactText && rule.text != slotKind && !rule.inList {
		l.report(path, "must not be empty")
		return "", false
	}
	if len(rule.words) > 0 {
		if err := checkWord(text, rule.words); err != nil {
			l.report(path, "%s", err)
			return "", false
		}
	}
	return text, true
}

// resolve returns the text as its kind asks for it.
func (l *loader) resolve(path string, n *node, kind textKind) (string, bool) {
	if kind == plainText || kind == sentText || kind == pathText || kind == nameText {
		if what := n.ambiguous(); what != "" {
			l.report(path, "%s is %s to YAML: write %s in quotes", shorten(n.text), what, quote(n.text))
			return "", false
		}
	}
	if kind == sentText {
		l.sends = true
		defer func() { l.sends = false }()
		return l.expand(path, n.text)
	}
	text, references, err := splitReferences(n.text)
	if err != nil {
		l.report(path, "%s", err)
		return "", false
	}
	if fault := misplacedSecret(kind, references); fault != "" {
		l.report(path, "%s", fault)
		return "", false
	}
	switch kind {
	case secretRef:
		return l.secretReference(path, n.text, text, references)
	case plainText, pathText:
		return l.expand(path, n.text)
	case queryText:
		return l.expandQuery(path, n.text)
	case slotKind:
		return l.slotDefault(path, n, text, references)
	}
	if len(references) > 0 {
		l.report(path, "${%s}: %s", references[0].name(), noReferences(kind, references[0]))
		return "", false
	}
	return text, true
}

// misplacedSecret says why a secret cannot be in a text of the kind; it is empty if there is none, or the kind takes
// none of the others either. A secret that decided how rows are read or written could be read from them.
func misplacedSecret(kind textKind, references []span) string {
	at := slices.IndexFunc(references, func(s span) bool { return s.kind == SecretReference })
	switch {
	case at < 0:
		return ""
	case kind == pathText, kind == queryText:
		return fmt.Sprintf("${%s}: a %s is recorded, and a secret must not be", references[at].name(), kind)
	case kind == plainText:
		return fmt.Sprintf("${%s}: a secret goes into the dsn of postgres, the headers of http and the secret of a "+
			"trigger, and nowhere else", references[at].name())
	}
	return ""
}

// noReferences says why there is none in such a text, and the cure.
func noReferences(kind textKind, reference span) string {
	switch {
	case kind == nameText:
		return "references are not replaced in names"
	case kind == exactText:
		return "references are not replaced in values that are kept as written"
	case reference.kind == ParamReference:
		return "references are not replaced in expressions: write param." + reference.text
	case reference.kind == SlotReference:
		return "references are not replaced in expressions: declare a parameter with such a default and write param.NAME"
	default:
		return "references are not replaced in expressions: declare a parameter and write param.NAME"
	}
}

// typedText returns the text of a number, a bool, a size or a duration. It is plain, or one whole ${param:NAME}. parse says whether
// a text is one of what is wanted: only then is it good advice to take the quotes away.
func (l *loader) typedText(path string, n *node, want string, parse func(string) error) (string, bool) {
	if n.kind != scalarNode {
		l.report(path, "expects %s, not %s", want, n.describe())
		return "", false
	}
	if !strings.Contains(n.text, "${") {
		switch {
		case !n.quoted:
			return n.text, true
		case parse(n.text) == nil:
			l.report(path, "expects %s: write %s without quotes", want, shorten(n.text))
		default:
			l.report(path, "expects %s, without quotes, not %s", want, quote(n.text))
		}
		return "", false
	}
	literal, references, err := splitReferences(n.text)
	if err != nil || literal != "" || len(references) != 1 || references[0].kind != ParamReference {
		l.report(path, "expects %s: only a whole ${param:NAME} may stand for it", want)
		return "", false
	}
	return l.lookUpParam(path, references[0].text)
}

// describe says what the node is, for a message about what it should be.
func (n *node) describe() string {
	switch n.kind {
	case mappingNode:
		return "a mapping"
	case listNode:
		return "a list"
	default:
		return quote(n.text)
	}
}

// secretReference returns a text that is one reference to a secret, as it is written. The problem repeats nothing of another text: it may be the secret.
func (l *loader) secretReference(path, written, literal string, references []span) (string, bool) {
	if literal != "" || len(references) != 1 || references[0].kind != SecretReference {
		l.report(path, "the document is recorded, and a secret must not be: write ${secret:NAME}")
		return "", false
	}
	return written, true
}
