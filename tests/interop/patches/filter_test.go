package patches

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"kubetape.test/filter"
)

// patchFilter is kubetape's code, running as a filter (patch_main.c).
type patchFilter struct {
	in  io.Writer
	out *bufio.Reader
}

func startFilter(t *testing.T) *patchFilter {
	t.Helper()
	in, out := filter.Start(t, "KUBETAPE_PATCH_FILTER", "patch_filter")
	return &patchFilter{in, bufio.NewReader(out)}
}

func (f *patchFilter) ask(t *testing.T, fields ...string) string {
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
