// Package protobuf holds kubetape's decoder of protobuf bodies against the Go types: every kind that a typed client
// knows is filled with random values, encoded by Go, decoded by kubetape, and compared with what Go prints.
//
//	make build/protobuf_decode && cd tests/interop/protobuf && go test ./...
package protobuf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"

	discovery "k8s.io/api/apidiscovery/v2"
	discoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	registrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	registrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

// How often each kind is filled anew. Lists take longest and show nothing that their items do not.
const rounds = 40

// Kinds without a protobuf form.
var without = map[string]bool{"Table": true, "TableOptions": true}

// message is what every generated type can do.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func kinds(t *testing.T) []schema.GroupVersionKind {
	t.Helper()
	for _, add := range []func(*runtime.Scheme) error{crdv1.AddToScheme, crdv1beta1.AddToScheme,
		registrationv1.AddToScheme, registrationv1beta1.AddToScheme, discovery.AddToScheme,
		discoveryv2beta1.AddToScheme, meta.AddMetaToScheme} {
		if err := add(scheme.Scheme); err != nil {
			t.Fatal(err)
		}
	}
	var all []schema.GroupVersionKind
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !without[gvk.Kind] {
			all = append(all, gvk)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].String() < all[j].String() })
	return all
}

func newObject(t *testing.T, gvk schema.GroupVersionKind) runtime.Object {
	t.Helper()
	obj, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// encode makes the body that a typed client sends.
func encode(t *testing.T, gvk schema.GroupVersionKind, raw []byte) []byte {
	t.Helper()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind},
		Raw: raw}
	body, err := unknown.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// goJSON is what Go prints for the object of these bytes.
func goJSON(t *testing.T, gvk schema.GroupVersionKind, raw []byte) ([]byte, error) {
	t.Helper()
	obj := newObject(t, gvk)
	if err := obj.(message).Unmarshal(raw); err != nil {
		return nil, err
	}
	return printed(gvk, obj)
}

func printed(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	var out bytes.Buffer
	err := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		serializer.SerializerOptions{}).Encode(obj, &out)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// meaning is a document without what protobuf cannot tell from nothing: null, empty, zero and false.
func meaning(document []byte) (any, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return reduced(value), err
}

func reduced(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			if inner = reduced(inner); inner != nil {
				kept[key] = inner
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
		kept := make([]any, len(v))
		for i, inner := range v {
			kept[i] = reduced(inner)
		}
		return kept
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	}
	return value
}

// where shows both documents from shortly before the first difference.
func where(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-60)
	return fmt.Sprintf("at byte %d\n got ...%.160s\nwant ...%.160s", i, got[from:], want[from:])
}

func TestEveryKindIsPrintedAsGoPrintsIt(t *testing.T) {
	decoder := startDecoder(t)
	all := kinds(t)
	if len(all) < 600 {
		t.Fatalf("the scheme has %d kinds, expected more than 600", len(all))
	}
	compared := 0
	for n, gvk := range all {
		times := rounds
		if strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
			times = rounds / 8
		}
		for i := range times {
			obj := newObject(t, gvk)
			fill(obj, int64(n*1000+i))
			raw, err := obj.(message).Marshal()
			if err != nil {
				t.Fatalf("%v: %v", gvk, err)
			}
			compareOne(t, decoder, gvk, obj, raw)
			compared++
		}
	}
	t.Logf("%d kinds, %d objects", len(all), compared)
}

func compareOne(t *testing.T, decoder *decoder, gvk schema.GroupVersionKind, obj runtime.Object, raw []byte) {
	t.Helper()
	want, err := goJSON(t, gvk, raw)
	if err != nil {
		t.Fatalf("%v: Go does not print it: %v", gvk, err)
	}
	got, err := decoder.decode(encode(t, gvk, raw))
	if err != nil {
		t.Fatalf("%v: %v\nGo prints %.300s", gvk, err, want)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%v differs %s", gvk, where(got, want))
	}
	original, err := printed(gvk, obj)
	if err != nil {
		t.Fatalf("%v: %v", gvk, err)
	}
	a, errA := meaning(got)
	b, errB := meaning(original)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		t.Fatalf("%v: the meaning differs from the object's before it was encoded %s", gvk, where(got, original))
	}
}

func TestTheZeroValueOfEveryKindIsPrintedAsGoPrintsIt(t *testing.T) {
	decoder := startDecoder(t)
	for _, gvk := range kinds(t) {
		compareOne(t, decoder, gvk, newObject(t, gvk), nil)
	}
}

// What is accepted from damaged bytes is what Go reads from them. Go reads more: it skips what it does not know.
func TestDamagedBodiesAreRefusedOrReadAsGoReadsThem(t *testing.T) {
	decoder := startDecoder(t)
	all := kinds(t)
	accepted, refused := 0, 0
	for i := range 20000 {
		gvk := all[(i*7919)%len(all)]
		obj := newObject(t, gvk)
		fill(obj, int64(i/4))
		raw, err := obj.(message).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		raw = damage(raw, int64(i))
		got, err := decoder.decode(encode(t, gvk, raw))
		if err != nil {
			refused++
			continue
		}
		accepted++
		want, err := goJSON(t, gvk, raw)
		if err != nil {
			t.Fatalf("%v: accepted, but Go says: %v\n%.300s", gvk, err, got)
		}
		if !bytes.Equal(got, want) && !sameForGo(t, gvk, got, want) {
			t.Fatalf("%v differs %s", gvk, where(got, want))
		}
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted < 100 || refused < 100 {
		t.Fatalf("expected some of both")
	}
}

// sameForGo reads what we printed and prints it again: a quantity such as 1000m is then 1, as Go writes it.
func sameForGo(t *testing.T, gvk schema.GroupVersionKind, got, want []byte) bool {
	t.Helper()
	obj := newObject(t, gvk)
	if err := json.Unmarshal(got, obj); err != nil {
		return false
	}
	again, err := printed(gvk, obj)
	if err != nil {
		return false
	}
	a, errA := meaning(again)
	b, errB := meaning(want)
	return errA == nil && errB == nil && reflect.DeepEqual(a, b)
}
