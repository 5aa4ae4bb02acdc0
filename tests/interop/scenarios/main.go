// Scenarios is a few programs in one, each written as a user of client-go would write it, for the scenarios of
// tests/scenarios:
//
//	scenarios naive return|continue   watches pods; what to do when the channel is closed
//	scenarios rewatch                 watches again, without a resourceVersion, after a pause
//	scenarios cast                    takes the object of every event for a pod
//	scenarios informer                a SharedInformer of pods; prints what its handler is told
//	scenarios retrywatcher            a RetryWatcher from resourceVersion 95
//	scenarios pages                   lists pods, one a page
//	scenarios shutdown                informer, synchronised, shut down; then a create
//	scenarios cut-shutdown            informer; when the server is gone: shut down, and wait for it to come back
//	scenarios cut-create              informer; when the server is gone: a create; and wait for the informer
//	scenarios seeks                   a reflector, behind whose back the replay goes back again and again
//	scenarios resync                  an informer with two handlers, one of which wants to be told again
//	scenarios idle                    as shutdown; then waits until its connection is too old
//	scenarios lead                    leader election, three renewals; then a write at an old version
//	scenarios discover [legacy]       asks for all resources
//
// Those that watch end at the pod `last`. The server comes from KUBECONFIG.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// program is what they all have.
type program struct {
	ctx    context.Context
	config *rest.Config
	client kubernetes.Interface
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: scenarios naive|rewatch|cast|informer|retrywatcher|pages|shutdown|cut-shutdown|cut-create|"+
			"seeks|resync|idle|lead|discover")
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	p := &program{ctx: ctx, config: config, client: client}
	switch args[0] {
	case "naive":
		return p.naive(len(args) > 1 && args[1] == "continue")
	case "rewatch":
		return p.rewatch()
	case "cast":
		return p.cast()
	case "informer":
		return p.informer()
	case "retrywatcher":
		return p.retryWatcher()
	case "pages":
		return p.pages()
	case "shutdown":
		return p.shutdown()
	case "cut-shutdown":
		return p.cutShutdown()
	case "cut-create":
		return p.cutCreate()
	case "seeks":
		return p.seeks()
	case "resync":
		return p.resync()
	case "idle":
		return p.idle()
	case "lead":
		return p.lead()
	case "discover":
		return p.discover(len(args) > 1 && args[1] == "legacy")
	}
	return fmt.Errorf("unknown program '%s'", args[0])
}

func tell(words ...any) { fmt.Println(words...) }

func tellEvent(kind string, p *corev1.Pod) {
	tell(kind, p.Name, p.UID, p.ResourceVersion)
}

func (p *program) create() error {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made", Namespace: "default"}}
	_, err := p.client.CoreV1().ConfigMaps("default").Create(p.ctx, made, metav1.CreateOptions{})
	return err
}
