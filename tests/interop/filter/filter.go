// Package filter runs a piece of kubetape's C code as a filter, so that Go tests can ask it.
package filter

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Start runs the program that the variable names, or build/NAME of the checkout, until the test is over. The caller is
// in a folder of tests/interop.
func Start(t *testing.T, variable, name string) (in io.Writer, out io.Reader) {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("..", "..", "..", "build", name)
	}
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run make build/%s first", err, name)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
	})
	return stdin, stdout
}
