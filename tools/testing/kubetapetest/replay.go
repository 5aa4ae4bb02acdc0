// Package kubetapetest hands a tape to Go tests, as envtest hands them a control plane. replayer/TESTING.md shows how.
package kubetapetest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Replay serves a tape until the test is over. What the replay finds then (--golden, --max-lateness) is the test's verdict, too.
func Replay(t *testing.T, tape string, options ...string) *rest.Config {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	replay := exec.Command("kubetape", append([]string{"replay", tape, "--kubeconfig", kubeconfig}, options...)...)
	replay.Stderr = os.Stderr
	pipe, _ := replay.StdoutPipe()
	if err := replay.Start(); err != nil {
		t.Fatal(err)
	}
	stdout := bufio.NewReader(pipe)
	t.Cleanup(func() {
		replay.Process.Signal(os.Interrupt)
		verdict, _ := io.ReadAll(stdout)
		if err := replay.Wait(); err != nil {
			t.Errorf("kubetape replay: %v\n%s", err, verdict)
		}
	})
	stdout.ReadString('\n') // "serving TAPE at URL": from here on it answers
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
