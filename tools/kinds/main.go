// Command kinds asks Kubernetes' own code what its API server says of the built-in kinds, and writes it as a table:
//
//	cd tools/kinds
//	go run . columns >../../replayer/table/table_headings.c
//	go run . zeros >../../replayer/kinds/zero_table.c
//
// columns: what the server says of each column of the tables that kubectl prints. zeros: how an object of each kind
// looks of which nothing is set, which is what a bookmark shows.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kinds: "+format+"\n", args...)
	os.Exit(1)
}

// version names the release that the code came from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		fail("the program does not know its modules")
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return dep.Path + "@" + dep.Version
		}
	}
	fail("k8s.io/kubernetes is not among the modules")
	return ""
}

// quoted is the text as a C string, in lines that fit.
func quoted(text, indent string) string {
	const widest = 90
	var lines []string
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for len(text) > widest {
		end := strings.LastIndexByte(text[:widest], ' ') + 1
		if end == 0 {
			end = widest
		}
		lines = append(lines, `"`+escape.Replace(text[:end])+`"`)
		text = text[end:]
	}
	lines = append(lines, `"`+escape.Replace(text)+`"`)
	return strings.Join(lines, "\n"+indent)
}

func main() {
	writers := map[string]func(*bufio.Writer){"columns": writeColumns, "zeros": writeZeros}
	if len(os.Args) != 2 || writers[os.Args[1]] == nil {
		fail("expected one argument, columns or zeros")
	}
	out := bufio.NewWriter(os.Stdout)
	writers[os.Args[1]](out)
	if err := out.Flush(); err != nil {
		fail("%v", err)
	}
}
