// Lines follows the given resources and writes a line of JSON for each event, {"type", "object"}, until it is killed:
// the least that a recorder does, as one writes it in Go in ten minutes. For comparisons of what that costs.
//
//	lines [-raw] FILE GROUP/VERSION/RESOURCE...     (the core group is empty: /v1/pods)
//
// It watches with client-go's dynamic client, which decodes each object into maps, and encodes them again. With -raw it
// decodes nothing: lines go to the file as they came, which is as cheap as Go can be. The cluster comes from KUBECONFIG.
// What happened before its first list it does not look at; when a watch ends, so does the program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	raw := flag.Bool("raw", false, "copy lines as they come")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: lines [-raw] FILE GROUP/VERSION/RESOURCE...")
		os.Exit(2)
	}
	if err := run(*raw, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
}

// follow watches one resource from a resourceVersion on.
type follow func(resource schema.GroupVersionResource, version string) error

func run(raw bool, path string, names []string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // no client's own limit of requests
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return err
	}
	// A line is a write of its own, so that lines of several watches do not mix.
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	one := func(resource schema.GroupVersionResource, version string) error {
		return followDecoded(client, resource, version, out)
	}
	if raw {
		one = func(resource schema.GroupVersionResource, version string) error {
			return followRaw(httpClient, config.Host, resource, version, out)
		}
	}
	ended := make(chan error)
	for _, name := range names {
		part := strings.Split(name, "/")
		resource := schema.GroupVersionResource{Group: part[0], Version: part[1], Resource: part[2]}
		go func() { ended <- fmt.Errorf("%s: %w", name, start(client, resource, one)) }()
	}
	return <-ended
}

// start asks a list for no more than its resourceVersion.
func start(client dynamic.Interface, resource schema.GroupVersionResource, one follow) error {
	list, err := client.Resource(resource).List(context.Background(), metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	return one(resource, list.GetResourceVersion())
}

func followDecoded(client dynamic.Interface, resource schema.GroupVersionResource, version string, out *os.File) error {
	w, err := client.Resource(resource).Watch(context.Background(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	for event := range w.ResultChan() {
		line, err := json.Marshal(struct {
			Type   watch.EventType `json:"type"`
			Object runtime.Object  `json:"object"`
		}{event.Type, event.Object})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return fmt.Errorf("the watch ended")
}

func followRaw(client *http.Client, host string, resource schema.GroupVersionResource, version string, out *os.File) error {
	root := "/apis/" + resource.Group
	if resource.Group == "" {
		root = "/api"
	}
	answer, err := client.Get(fmt.Sprintf("%s%s/%s/%s?watch=1&resourceVersion=%s", host, root, resource.Version,
		resource.Resource, version))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", answer.Status)
	}
	reader := bufio.NewReaderSize(answer.Body, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
}
