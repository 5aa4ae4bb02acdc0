// Rawwatch is the independent witness of the recorder's tests: it lists and watches resources and writes down the
// very bytes that the server sent, one file for the items of the lists and one for the lines of the watches.
// It shares no code with the recorder and decodes no more than the resourceVersion.
//
//	rawwatch -o FOLDER --all
//	rawwatch -o FOLDER pods deployments.apps
//
// For a resource it writes FOLDER/NAME.items (one item a line, as it stood in the list), FOLDER/NAME.lines (each
// line of the watch as received) and FOLDER/NAME.json (group, version, kind, list resourceVersion), NAME being
// `resource` or `resource.group`. "watching N resources" on standard error says that all watches are open.
// SIGTERM or SIGINT ends it with exit code 0; a stream that cannot go on without loss, with 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	folder  string
	all     bool
	page    int
	timeout time.Duration
	names   []string
}

func parse() options {
	var o options
	flag.StringVar(&o.folder, "o", "", "folder to write to (must exist)")
	flag.BoolVar(&o.all, "all", false, "everything that can be listed and watched, in its preferred version")
	flag.IntVar(&o.page, "page", 50, "items asked for in a page of a list")
	flag.DurationVar(&o.timeout, "watch-timeout", 0, "time after which the server ends a watch (default: its own)")
	flag.Parse()
	o.names = flag.Args()
	if o.folder == "" || o.all == (len(o.names) > 0) {
		fmt.Fprintln(os.Stderr, "usage: rawwatch -o FOLDER --all | RESOURCE[.GROUP]...")
		os.Exit(2)
	}
	return o
}

func main() {
	o := parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "rawwatch:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	resources, err := discover(config, o)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	return watchAll(ctx, resources, func(r resource) *stream {
		return &stream{client: client, server: config.Host, resource: r, options: o}
	})
}

// watchAll follows all resources until the context ends or one of them fails.
func watchAll(ctx context.Context, resources []resource, open func(resource) *stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var opened, ended sync.WaitGroup
	failures := make(chan error, len(resources))
	for _, r := range resources {
		opened.Add(1)
		ended.Go(func() {
			if err := open(r).follow(ctx, sync.OnceFunc(opened.Done)); err != nil {
				failures <- fmt.Errorf("%s: %w", r.name(), err)
				cancel()
			}
		})
	}
	go func() {
		opened.Wait()
		fmt.Fprintf(os.Stderr, "watching %d resources\n", len(resources))
	}()
	ended.Wait()
	close(failures)
	return <-failures // nil when there was none
}

// resource is one thing to watch, as discovery describes it.
type resource struct {
	schema.GroupVersionResource
	kind string
}

// name is how files and users call a resource: `pods`, `deployments.apps`.
func (r resource) name() string {
	return r.GroupResource().String()
}

// discover finds the wanted resources among those that the server can list and watch.
func discover(config *rest.Config, o options) ([]resource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	var found []resource
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, one := range list.APIResources {
			r := resource{version.WithResource(one.Name), one.Kind}
			if o.all || slices.Contains(o.names, r.name()) {
				found = append(found, r)
			}
		}
	}
	if !o.all && len(found) != len(o.names) {
		return nil, fmt.Errorf("found only %v of %v", found, o.names)
	}
	return found, nil
}
