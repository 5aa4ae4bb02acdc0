package kubetapetest

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// An informer on the bundled tape learns of the pod that was deleted and made again; in a gap it learns of it as an update.
func watchLonely(t *testing.T, options ...string) (uids []string, updates int) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(Replay(t, os.Getenv("KUBETAPE_TAPE"), append(options, "--speed", "10")...))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("shop"))
	seen := make(chan string, 1000)
	changed := make(chan struct{}, 1000)
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if pod := o.(*corev1.Pod); pod.Name == "lonely" {
				seen <- string(pod.UID)
			}
		},
		UpdateFunc: func(before, after any) {
			if pod := after.(*corev1.Pod); pod.Name == "lonely" && pod.UID != before.(*corev1.Pod).UID {
				changed <- struct{}{}
				seen <- string(pod.UID)
			}
		},
	})
	factory.Start(ctx.Done())
	for len(uids) < 2 {
		select {
		case uid := <-seen:
			uids = append(uids, uid)
		case <-ctx.Done():
			t.Fatalf("two pods 'lonely' were expected, found %v", uids)
		}
	}
	return uids, len(changed)
}

func TestAReplayServesUntilTheTestIsOver(t *testing.T) {
	uids, updates := watchLonely(t)
	if uids[0] == uids[1] || updates != 0 {
		t.Errorf("found %v and %d updates, expected two pods and a deletion between them", uids, updates)
	}
}

func TestAGapHidesADeletion(t *testing.T) {
	gap := "#1,2ev,fin,compact,hold=60s,pods,event=resource='pods' AND name='lonely' AND type='DELETED'"
	if _, updates := watchLonely(t, "--gap", gap); updates != 1 {
		t.Errorf("found %d updates to another UID, expected one", updates)
	}
}

func TestAWriteThatTheGoldenRunDoesNotHaveIsFoundAtTheEnd(t *testing.T) {
	golden := t.TempDir() + "/good.run"
	write := func(t *testing.T, value string, options ...string) {
		client := kubernetes.NewForConfigOrDie(Replay(t, os.Getenv("KUBETAPE_TAPE"), options...))
		thing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Data: map[string]string{"key": value}}
		if _, err := client.CoreV1().ConfigMaps("shop").Create(context.Background(), thing, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("golden", func(t *testing.T) { write(t, "a", "--run", golden) })
	t.Run("same", func(t *testing.T) { write(t, "a", "--golden", golden) })
	if os.Getenv("KUBETAPE_EXPECT_DIFFERENCE") != "" {
		t.Run("other", func(t *testing.T) { write(t, "b", "--golden", golden) })
	}
}
