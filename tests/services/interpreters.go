package services

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// nodeFolder names the environment variable with the folder in which npm installed what tests compare with.
const nodeFolder = "WAYMARK_NODE"

// NodeModules returns the folder node_modules that has a package for Node. The test is skipped if it or Node is missing, and fails in CI.
func NodeModules(t testing.TB, name string) string {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join(os.Getenv(nodeFolder), "node_modules"))
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, name))
	}
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil || os.Getenv(nodeFolder) == "" {
		Missing(t, name, "install node, run npm install --prefix FOLDER "+name+", and set "+nodeFolder+"=FOLDER")
	}
	return modules
}

// Python returns the program of Python 3. The test is skipped without it, and fails in CI.
func Python(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		Missing(t, "python3", "install python3")
	}
	return program
}

// PythonWith returns a Python 3 that has a module: the one on the path, or that of the system. The test is skipped without one, and fails in CI.
func PythonWith(t testing.TB, module string) string {
	t.Helper()
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), program, "-c", "import "+module).Run() == nil {
			return program
		}
	}
	Missing(t, module+" for Python", "apt-get install python3-"+module)
	return ""
}
