package expr

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

var (
	docField   = regexp.MustCompile(`(?m)^\| ([^|]+) \| (string|int|float|bool|date|timestamp|decimal|json)(\??) \|(.*)\|$`)
	docBlock   = regexp.MustCompile("(?s)```cel\n(.*?)```")
	docExample = regexp.MustCompile(`^(.*\S)\s+→ (.*)$`)
)

// Every example of docs/expressions.md has the result that stands behind the arrow: a value, the code of a row error, or
// the place of a compile error.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	head, _, _ := strings.Cut(string(page), "## What an expression sees")
	var fields []Field
	texts := map[string]string{}
	for _, m := range docField.FindAllStringSubmatch(head, -1) {
		kind, _ := row.ParseKind(m[2])
		fields = append(fields, Field{Name: m[1], Kind: kind, Optional: m[3] == "?"})
		if text := strings.TrimSpace(m[4]); text != "" {
			texts[m[1]] = text
		}
	}
	env, err := NewEnv(fields, false, documentedParams(t))
	require.NoError(t, err)
	examples := eachExample(t, string(page), docBlock, func(source string) string { return documented(env, source, rowOf(t, fields, texts)) })
	require.Greater(t, examples, 50)
}

func documentedParams(t *testing.T) map[string]row.Value {
	return map[string]row.Value{"limit": row.IntValue(100000), "rate": parse(t, row.Decimal, "0.19")}
}

// eachExample compares what stands behind the arrows of the examples in all such blocks, and returns their number.
func eachExample(t *testing.T, page string, blocks *regexp.Regexp, shown func(source string) string) (examples int) {
	for _, block := range blocks.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			m := docExample.FindStringSubmatch(strings.TrimSpace(line))
			require.NotNil(t, m, line)
			require.Equal(t, m[2], shown(m[1]), line)
			examples++
		}
	}
	return examples
}

// documented returns what the page shows behind the arrow.
func documented(env *Env, source string, r row.Row) string {
	program, err := env.Compile(source, Any)
	if failure, ok := errors.AsType[*CompileError](err); ok {
		place, _, _ := strings.Cut(failure.Error(), ": ")
		return "error " + place
	}
	_, err = program.Eval(r)
	if failure, ok := errors.AsType[*EvalError](err); ok {
		return failure.Code
	}
	return program.Explain(r)[0].Value
}
