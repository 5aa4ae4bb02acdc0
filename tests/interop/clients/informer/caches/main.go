// Caches keeps caches of the given resources and prints what they hold whenever it reads a line, as one line of JSON:
// {resource: {key: [uid, resourceVersion]}}.
//
//	caches [-shared] [-page N] GROUP/VERSION/RESOURCE...     (the core group is empty: /v1/pods)
//
// The caches are filled by client-go's reflectors, the loop of lists and watches in every informer, which wait here
// for hundredths of a second where informers wait for seconds; with -shared they are those of SharedInformers, with
// all their patience. The cluster comes from KUBECONFIG, KUBE_FEATURE_WatchListClient chooses between streaming and
// classic lists, DISABLE_HTTP2 between HTTP/1.1 and HTTP/2, as in every client-go program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var impatient = wait.Backoff{Duration: 10 * time.Millisecond, Cap: 100 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10}

func main() {
	shared := flag.Bool("shared", false, "use SharedInformers")
	page := flag.Int64("page", 0, "items of a page of a reflector's list; 0: as it likes")
	flag.Parse()
	if err := run(*shared, *page, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "caches:", err)
		os.Exit(1)
	}
}

func run(shared bool, page int64, names []string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // no client's own limit of requests
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	stores := map[string]cache.Store{}
	for _, name := range names {
		part := strings.Split(name, "/")
		if len(part) != 3 {
			return fmt.Errorf("bad resource '%s', expected GROUP/VERSION/RESOURCE", name)
		}
		r := schema.GroupVersionResource{Group: part[0], Version: part[1], Resource: part[2]}
		if shared {
			stores[r.GroupResource().String()] = inform(client, r)
		} else {
			stores[r.GroupResource().String()] = reflect(client, r, page)
		}
	}
	return answer(stores)
}

func inform(client dynamic.Interface, r schema.GroupVersionResource) cache.Store {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, r, "", 0, cache.Indexers{}, nil).Informer()
	go informer.Run(context.Background().Done())
	return informer.GetStore()
}

func reflect(client dynamic.Interface, r schema.GroupVersionResource, page int64) cache.Store {
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(r).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Resource(r).Watch(ctx, o)
		},
	}, client)
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store,
		cache.ReflectorOptions{Name: r.Resource, Backoff: &impatient})
	reflector.WatchListPageSize = page
	go reflector.Run(context.Background().Done())
	return store
}

// answer prints what the caches hold for each line of stdin, until that ends.
func answer(stores map[string]cache.Store) error {
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		held := map[string]map[string][2]string{}
		for name, store := range stores {
			held[name] = map[string][2]string{}
			for _, o := range store.List() {
				m, err := meta.Accessor(o)
				if err != nil {
					return err
				}
				key := strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/")
				held[name][key] = [2]string{string(m.GetUID()), m.GetResourceVersion()}
			}
		}
		if err := out.Encode(held); err != nil {
			return err
		}
	}
	return lines.Err()
}
