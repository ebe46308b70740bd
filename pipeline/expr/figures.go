package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"waymark/pipeline/row"
)

// RunEnv holds what expressions about a whole run may name. It is immutable and safe for concurrent use.
type RunEnv struct {
	figures []Field
	names   []string        // of figures
	roots   map[string]bool // with which the names begin
	params  map[string]row.Value
	parser  *Env
}

// NewRunEnv returns an environment for expressions that name these figures of a run. The name of a figure is a path of at least two
// words, such as `sinks.out.rows`; names are distinct. Parameters are as in NewEnv.
func NewRunEnv(figures []Field, params map[string]row.Value) (*RunEnv, error) {
	parser, err := newEnv(figuresName, nil, false, params)
	e := &RunEnv{figures: slices.Clone(figures), roots: map[string]bool{}, params: maps.Clone(params), parser: parser}
	for _, figure := range figures {
		root, _, _ := strings.Cut(figure.Name, ".")
		e.roots[root] = true
		e.names = append(e.names, figure.Name)
	}
	return e, err
}

// An Assertion is a compiled expression over figures of a run that is true or false. It is immutable and safe for concurrent use.
type Assertion struct {
	program *Program
	shape   *row.Shape // one field for each figure
	text    []rune     // the source
	shown   []shownFigure
}

// shownFigure is where a figure, or a parameter, stands in the source.
type shownFigure struct {
	span
	figure int    // index into Figures; -1 of a parameter
	value  string // of a parameter
}

// Compile checks source, which gives true or false, and returns an Assertion for it. The error is a *CompileError.
func (e *RunEnv) Compile(source string) (*Assertion, error) {
	parsed, err := e.parser.parse(source)
	if err != nil {
		return nil, err
	}
	c := &figureCompiler{RunEnv: e, source: source, parsed: parsed.NativeRep(), factory: ast.NewExprFactory(), figures: slices.Clone(e.figures)}
	c.text = newSourceMap(source, c.parsed.SourceInfo())
	if err := c.takeFigures(); err != nil {
		return nil, err
	}
	env, err := newEnv(figuresName, c.figures, false, e.params)
	if err != nil {
		return nil, err
	}
	program, err := env.compile(source, parsed, Bool)
	if err != nil {
		return nil, err
	}
	a := &Assertion{program: program, shape: row.NewShape(program.Fields()), text: c.text.text}
	for _, at := range c.taken {
		a.shown = append(a.shown, shownFigure{at.span, slices.Index(program.Fields(), at.name), at.value})
	}
	return a, nil
}

// Figures returns the names of the figures that the assertion reads, each once, in the order of the source. That of the median of
// a figure over the last n runs begins with last(n). The slice belongs to the assertion; do not change it.
func (a *Assertion) Figures() []string { return a.program.Fields() }

// Holds reports whether the assertion is true, given the values of Figures, in that order. A median may be null. The error is an *EvalError.
func (a *Assertion) Holds(values []row.Value) (bool, error) {
	value, err := a.program.Eval(row.Row{Shape: a.shape, Values: values})
	if err != nil {
		return false, err
	}
	return value.Bool(), nil
}

// Shown returns the source in one line, with these values in the place of figures, and with those of parameters.
func (a *Assertion) Shown(values []row.Value) string {
	var b strings.Builder
	from := 0
	for _, at := range a.shown {
		b.WriteString(string(a.text[from:at.from]))
		if value := at.value; at.figure < 0 {
			b.WriteString(value)
		} else {
			b.WriteString(shownValue(toCEL(values[at.figure])))
		}
		from = at.end
	}
	b.WriteString(string(a.text[from:]))
	return oneLine(strings.Join(strings.Fields(b.String()), " "), maxMessageBytes)
}

// A figureCompiler puts a field in the place of each figure of a parsed expression.
type figureCompiler struct {
	*RunEnv
	source  string
	parsed  *ast.AST
	text    *sourceMap
	factory ast.ExprFactory
	figures []Field // those of the run, and medians
	taken   []takenFigure
}

type takenFigure struct {
	span
	name  string // of the figure; "" of a parameter
	value string // of a parameter
}

// takeFigures replaces all figures. The error is a *CompileError: the first mistake about figures.
func (c *figureCompiler) takeFigures() error {
	var first error
	ast.PreOrderVisit(c.parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if first == nil {
			first = c.take(e)
		}
	}))
	slices.SortFunc(c.taken, func(a, b takenFigure) int { return a.from - b.from })
	return first
}

