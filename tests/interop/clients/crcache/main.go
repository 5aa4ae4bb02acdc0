// Crcache runs a controller-runtime cache on the given resources, with typed objects where client-go knows the kind
// and unstructured ones elsewhere, and reports each call of the handlers and, when it is told to end (SIGTERM or
// SIGINT), what the cache answers. See the package report for the output.
//
//	crcache RESOURCE[.GROUP]...
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kubetape.test/report"
)

func main() {
	flag.Parse()
	log.SetLogger(zap.New())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "crcache:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	restConfig, err := config.GetConfig()
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(restConfig, client)
	if err != nil {
		return err
	}
	objects, err := cache.New(restConfig, cache.Options{HTTPClient: client, Mapper: mapper})
	if err != nil {
		return err
	}
	kinds := map[string]schema.GroupVersionKind{}
	for _, name := range names {
		kind, err := mapper.KindFor(schema.ParseGroupResource(name).WithVersion(""))
		if err != nil {
			return err
		}
		kinds[name] = kind
	}
	return follow(ctx, objects, kinds, report.New(os.Stdout))
}

// follow reports until the context ends and then reports the caches.
func follow(ctx context.Context, objects cache.Cache, kinds map[string]schema.GroupVersionKind, out *report.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- objects.Start(ctx) }()
	for name, kind := range kinds {
		informer, err := objects.GetInformer(ctx, objectOf(kind), cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		registration, err := informer.AddEventHandler(handler{name, out})
		if err != nil {
			return err
		}
		go func() {
			if toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
				out.Synced(name)
			}
		}()
	}
	go func() {
		for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
			if err := reportCaches(objects, kinds, out); err != nil {
				fmt.Fprintln(os.Stderr, "crcache:", err)
			}
			out.Cached()
		}
	}()
	<-ctx.Done()
	if err := <-ended; err != nil {
		return err
	}
	if err := reportCaches(objects, kinds, out); err != nil {
		return err
	}
	out.End()
	return nil
}

func reportCaches(objects cache.Cache, kinds map[string]schema.GroupVersionKind, out *report.Writer) error {
	for name, kind := range kinds {
		if err := reportCache(objects, name, kind, out); err != nil {
			return err
		}
	}
	return nil
}

// reportCache asks the cache as a controller does, by List.
func reportCache(objects cache.Cache, name string, kind schema.GroupVersionKind, out *report.Writer) error {
	list := listOf(kind)
	if err := objects.List(context.Background(), list); err != nil {
		return err
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		out.Cache(name, identify(o))
		return nil
	})
}

func objectOf(kind schema.GroupVersionKind) client.Object {
	if typed, err := scheme.Scheme.New(kind); err == nil {
		return typed.(client.Object)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

func listOf(kind schema.GroupVersionKind) client.ObjectList {
	kind.Kind += "List"
	if typed, err := scheme.Scheme.New(kind); err == nil {
		return typed.(client.ObjectList)
	}
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(kind)
	return l
}

// handler reports the calls for one resource.
type handler struct {
	resource string
	out      *report.Writer
}

func (h handler) OnAdd(o any, initial bool) { h.out.Add(h.resource, identify(o), initial) }
func (h handler) OnUpdate(old, now any)     { h.out.Update(h.resource, identify(old), identify(now)) }
func (h handler) OnDelete(o any) {
	tombstone, unknown := o.(toolscache.DeletedFinalStateUnknown)
	if unknown {
		o = tombstone.Obj
	}
	h.out.Delete(h.resource, identify(o), unknown)
}

func identify(o any) report.Object {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	key := m.GetName()
	if m.GetNamespace() != "" {
		key = m.GetNamespace() + "/" + key
	}
	return report.Object{Key: key, UID: string(m.GetUID()), ResourceVersion: m.GetResourceVersion()}
}
