// Package kubetapetest hands a tape to Go tests, as envtest hands them a control plane. replayer/TESTING.md shows how.
package kubetapetest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Replay serves a tape until the test is over. What the replay finds then (--golden, --max-lateness) is the test's verdict, too.
func Replay(t *testing.T, tape string, options ...string) *rest.Config {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	replay := start(t, append([]string{"replay", tape, "--kubeconfig", kubeconfig}, options...))
	replay.awaitServing(t)
	t.Cleanup(func() {
		if verdict, err := replay.end(); err != nil {
			t.Errorf("kubetape replay: %v\n%s", err, verdict)
		}
		replay.stderr.forward(t)
	})
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// A panic, os.Exit and -test.timeout run no cleanup, but they close this program's end of the shell's stdin. The shell has to be
// there then, whatever ended this program from the terminal; and only the replay may keep stdout and stderr open.
const untilStdinEnds = `trap "" INT QUIT; "$@" & exec >/dev/null 2>&1; read -r _; kill $!; wait $!`

type replay struct {
	command *exec.Cmd
	stdin   io.Closer
	stdout  *bufio.Reader
	stderr  lines
}

func start(t *testing.T, arguments []string) *replay {
	t.Helper()
	program, err := exec.LookPath("kubetape")
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{command: exec.Command("sh", append([]string{"-c", untilStdinEnds, "sh", program}, arguments...)...)}
	r.command.Stderr = &r.stderr
	stdin, inErr := r.command.StdinPipe()
	stdout, outErr := r.command.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		t.Fatal(err)
	}
	r.stdin, r.stdout = stdin, bufio.NewReader(stdout)
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The first line is "serving TAPE at URL": from there on it answers.
func (r *replay) awaitServing(t *testing.T) {
	t.Helper()
	first, err := r.stdout.ReadString('\n')
	if err == nil {
		r.stderr.forward(t)
		return
	}
	rest, ended := r.end()
	if ended != nil {
		err = ended
	}
	t.Fatalf("kubetape replay does not serve: %v\n%s%s%s", err, first, rest, r.stderr.text)
}

func (r *replay) end() (verdict []byte, err error) {
	r.stdin.Close()
	verdict, err = io.ReadAll(r.stdout)
	return verdict, errors.Join(err, r.command.Wait())
}

// lines is what the program says on stderr: held until it serves, as it may be why it does not; then the test's log.
type lines struct {
	mutex sync.Mutex
	text  []byte
	t     *testing.T
}

func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, text...)
	l.log(bytes.LastIndexByte(l.text, '\n') + 1)
	return len(text), nil
}

// forward logs what was held, and all that comes.
func (l *lines) forward(t *testing.T) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.t = t
	l.log(len(l.text))
}

func (l *lines) log(length int) {
	if l.t == nil || length == 0 {
		return
	}
	l.t.Logf("%s", bytes.TrimSuffix(l.text[:length], []byte("\n")))
	l.text = l.text[length:]
}
