package patches

import (
	"encoding/json"
	"errors"
	"math/rand"
	"reflect"
	"sort"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// dropNulls takes out what decoding into the type would drop.
func dropNulls(value any) {
	switch v := value.(type) {
	case object:
		for key, child := range v {
			if child == nil {
				delete(v, key)
			}
			dropNulls(child)
		}
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}

// plainTree returns an object without the times of its managers, whose order depends on them.
func plainTree(t *testing.T, text []byte) object {
	t.Helper()
	var tree object
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	dropNulls(tree)
	metadata, _ := tree["metadata"].(object)
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		delete(entry.(object), "time")
	}
	sort.Slice(entries, func(i, j int) bool {
		return string(encode(t, entries[i])) < string(encode(t, entries[j]))
	})
	return tree
}

func conflictsOf(err error) []string {
	var status *api.StatusError
	found := []string{}
	if errors.As(err, &status) && status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			found = append(found, strings.TrimPrefix(cause.Message, "conflict with ")+" "+cause.Field)
		}
	}
	sort.Strings(found)
	return found
}

func foundConflicts(t *testing.T, answer string) []string {
	t.Helper()
	var list []struct{ Manager, Field string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(answer, "conflicts: ")), &list); err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, c := range list {
		found = append(found, c.Manager+" "+c.Field)
	}
	sort.Strings(found)
	return found
}

func read(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return u
}

type both struct {
	f    *patchFilter
	m    *managedfields.FieldManager
	live []byte // "" at first
}

func (b *both) liveObject(t *testing.T) *unstructured.Unstructured {
	if len(b.live) == 0 {
		return read(t, []byte(`{"apiVersion":"v1","kind":"Pod"}`))
	}
	return read(t, b.live)
}

func (b *both) update(t *testing.T, manager string, next []byte) string {
	t.Helper()
	made, err := b.m.Update(b.liveObject(t), read(t, next), manager)
	if err != nil {
		t.Fatal(err)
	}
	return b.compare(t, made, b.f.ask(t, "update", "api.core.v1.Pod", string(b.live), string(next), manager))
}

func (b *both) apply(t *testing.T, manager string, config []byte, force bool) string {
	t.Helper()
	flag := map[bool]string{true: "force"}[force]
	made, err := b.m.Apply(b.liveObject(t), read(t, config), manager, force)
	found := b.f.ask(t, "apply", "api.core.v1.Pod", string(b.live), string(config), manager, flag)
	if err == nil {
		return b.compare(t, made, found)
	}
	if expected := conflictsOf(err); !strings.HasPrefix(found, "conflicts: ") || !reflect.DeepEqual(expected, foundConflicts(t, found)) {
		return "expected " + err.Error() + "\nfound " + found
	}
	return ""
}

// compare returns how they differ, and goes on from what Kubernetes made.
func (b *both) compare(t *testing.T, made runtime.Object, found string) string {
	dropNulls(made.(*unstructured.Unstructured).Object)
	expected := encode(t, made)
	if strings.HasPrefix(found, "error") || strings.HasPrefix(found, "conflicts") ||
		!reflect.DeepEqual(plainTree(t, expected), plainTree(t, []byte(found))) {
		return "expected " + string(expected) + "\nfound    " + found
	}
	b.live = expected
	return ""
}

func TestManagedFieldsAndApplyComeOutAsInKubernetes(t *testing.T) {
	f := startFilter(t)
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	refused := 0
	for seed := int64(0); seed < 1000; seed++ {
		r := rand.New(rand.NewSource(seed))
		b := &both{f: f, m: managedfieldstest.NewFakeFieldManager(converter, core.SchemeGroupVersion.WithKind("Pod"))}
		for step := 0; step < 6; step++ {
			before, next, manager := b.live, encode(t, pod(r)), some(r, "kubectl", "kcm", "kubelet", "me")
			wrong, force := "", r.Intn(2) == 0
			name := append(manager, "kubectl")[0]
			isUpdate := r.Intn(2) == 0
			if isUpdate {
				wrong = b.update(t, name, next)
			} else {
				wrong = b.apply(t, name, next, force)
			}
			if wrong != "" {
				t.Fatalf("seed %d step %d, %s update %v force %v:\nlive     %s\nnext     %s\n%s", seed, step, name, isUpdate, force, before, next, wrong)
			}
			if string(before) == string(b.live) {
				refused++
			}
			if !strings.Contains(string(b.live), "managedFields") {
				break // without them, and without a UID, it counts as not there
			}
		}
	}
	t.Logf("%d steps changed nothing", refused)
}
