// Informer runs client-go SharedInformers on the given resources and reports each call of their handlers and, when
// it is told to end (SIGTERM or SIGINT) or asked by a line on stdin, what their caches hold. See the package report for the output.
//
//	informer [-mode dynamic|typed|metadata] RESOURCE[.VERSION.GROUP]...
//
// The cluster comes from KUBECONFIG. KUBE_FEATURE_WatchListClient=true|false chooses between streaming lists and
// classic ones, as in every client-go program.
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"kubetape.test/report"
)

// factory is what the three informer factories of client-go have in common.
type factory struct {
	informer func(schema.GroupVersionResource) (cache.SharedIndexInformer, error)
	start    func(<-chan struct{})
}

func main() {
	mode := flag.String("mode", "dynamic", "which client: dynamic, typed or metadata")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *mode, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, mode string, names []string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	resources, err := resolve(config, names)
	if err != nil {
		return err
	}
	f, err := newFactory(mode, config)
	if err != nil {
		return err
	}
	return follow(ctx, f, resources, report.New(os.Stdout))
}

// resolve asks the server what the names mean, as a user's program with a RESTMapper does.
func resolve(config *rest.Config, names []string) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	var found []schema.GroupVersionResource
	for _, name := range names {
		full, partial := schema.ParseResourceArg(name)
		if full == nil {
			r := partial.WithVersion("")
			full = &r
		}
		r, err := mapper.ResourceFor(*full)
		if meta.IsNoMatchError(err) {
			r, err = mapper.ResourceFor(partial.WithVersion("")) // the name was RESOURCE.GROUP with dots in the group
		}
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

func newFactory(mode string, config *rest.Config) (*factory, error) {
	switch mode {
	case "typed":
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		f := informers.NewSharedInformerFactory(client, 0)
		return &factory{start: f.Start, informer: func(r schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			generic, err := f.ForResource(r)
			if err != nil {
				return nil, err
			}
			return generic.Informer(), nil
		}}, nil
	case "metadata":
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		f := metadatainformer.NewSharedInformerFactory(client, 0)
		return &factory{start: f.Start, informer: func(r schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			return f.ForResource(r).Informer(), nil
		}}, nil
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		f := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		return &factory{start: f.Start, informer: func(r schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			return f.ForResource(r).Informer(), nil
		}}, nil
	}
	return nil, fmt.Errorf("unknown mode '%s', expected dynamic, typed or metadata", mode)
}

// follow reports until the context ends and then reports the caches.
func follow(ctx context.Context, f *factory, resources []schema.GroupVersionResource, out *report.Writer) error {
	stores := map[string]cache.SharedIndexInformer{}
	for _, r := range resources {
		informer, err := f.informer(r)
		if err != nil {
			return err
		}
		name := r.GroupResource().String()
		registration, err := informer.AddEventHandler(handler{name, out})
		if err != nil {
			return err
		}
		stores[name] = informer
		go func() {
			if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
				out.Synced(name)
			}
		}()
	}
	f.start(ctx.Done())
	go func() {
		for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
			tellCaches(stores, out)
			out.Cached()
		}
	}()
	<-ctx.Done()
	tellCaches(stores, out)
	out.End()
	return nil
}

func tellCaches(stores map[string]cache.SharedIndexInformer, out *report.Writer) {
	for name, informer := range stores {
		for _, o := range informer.GetStore().List() {
			out.Cache(name, identify(o))
		}
	}
}

// handler reports the calls for one resource.
type handler struct {
	resource string
	out      *report.Writer
}

func (h handler) OnAdd(o any, initial bool) { h.out.Add(h.resource, identify(o), initial) }
func (h handler) OnUpdate(old, now any)     { h.out.Update(h.resource, identify(old), identify(now)) }
func (h handler) OnDelete(o any) {
	tombstone, unknown := o.(cache.DeletedFinalStateUnknown)
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
