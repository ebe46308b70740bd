package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Limits of what the parser is given. A document needs a depth of 8 and, with 4,096 fields, 80,000 tokens. The library
// recurses for each level and each key, its time for the keys of a mapping grows with their square, and it keeps the
// path of every value.
const (
	maxTokens    = 100_000
	maxDepth     = 16
	maxKeyBytes  = 1024
	maxKeys      = 10_000   // of one mapping, or items of one list
	maxPathBytes = 64 << 20 // of all values together
)

const negationCure = "an expression that begins with ! needs quotes: '!has(row.x)'"

const secondDocument = "a second document begins here: one file holds one pipeline"

// checkTokens refuses what a document must not have and what the parser would not survive.
func (l *loader) checkTokens(tokens token.Tokens) bool {
	before := len(l.problems)
	if len(tokens) > maxTokens {
		l.reportToken(tokens[maxTokens], "", "the document has more than %d words and signs", maxTokens)
		return false
	}
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(at *token.Token) bool { return at.Type == token.CommentType })
	var nesting nesting
	tagLine := 0 // what stands behind a tag in its line is the rest of a text that needs quotes
	for i, at := range tokens {
		if problem := refusedToken(tokens, i); problem != "" && at.Position.Line != tagLine {
			l.reportToken(at, "", "%s", problem)
		}
		if at.Type == token.TagType {
			tagLine = at.Position.Line
		}
		if problem := nesting.enter(tokens, i); problem != "" {
			l.reportToken(at, "", "%s", problem)
			break
		}
		if at.Type == token.InvalidType {
			break
		}
	}
	return len(l.problems) == before
}

// refusedToken says why token i has no place in a document, or returns "".
func refusedToken(tokens token.Tokens, i int) string {
	at := tokens[i]
	if isKey(tokens, i) && len(at.Value) > maxKeyBytes {
		return fmt.Sprintf("a key is longer than %d bytes", maxKeyBytes)
	}
	switch at.Type {
	case token.InvalidType:
		return syntaxMessage(at.Error)
	case token.AnchorType, token.AliasType:
		return "anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text"
	case token.MergeKeyType:
		return "merge keys (<<) are not allowed: write the keys out"
	case token.TagType:
		if !strings.HasPrefix(at.Value, "!!") {
			return negationCure
		}
		return fmt.Sprintf("the tag %s is not allowed: write the value without it, and a text in quotes", quote(at.Value))
	case token.DirectiveType:
		return "directives (%) are not allowed: delete the line"
	case token.MappingKeyType:
		return `keys are written without "?"`
	case token.DocumentHeaderType:
		if i > 0 {
			return secondDocument
		}
	}
	return misread(tokens, i)
}

var blankLine = regexp.MustCompile(`\n *\n`)

// misread says what to write instead of token i if the library would silently take it for something else than YAML does,
// or returns "". Found by comparing it with another library on generated texts.
func misread(tokens token.Tokens, i int) string {
	at, before, next := tokens[i], tokens[max(i-1, 0)], tokens[min(i+1, len(tokens)-1)]
	switch at.Type {
	case token.SequenceEntryType: // a key in the line after an empty dash becomes its item, whatever the columns
		if next == at || next.Position.Line > at.Position.Line && next.Position.Column <= at.Position.Column {
			return "nothing stands behind the dash"
		}
	case token.MappingValueType: // {a:b} becomes {a: b}
		if isGlued(before, at, next) {
			return "a space is missing behind the colon; write a text with a colon in quotes"
		}
	case token.StringType: // loses blank lines
		if !isBlockHeader(before) && blankLine.MatchString(strings.TrimSpace(at.Origin)) {
			return "write a text with a blank line in it as a block behind |, or in double quotes"
		}
	case token.SingleQuoteType: // keeps some line ends
		if strings.Contains(strings.TrimSpace(at.Origin), "\n") {
			return "write a text of several lines as a block behind |, or in double quotes"
		}
	}
	return ""
}

// isBlockHeader reports whether the token is the | or > of a text that is a block.
func isBlockHeader(at *token.Token) bool {
	return at.Type == token.LiteralType || at.Type == token.FoldedType
}

// isGlued reports whether the colon stands between a plain key and its value without a space: one text to YAML.
func isGlued(key, colon, value *token.Token) bool {
	quoted := key.Type == token.DoubleQuoteType || key.Type == token.SingleQuoteType
	return !quoted && value.Position.Line == colon.Position.Line && value.Position.Column == colon.Position.Column+1
}

func isKey(tokens token.Tokens, i int) bool {
	return i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType
}

// nesting follows which mappings and lists the tokens are in: brackets exactly, blocks by their columns.
type nesting struct {
	open      []level
	pathBytes int // of all values so far
}

// level is one open mapping or list.
type level struct {
	column int // of a block; 0 for brackets
	key    int // bytes of its newest key
	keys   int // how many keys, dashes or commas it has so far
	path   int // bytes of the keys of the levels around it
}

// enter continues to token i, and says which limit that breaks, if any. Only dashes and keys open a block; whatever the
// library says about the column of another token does not count.
func (n *nesting) enter(tokens token.Tokens, i int) string {
	at := tokens[i]
	switch {
	case at.Type == token.MappingStartType || at.Type == token.SequenceStartType:
		n.push(0)
	case at.Type == token.MappingEndType || at.Type == token.SequenceEndType:
		n.popBracket()
	case isKey(tokens, i) || at.Type == token.SequenceEntryType || at.Type == token.CollectEntryType:
		n.entry(at)
	}
	switch {
	case len(n.open) > maxDepth:
		return fmt.Sprintf("nested deeper than %d levels", maxDepth)
	case len(n.open) > 0 && n.open[len(n.open)-1].keys > maxKeys:
		return fmt.Sprintf("more than %d keys or items in one place", maxKeys)
	case n.pathBytes > maxPathBytes:
		return "too many values below long keys: shorten the keys"
	}
	return ""
}

// entry counts a key or item of the innermost level, which it may open or return to.
func (n *nesting) entry(at *token.Token) {
	if len(n.open) == 0 || n.open[len(n.open)-1].column > 0 {
		n.block(at.Position.Column)
	}
	top := &n.open[len(n.open)-1]
	if top.column > 0 || at.Type == token.CollectEntryType {
		top.keys++
	}
	top.key = len(at.Value)
	n.pathBytes += top.path + top.key
}

// block closes the blocks to the right of the column, and opens one there if there is none.
func (n *nesting) block(column int) {
	top := len(n.open)
	for top > 0 && n.open[top-1].column > column {
		top--
	}
	n.open = n.open[:top]
	if top == 0 || n.open[top-1].column < column {
		n.push(column)
	}
}

func (n *nesting) push(column int) {
	path := 0
	if len(n.open) > 0 {
		around := n.open[len(n.open)-1]
		path = around.path + around.key
	}
	n.open = append(n.open, level{column: column, path: path})
}

func (n *nesting) popBracket() {
	for len(n.open) > 0 {
		top := n.open[len(n.open)-1]
		n.open = n.open[:len(n.open)-1]
		if top.column == 0 {
			return
		}
	}
}
