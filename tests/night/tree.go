package main

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Packages that tests import to be tried at length.
const (
	module  = "waymark"
	samples = module + "/tests/sample"
	rapid   = "pgregory.net/rapid"
)

// tree is the packages of the module that have tests.
type tree struct {
	root     string
	packages []*folder
	scripts  []string // of tests/cli that are skipped by day
}

// folder is a package and its tests.
type folder struct {
	name     string   // as the go command takes it, such as ./tests/graphs
	imports  []string // of its tests
	declared map[string]*declaration
}

// look reads which tests there are below root. It runs no go command.
func look(root string) (*tree, error) {
	t := &tree{root: root}
	err := filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name := entry.Name()
		if at != root && (strings.ContainsAny(name[:1], "._") || name == "testdata" || name == "out") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil && at != root {
			return fs.SkipDir
		}
		return t.add(at)
	})
	if err != nil {
		return nil, err
	}
	t.scripts, err = scripts(root)
	return t, err
}

// add adds the package in a folder, if it has tests.
func (t *tree) add(at string) error {
	found, err := build.ImportDir(at, 0)
	if _, none := errors.AsType[*build.NoGoError](err); none {
		return nil
	}
	if err != nil {
		return err
	}
	name, err := filepath.Rel(t.root, at)
	if err != nil {
		return err
	}
	f := &folder{
		name:     "./" + filepath.ToSlash(name),
		imports:  slices.Concat(found.TestImports, found.XTestImports),
		declared: map[string]*declaration{},
	}
	files := slices.Concat(found.TestGoFiles, found.XTestGoFiles)
	for _, file := range files {
		if err := f.parse(filepath.Join(at, file)); err != nil {
			return err
		}
	}
	if len(files) > 0 {
		t.packages = append(t.packages, f)
	}
	return nil
}

// find returns a package; nil if it has no tests.
func (t *tree) find(name string) *folder {
	for _, f := range t.packages {
		if f.name == name {
			return f
		}
	}
	return nil
}

// scripts returns the names of scripts that differ by night.
func scripts(root string) (found []string, err error) {
	files, err := filepath.Glob(filepath.Join(root, "tests/cli/*.txtar"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), "[nightly]") || strings.Contains(string(text), "[!nightly]") {
			found = append(found, strings.TrimSuffix(filepath.Base(file), ".txtar"))
		}
	}
	return found, err
}

// uses reports whether a test of the package imports another package.
func (f *folder) uses(imported string) bool { return slices.Contains(f.imports, imported) }

// tests returns the package's tests.
func (f *folder) tests() []string { return testsOf(maps.Keys(f.declared)) }

// reaching returns the tests that use an imported package, themselves or by what is declared beside them. It goes by
// names alone: a test too many costs a little time, one too few would never be tried.
func (f *folder) reaching(imported string) []string {
	reach := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for name, d := range f.declared {
			if !reach[name] && d.reaches(imported, reach) {
				reach[name], grown = true, true
			}
		}
	}
	return testsOf(maps.Keys(reach))
}

func testsOf(names iter.Seq[string]) []string {
	return slices.DeleteFunc(slices.Sorted(names), func(name string) bool {
		return !strings.HasPrefix(name, "Test") || name == "TestMain"
	})
}

// declaration is what is declared under a name, in one place or several.
type declaration struct {
	imports map[string]bool // the imported packages that it names
	names   map[string]bool // all else that it names
}

func (d *declaration) reaches(imported string, reach map[string]bool) bool {
	if d.imports[imported] {
		return true
	}
	for name := range d.names {
		if reach[name] {
			return true
		}
	}
	return false
}

// parse adds what a file declares: functions, methods, variables and types.
func (f *folder) parse(file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imports := importsOf(parsed)
	for _, d := range parsed.Decls {
		for name, node := range declared(d) {
			if f.declared[name] == nil {
				f.declared[name] = &declaration{imports: map[string]bool{}, names: map[string]bool{}}
			}
			f.declared[name].read(node, imports)
		}
	}
	return nil
}

// importsOf returns what is imported, by the name that it has in the file.
func importsOf(file *ast.File) map[string]string {
	all := map[string]string{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all[name] = imported
	}
	return all
}

// declared returns the names that a declaration declares.
func declared(d ast.Decl) map[string]ast.Node {
	all := map[string]ast.Node{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		all[d.Name.Name] = d
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					all[name.Name] = spec
				}
			case *ast.TypeSpec:
				all[spec.Name.Name] = spec
			}
		}
	}
	return all
}

// read adds what is named below a node.
func (d *declaration) read(node ast.Node, imports map[string]string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is && imports[x.Name] != "" {
				d.imports[imports[x.Name]] = true
				return false
			}
		}
		if name, is := n.(*ast.Ident); is {
			d.names[name.Name] = true
		}
		return true
	})
}
