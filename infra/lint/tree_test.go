package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// root is the repository, seen from this package's folder, where its tests run.
const root = "../.."

// source is one file, with its path below the root, in slashes.
type source struct{ path, text string }

// isTest reports whether the file is compiled for tests only.
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// files returns every file that belongs to the repository, by ending; without one, all of them.
func files(t *testing.T, ending string) []source {
	t.Helper()
	var found []source
	leftBehind := gitignore(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && ignored(path) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || !strings.HasSuffix(path, ending) || leftBehind.matches(d.Name(), false) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		below, err := filepath.Rel(root, path)
		found = append(found, source{filepath.ToSlash(below), string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no file that ends in %q: is the root still %s?", ending, root)
	}
	return found
}

// ignored reports folders that git ignores or owns.
func ignored(path string) bool {
	switch filepath.Base(path) {
	case ".git", ".cache", "node_modules":
		return true
	case "bin", "dist":
		return filepath.Dir(path) == filepath.Clean(root)
	}
	return false
}

// parse parses Go source, with comments, for the rules that look at its structure.
func parse(t *testing.T, s source) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, s.path, s.text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return set, f
}

// localName returns the name under which the file knows the package, empty when it does not import it.
func localName(f *ast.File, path string) string {
	for _, spec := range f.Imports {
		if got, err := strconv.Unquote(spec.Path.Value); err != nil || got != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

// uses calls found for each mention of a name of the imported package.
func uses(f *ast.File, path string, found func(sel *ast.SelectorExpr)) {
	local := localName(f, path)
	if local == "" {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// An identifier that resolves inside the file is a variable that hides the package.
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && id.Obj == nil {
			found(sel)
		}
		return true
	})
}
