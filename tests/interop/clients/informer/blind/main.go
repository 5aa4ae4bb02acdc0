// blind BUG|mended NAME: small controllers that go blind in other ways than a gap, with informers as most controllers have
// them, and their mended ones; for ever.
//
//	steps     two ConfigMaps for each pod, one after the other; the buggy one takes the first for both (restart)
//	owner     one for each pod, deleted as soon as its pod ends; the buggy one deletes that of a later pod (stale)
//	again     one for each pod; the buggy one makes another after any error (writes)
//	count     two; the buggy one counts only those that its informer knows (echo)
//	verified  one for each pod; the buggy one forgets a pod that is gone when it looks at its end (coalesced)
//	join      the node of each pod; the buggy one looks before it knows the nodes (slow)
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespace = "default"
	glance    = 100 * time.Millisecond // until an end is looked at
	pause     = 50 * time.Millisecond  // between attempts
	patience  = 300 * time.Millisecond // of the buggy one, for nodes
	attempts  = 10
	wanted    = 2
)

type pod = unstructured.Unstructured

type controller struct {
	maps             dynamic.ResourceInterface
	pods, nodes, own cache.SharedIndexInformer
	buggy            bool
	made             int // ConfigMaps, of count
	counting         atomic.Bool
}

func (c *controller) create(meta map[string]any, data map[string]any) error {
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
	_, err := c.maps.Create(context.Background(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	return err
}

func named(name string) map[string]any { return map[string]any{"name": name} }

func (c *controller) drop(name string) {
	_ = c.maps.Delete(context.Background(), name, metav1.DeleteOptions{})
}

// What a deletion is about, however it was learnt.
func deleted(object any) *pod {
	if tombstone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	return object.(*pod)
}

func (c *controller) steps(p *pod) {
	if err := c.create(named("first-"+p.GetName()), nil); err == nil || !c.buggy {
		_ = c.create(named("second-"+p.GetName()), nil)
	}
}

func (c *controller) ownerAdded(p *pod) {
	if p.GetDeletionTimestamp() != nil {
		c.ownerEnded(p)
	} else {
		_ = c.create(named(p.GetName()), map[string]any{"uid": string(p.GetUID())})
	}
}

func (c *controller) ownerEnded(p *pod) {
	found, err := c.maps.Get(context.Background(), p.GetName(), metav1.GetOptions{})
	if err != nil {
		return
	}
	uid, _, _ := unstructured.NestedString(found.Object, "data", "uid")
	if c.buggy || uid == string(p.GetUID()) {
		c.drop(p.GetName())
	}
}

func (c *controller) again(p *pod) {
	meta := named(p.GetName())
	if c.buggy {
		meta = map[string]any{"generateName": p.GetName() + "-"}
	}
	for range attempts {
		if err := c.create(meta, nil); err == nil || errors.IsAlreadyExists(err) {
			return
		}
		time.Sleep(pause)
	}
}

// countSoon counts once for all pods that come within a glance, when the informer has long seen what was made before.
func (c *controller) countSoon() {
	if c.counting.CompareAndSwap(false, true) {
		time.AfterFunc(glance, c.count)
	}
}

func (c *controller) count() {
	c.counting.Store(false)
	there := len(c.own.GetStore().ListKeys())
	if !c.buggy {
		there = max(there, c.made)
	}
	for ; there < wanted; there++ {
		_ = c.create(map[string]any{"generateName": "c-"}, nil)
		c.made++
	}
}

func (c *controller) verify(p *pod) {
	if now, is, _ := c.pods.GetStore().GetByKey(namespace + "/" + p.GetName()); is && now.(*pod).GetUID() == p.GetUID() {
		c.drop(p.GetName())
	}
}

func (c *controller) join(p *pod) {
	node, _, _ := unstructured.NestedString(p.Object, "spec", "nodeName")
	if _, is, _ := c.nodes.GetStore().GetByKey(node); !is {
		node = "nowhere"
	}
	_ = c.create(named(p.GetName()), map[string]any{"node": node})
}

// handlers of pods.
func (c *controller) handlers(name string) cache.ResourceEventHandlerFuncs {
	add := func(do func(*pod)) func(any) { return func(o any) { do(o.(*pod)) } }
	switch name {
	case "steps":
		return cache.ResourceEventHandlerFuncs{AddFunc: add(c.steps)}
	case "owner":
		return cache.ResourceEventHandlerFuncs{AddFunc: add(c.ownerAdded), DeleteFunc: func(o any) { c.ownerEnded(deleted(o)) },
			UpdateFunc: func(old, now any) {
				if old.(*pod).GetUID() != now.(*pod).GetUID() {
					c.ownerEnded(old.(*pod))
				}
				c.ownerAdded(now.(*pod))
			}}
	case "again":
		return cache.ResourceEventHandlerFuncs{AddFunc: add(c.again)}
	case "count":
		return cache.ResourceEventHandlerFuncs{AddFunc: func(any) { c.countSoon() }, UpdateFunc: func(any, any) { c.countSoon() }}
	case "verified":
		return cache.ResourceEventHandlerFuncs{
			AddFunc: add(func(p *pod) { _ = c.create(named(p.GetName()), nil) }),
			UpdateFunc: func(_, now any) {
				if p := now.(*pod); p.GetDeletionTimestamp() != nil {
					time.AfterFunc(glance, func() { c.verify(p) })
				}
			},
			DeleteFunc: func(o any) {
				if !c.buggy {
					c.drop(deleted(o).GetName())
				}
			}}
	case "join":
		return cache.ResourceEventHandlerFuncs{AddFunc: add(c.join)}
	}
	return cache.ResourceEventHandlerFuncs{}
}

// begin starts the informers that the program needs before that of pods.
func (c *controller) begin(ctx context.Context, name string) {
	switch name {
	case "count":
		go c.own.Run(ctx.Done())
		cache.WaitForCacheSync(ctx.Done(), c.own.HasSynced)
		c.made = len(c.own.GetStore().ListKeys())
	case "join":
		go c.nodes.Run(ctx.Done())
		wait := ctx
		if c.buggy {
			limited, stop := context.WithTimeout(ctx, patience)
			defer stop()
			wait = limited
		}
		cache.WaitForCacheSync(wait.Done(), c.nodes.HasSynced)
	}
}

func run(buggy bool, name string) error {
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
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	follow := func(resource string) cache.SharedIndexInformer {
		return factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Informer()
	}
	c := &controller{buggy: buggy, pods: follow("pods"), nodes: follow("nodes"), own: follow("configmaps"),
		maps: client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)}
	if _, err := c.pods.AddEventHandler(c.handlers(name)); err != nil {
		return err
	}
	c.begin(ctx, name)
	go c.pods.Run(ctx.Done())
	<-ctx.Done()
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: blind buggy|mended steps|owner|again|count|verified|join")
		os.Exit(2)
	}
	if err := run(os.Args[1] != "mended", os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