// take replaces e, if it is a figure or a median, and notes a parameter.
func (c *figureCompiler) take(e ast.Expr) error {
	root, path := pathOf(e)
	switch {
	case e.Kind() == ast.ComprehensionKind && c.roots[e.AsComprehension().IterVar()]:
		return c.errorAt(e, fmt.Sprintf("%q begins the names of figures: choose another name for the item", e.AsComprehension().IterVar()))
	case root.Kind() == ast.IdentKind && c.roots[root.AsIdent()]:
		return c.replace(e, root, root.AsIdent()+path)
	case functionOf(root) == lastName:
		return c.median(e, root, strings.TrimPrefix(path, "."))
	case isIdent(root, paramName):
		if value, ok := c.params[strings.TrimPrefix(path, ".")]; ok && !value.IsNull() {
			c.taken = append(c.taken, takenFigure{span: c.text.balanced(c.text.spanOf(e)), value: shownValue(toCEL(value))})
		}
	}
	return nil
}

// pathOf returns what a chain of selections begins with, and the names that are selected, with a dot before each. row["x"] is row.x.
func pathOf(e ast.Expr) (root ast.Expr, path string) {
	switch {
	case e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly():
		root, path = pathOf(e.AsSelect().Operand())
		return root, path + "." + e.AsSelect().FieldName()
	case isCall(e, operators.Index) && e.AsCall().Args()[1].Kind() == ast.LiteralKind:
		if name, ok := e.AsCall().Args()[1].AsLiteral().(types.String); ok {
			root, path = pathOf(e.AsCall().Args()[0])
			return root, path + "." + string(name)
		}
	}
	return e, ""
}

// replace puts the field of a figure in the place of e. Its operand stands where the root does, so that the field has the text of the chain.
func (c *figureCompiler) replace(e, root ast.Expr, name string) error {
	if !slices.ContainsFunc(c.figures, func(f Field) bool { return f.Name == name }) {
		return c.errorAt(e, c.unknownFigure(name))
	}
	c.taken = append(c.taken, takenFigure{span: c.text.balanced(c.text.spanOf(e)), name: name})
	e.SetKindCase(c.factory.NewSelect(e.ID(), c.factory.NewIdent(root.ID(), figuresName), name))
	return nil
}

const (
	lastName = "last"
	// MaxLast is how many runs a median is over at most: each is counted from its records.
	MaxLast = 100
)

// median replaces last(n).PATH by the median of a figure over the last n runs, which is null if there are not so many.
func (c *figureCompiler) median(e, root ast.Expr, path string) error {
	n, ok := types.Int(0), len(root.AsCall().Args()) == 1 && root.AsCall().Args()[0].Kind() == ast.LiteralKind
	if ok {
		n, ok = root.AsCall().Args()[0].AsLiteral().(types.Int)
	}
	if !ok || n < 1 || n > MaxLast {
		return c.errorAt(root, fmt.Sprintf("last() takes a number from 1 to %d, as in last(20).run.read: the median over the last 20 complete runs", MaxLast))
	}
	if !slices.Contains(c.names, path) {
		return c.errorAt(e, c.unknownFigure(path))
	}
	name := MedianOf(int(n), path)
	if !slices.ContainsFunc(c.figures, func(f Field) bool { return f.Name == name }) {
		c.figures = append(c.figures, Field{Name: name, Kind: row.Float, Optional: true})
	}
	return c.replace(e, root, name)
}

func (c *figureCompiler) errorAt(e ast.Expr, message string) error {
	return errorAt(c.source, c.parsed, e.ID(), message)
}

// MedianOf returns the name of the median of a figure over the last n runs.
func MedianOf(n int, figure string) string { return fmt.Sprintf("%s(%d).%s", lastName, n, figure) }

// Median returns of which figure, and over how many runs, a figure is the median; false if it is none.
func Median(name string) (n int, figure string, ok bool) {
	if _, err := fmt.Sscanf(name, lastName+"(%d).%s", &n, &figure); err != nil {
		return 0, "", false
	}
	return n, figure, true
}

// unknownFigure explains a path that is no figure.
func (c *figureCompiler) unknownFigure(name string) string {
	if name == "" {
		return "last() is followed by a figure, as in last(20).run.read"
	}
	var begins, siblings []string
	parent := name[:strings.LastIndexByte("."+name, '.')]
	for _, figure := range c.names {
		if strings.HasPrefix(figure, name+".") {
			begins = append(begins, figure)
		}
		if strings.HasPrefix(figure, parent) {
			siblings = append(siblings, figure)
		}
	}
	if begins != nil {
		return fmt.Sprintf("%s is no figure%s", name, suggest("", begins, "name one of its figures"))
	}
	if siblings == nil {
		siblings = c.names
	}
	return fmt.Sprintf("a run has no figure %s%s", name, suggest(name, siblings, "its figures"))
}
