// controller BUG|mended NAME RESOURCE: keeps a ConfigMap for each object of a resource (pods, deployments.v1.apps), for
// ever, with an informer and a work queue as most controllers do it.
//
//	tombstone   the buggy one takes every deleted object for an object, and drops what is a DeletedFinalStateUnknown
//	identity    it notes the UID; the buggy one believes that an update is about the object that it knows
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const prefix = "copy-of-"

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// What is to be written: the UID, or nothing when the copy is to go.
type task struct{ namespace, name, uid string }

type controller struct {
	client dynamic.Interface
	queue  workqueue.TypedRateLimitingInterface[task]
	name   string
	buggy  bool
}

func parse(resource string) schema.GroupVersionResource {
	if parsed, _ := schema.ParseResourceArg(resource); parsed != nil {
		return *parsed
	}
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func (c *controller) add(object any, uid string) {
	accessor, err := meta.Accessor(object)
	if err != nil || strings.HasPrefix(accessor.GetName(), prefix) {
		return
	}
	c.queue.Add(task{accessor.GetNamespace(), accessor.GetName(), uid})
}

func uidOf(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return string(accessor.GetUID())
}

func (c *controller) onUpdate(old, object any) {
	if c.name == "identity" && !c.buggy && uidOf(old) != uidOf(object) {
		c.add(object, uidOf(object))
	}
}

func (c *controller) onDelete(object any) {
	tombstone, isTombstone := object.(cache.DeletedFinalStateUnknown)
	if isTombstone && c.name == "tombstone" && c.buggy {
		return
	}
	if isTombstone {
		object = tombstone.Obj
	}
	c.add(object, "")
}

func (c *controller) write(ctx context.Context, t task) error {
	maps := c.client.Resource(configMaps).Namespace(t.namespace)
	if t.uid == "" {
		err := maps.Delete(ctx, prefix+t.name, metav1.DeleteOptions{})
		if errors.IsNotFound(err) {
			return nil
		}
		return err
	}
	copied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": prefix + t.name}}}
	if c.name == "identity" {
		copied.Object["data"] = map[string]any{"uid": t.uid}
	}
	_, err := maps.Create(ctx, copied, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, copied, metav1.UpdateOptions{})
	}
	return err
}

func (c *controller) work(ctx context.Context) {
	for {
		t, stop := c.queue.Get()
		if stop {
			return
		}
		if err := c.write(ctx, t); err != nil {
			fmt.Fprintln(os.Stderr, err)
			c.queue.AddRateLimited(t)
		} else {
			c.queue.Forget(t)
		}
		c.queue.Done(t)
	}
}

func run() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := &controller{client: client, buggy: os.Args[1] != "mended", name: os.Args[2],
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[task]())}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(parse(os.Args[3])).Informer()
	if _, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.add(object, uidOf(object)) },
		UpdateFunc: c.onUpdate,
		DeleteFunc: c.onDelete,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go c.work(ctx)
	<-ctx.Done()
	c.queue.ShutDown()
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: controller buggy|mended tombstone|identity RESOURCE")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
