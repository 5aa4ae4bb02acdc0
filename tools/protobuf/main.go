// Command protobuf writes replayer/protobuf/protobuf_table.c: how every built-in kind of the Kubernetes API looks in protobuf
// and in JSON.
//
//	cd tools/protobuf && go run . >../../replayer/protobuf/protobuf_table.c
//
// The Go types are asked, by reflection, and not the .proto files beside them: the `protobuf` tag of a field holds its
// number, the `json` tag its name and when it is left out, and their order is the order in which Go prints them, none
// of which the .proto files tell. Everything that the decoder does not know (a type with its own MarshalJSON, a tag
// word, two fields of one name) ends the program: then the decoder wants work first.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	discoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	registrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	registrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

// A kind that as many group versions have as this is one that every group has, such as DeleteOptions.
const everywhere = 20

// kinds of a scheme that have no protobuf form.
var withoutProtobuf = map[string]bool{"Table": true, "TableOptions": true}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "protobuf: "+format+"\n", args...)
	os.Exit(1)
}

func addToScheme(adders ...func(*runtime.Scheme) error) {
	for _, add := range adders {
		if err := add(scheme.Scheme); err != nil {
			fail("%v", err)
		}
	}
}

// kind is one name under which a message may come.
type kind struct {
	apiVersion, name string
	typed            bool // prints kind and apiVersion
	message          int
}

// collect returns the kinds of all group versions, sorted, and those that every group version has, with an empty
// apiVersion.
func collect(t *table) []kind {
	var found []kind
	count := map[reflect.Type]int{}
	all := scheme.Scheme.AllKnownTypes()
	for gvk, goType := range all {
		if gvk.Version != runtime.APIVersionInternal {
			count[goType]++
		}
	}
	seen := map[string]bool{}
	for gvk, goType := range all {
		if gvk.Version == runtime.APIVersionInternal || withoutProtobuf[gvk.Kind] {
			continue
		}
		k := kind{apiVersion: gvk.GroupVersion().String(), name: gvk.Kind, typed: hasTypeMeta(goType)}
		if count[goType] >= everywhere {
			k.apiVersion = ""
		}
		if key := k.apiVersion + " " + k.name; !seen[key] {
			seen[key] = true
			found = append(found, k)
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return a.apiVersion < b.apiVersion || a.apiVersion == b.apiVersion && a.name < b.name
	})
	for i := range found {
		found[i].message = t.add(typeOf(all, found[i]))
	}
	return found
}

func typeOf(all map[schemaKind]reflect.Type, k kind) reflect.Type {
	if k.apiVersion == "" {
		return all[schemaKind{Version: "v1", Kind: k.name}]
	}
	group, version, split := strings.Cut(k.apiVersion, "/")
	if !split {
		group, version = "", group
	}
	return all[schemaKind{Group: group, Version: version, Kind: k.name}]
}

// versions names the modules that the types came from.
func versions() string {
	var named []string
	info, ok := debug.ReadBuildInfo()
	if !ok {
		fail("the program does not know its modules")
	}
	for _, dep := range info.Deps {
		switch dep.Path {
		case "k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator":
			named = append(named, " *   "+dep.Path+" "+dep.Version+"\n")
		}
	}
	return strings.Join(named, "")
}

func main() {
	addToScheme(crdv1.AddToScheme, crdv1beta1.AddToScheme, registrationv1.AddToScheme, registrationv1beta1.AddToScheme,
		discovery.AddToScheme, discoveryv2beta1.AddToScheme, meta.AddMetaToScheme)
	t := newTable()
	kinds := collect(t)
	out := bufio.NewWriter(os.Stdout)
	t.write(out, kinds)
	if err := out.Flush(); err != nil {
		fail("%v", err)
	}
}
