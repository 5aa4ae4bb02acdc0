package patches

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// filter is kubetape's code, running as a filter (patch_main.c).
type filter struct {
	in  io.Writer
	out *bufio.Reader
}

func startFilter(t *testing.T) *filter {
	t.Helper()
	path := os.Getenv("KUBETAPE_PATCH_FILTER")
	if path == "" {
		path = filepath.Join("..", "..", "..", "build", "patch_filter")
	}
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run make build/patch_filter first", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the filter ended with %v", err)
		}
	})
	return &filter{in, bufio.NewReader(out)}
}

func (f *filter) ask(t *testing.T, fields ...string) string {
	t.Helper()
	if _, err := io.WriteString(f.in, strings.Join(fields, "\t")+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := f.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}
