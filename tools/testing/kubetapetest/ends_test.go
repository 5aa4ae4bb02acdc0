package kubetapetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// How the test binary ends in TestEnds, which other tests start as a program of its own.
const howToEnd = "KUBETAPE_TEST_ENDS"

var endings = map[string]func(){
	"panic":   func() { go panic("of a goroutine"); select {} },
	"exit":    func() { os.Exit(1) },
	"kill":    func() { self, _ := os.FindProcess(os.Getpid()); self.Kill() },
	"timeout": func() { select {} },
	"return":  func() {},
}

func TestEnds(t *testing.T) {
	end, found := endings[os.Getenv(howToEnd)]
	if !found {
		t.Skip("only a part of other tests")
	}
	config := Replay(t, os.Getenv("KUBETAPE_TAPE"), strings.Fields(os.Getenv("KUBETAPE_TEST_OPTIONS"))...)
	fmt.Println("serves at", config.Host)
	end()
}

// Runs TestEnds as a program of its own, and returns what it says.
func runEnds(t *testing.T, how, tape, options string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, os.Args[0], append(arguments, "-test.run=^TestEnds$")...)
	program.Env = append(os.Environ(), howToEnd+"="+how, "KUBETAPE_TAPE="+tape, "KUBETAPE_TEST_OPTIONS="+options)
	program.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	program.Stdout, program.Stderr = &output, &output
	if err := program.Run(); ctx.Err() != nil {
		t.Errorf("the test does not end: %v", err)
	}
	return output.String()
}

// Somebody who is refused knows that the replay is gone.
func awaitNobodyServes(t *testing.T, output string) {
	t.Helper()
	found := regexp.MustCompile(`serves at (\S+)`).FindStringSubmatch(output)
	if found == nil {
		t.Fatalf("no replay has served:\n%s", output)
	}
	address, err := url.Parse(found[1])
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", address.Host)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			connection.Close()
		}
		if time.Now().After(end) {
			t.Fatalf("the replay at %s serves for ever", address.Host)
		}
	}
}

func TestAReplayEndsHoweverTheTestBinaryEnds(t *testing.T) {
	for how := range endings {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			timeout := map[string]string{"timeout": "10s"}[how]
			awaitNobodyServes(t, runEnds(t, how, os.Getenv("KUBETAPE_TAPE"), "", "-test.timeout="+cmp.Or(timeout, "10m")))
		})
	}
}

func TestWhatIsWrongWithATapeOrAnOptionIsSaidByTheTest(t *testing.T) {
	for _, wrong := range []struct{ tape, options, sentence string }{
		{t.TempDir() + "/none.tape", "", "cannot open tape"},
		{os.Getenv("KUBETAPE_TAPE"), "--no-such-option", "unknown option '--no-such-option'"},
	} {
		output := runEnds(t, "return", wrong.tape, wrong.options)
		_, failure, _ := strings.Cut(output, "--- FAIL: TestEnds")
		if !strings.Contains(failure, wrong.sentence) || strings.Contains(output, "kubeconfig: no such file") {
			t.Errorf("'%s' was expected in the test's failure:\n%s", wrong.sentence, output)
		}
	}
}

func TestWhatAReplaySaysOnStderrIsInTheLogOfTheTest(t *testing.T) {
	output := runEnds(t, "return", os.Getenv("KUBETAPE_TAPE"), "", "-test.v")
	if !regexp.MustCompile(`(?m)^    replay.go:\d+: export KUBECONFIG=`).MatchString(output) {
		t.Errorf("a line of the replay was expected in the test's log:\n%s", output)
	}
}
