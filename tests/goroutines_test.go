package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryGoroutineCatchesItsPanics: a panic in a goroutine ends the process, whatever its other goroutines
// catch. So each one of the
// program begins with a function of package defect. Coroutines of workflows are Temporal's, which catches what
// they panic with.
func TestEveryGoroutineCatchesItsPanics(t *testing.T) {
	begun, wrong := 0, []string{}
	eachProduct(t, func(files *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			began := begins(n)
			if began == nil {
				return true
			}
			if begun++; !catches(began) {
				wrong = append(wrong, files.Position(n.Pos()).String())
			}
			return true
		})
	})
	const cure = "a panic there would end the process: " +
		"begin the goroutine with defect.Guard, defect.Again or defect.Catch"
	require.Empty(t, wrong, cure)
	require.Greater(t, begun, 40, "the program has more goroutines than that")
}

// TestGoroutinesThatCatchNothingAreFound tries the test above on what it has to find, and on what it has to leave
// alone.
func TestGoroutinesThatCatchNothingAreFound(t *testing.T) {
	for code, safe := range map[string]bool{
		`go work()`:              false,
		`go func() { work() }()`: false,
		`group.Go(work)`:         false,
		`group.Go(func() error { return work() })`:     false,
		`time.AfterFunc(1, stop)`:                      false,
		`context.AfterFunc(ctx, stop)`:                 false,
		`go func() { work(); defect.Catch("a", b) }()`: false,
		// it is only made there
		`go defect.Guard("a", work)`:                                                          false,
		`go defect.Guard("a", work)()`:                                                        true,
		`go defect.Again(ctx, "a", work)()`:                                                   true,
		`group.Go(defect.Guard("a", work))`:                                                   true,
		`context.AfterFunc(ctx, defect.Guard("a", stop))`:                                     true,
		`group.Go(func() error { return defect.Catch("a", func() error { return work() }) })`: true,
		`go func() { defer close(done); now.err = defect.Catch("a", work); done <- now }()`:   true,
		`go func() { defer func() { <-places }(); failed[i] = defect.Catch("a", work) }()`:    true,
		`workflow.Go(ctx, func(ctx workflow.Context) { work() })`:                             true,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package a\nfunc f() {\n"+code+"\n}", 0)
		require.NoError(t, err)
		found := true
		ast.Inspect(file, func(n ast.Node) bool {
			if began := begins(n); began != nil && !catches(began) {
				found = false
			}
			return true
		})
		require.Equal(t, safe, found, code)
	}
}

// begins returns the function with which a statement or call begins a goroutine; nil if it begins none.
func begins(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		return n.Call.Fun
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) == 0 || isNamed(called.X, "workflow") {
			return nil
		}
		if name := called.Sel.Name; name == "Go" || name == "TryGo" || name == "AfterFunc" {
			return n.Args[len(n.Args)-1]
		}
	}
	return nil
}

// catches reports whether a function was made by package defect, or calls nothing outside of it that can panic.
func catches(function ast.Expr) bool {
	if ofDefect(function) {
		return true
	}
	literal, ok := function.(*ast.FuncLit)
	if !ok {
		return false
	}
	safe := true
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if ofDefect(call) || ofDefect(call.Fun) {
			return false
		}
		switch called := call.Fun.(type) {
		case *ast.FuncLit: // it is looked at as well
		case *ast.Ident:
			safe = safe && called.Name == "close"
		case *ast.SelectorExpr:
			safe = safe && called.Sel.Name == "Done"
		default:
			safe = false
		}
		return true
	})
	return safe
}

// ofDefect reports whether an expression is a call of package defect.
func ofDefect(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	called, ok := call.Fun.(*ast.SelectorExpr)
	return ok && isNamed(called.X, "defect")
}

func isNamed(e ast.Expr, name string) bool {
	called, ok := e.(*ast.Ident)
	return ok && called.Name == name
}

// eachProduct calls do with every file of the program: none of tests, and none of packages that tests alone
// import, whose names end so.
func eachProduct(t *testing.T, do func(*token.FileSet, *ast.File)) {
	t.Helper()
	root := ".."
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			outside := []string{"../tests", "../internal/defect", "../examples", "../docs", "../out", "../bin"}
			hidden := path != root && strings.HasPrefix(name, ".")
			if hidden || name == "testdata" || strings.HasSuffix(name, "test") || slices.Contains(outside, path) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err == nil {
			do(files, file)
		}
		return err
	}))
}
