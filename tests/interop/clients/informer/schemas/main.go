// Command schemas reads the OpenAPI document of version 2 as programs do that were written before there was version 3
// (kubectl up to 1.26): in protobuf, by way of the models. It prints each type, one a line, sorted.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kube-openapi/pkg/util/proto"
)

func fail(err error) {
	fmt.Fprintln(os.Stderr, "schemas:", err)
	os.Exit(1)
}

// text is a type in words.
func text(schema proto.Schema) string {
	about := fmt.Sprintf("%q %v", schema.GetDescription(), schema.GetExtensions())
	switch s := schema.(type) {
	case *proto.Kind:
		var fields []string
		for name, field := range s.Fields {
			fields = append(fields, name+":"+text(field))
		}
		sort.Strings(fields)
		return fmt.Sprintf("{%s; required %v} %s", strings.Join(fields, ", "), s.RequiredFields, about)
	case *proto.Array:
		return "[" + text(s.SubType) + "] " + about
	case *proto.Map:
		return "map of " + text(s.SubType) + " " + about
	case *proto.Primitive:
		return s.Type + " " + s.Format + " " + about
	case proto.Reference:
		return "-> " + s.Reference() + " " + about
	default:
		return "anything " + about
	}
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		fail(err)
	}
	document, err := client.OpenAPISchema()
	if err != nil {
		fail(err)
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		fail(err)
	}
	names := models.ListModels()
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name, text(models.LookupModel(name)))
	}
}
