// Package patches holds kubetape's patches against those of Kubernetes.
package patches

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type object = map[string]any

func some(r *rand.Rand, names ...string) []string {
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:r.Intn(len(names)+1)]
}

func list(r *rand.Rand, make func(name string) object, names ...string) []any {
	made := []any{}
	for _, name := range some(r, names...) {
		made = append(made, make(name))
	}
	return made
}

func set(r *rand.Rand, into object, key string, value func() any) {
	if r.Intn(3) == 0 {
		return
	}
	made := value()
	if l, ok := made.([]any); !ok || len(l) > 0 { // the API server has no empty lists
		into[key] = made
	}
}

func plain(r *rand.Rand, names ...string) []any {
	made := []any{}
	for _, name := range some(r, names...) {
		made = append(made, name)
	}
	return made
}

func digit(r *rand.Rand) string {
	return string(rune('0' + r.Intn(3)))
}

func container(r *rand.Rand) func(string) object {
	return func(name string) object {
		c := object{"name": name}
		set(r, c, "image", func() any { return digit(r) })
		set(r, c, "args", func() any { return plain(r, "-a", "-b", "-c") })
		set(r, c, "env", func() any {
			return list(r, func(n string) object { return object{"name": n, "value": digit(r)} }, "A", "B", "C")
		})
		set(r, c, "ports", func() any {
			return list(r, func(n string) object {
				return object{"name": n, "containerPort": float64(80 + len(n) + r.Intn(2)*100)}
			}, "p", "pp", "ppp")
		})
		set(r, c, "resources", func() any { return object{"limits": object{"cpu": "1", "memory": "2"}} })
		return c
	}
}

func volume(r *rand.Rand) func(string) object {
	return func(name string) object {
		switch r.Intn(3) {
		case 0:
			return object{"name": name, "emptyDir": object{}}
		case 1:
			return object{"name": name, "configMap": object{"name": name}}
		}
		return object{"name": name, "secret": object{"secretName": name}}
	}
}

func pod(r *rand.Rand) object {
	metadata, spec := object{"name": "p"}, object{}
	set(r, metadata, "finalizers", func() any { return plain(r, "a/a", "b/b", "c/c", "d/d") })
	set(r, metadata, "labels", func() any { return object{"x": digit(r)} })
	set(r, metadata, "ownerReferences", func() any {
		return list(r, func(n string) object { return object{"uid": n, "name": n, "kind": "K", "apiVersion": "v1"} }, "u1", "u2")
	})
	set(r, spec, "containers", func() any { return list(r, container(r), "c1", "c2", "c3", "c4") })
	set(r, spec, "volumes", func() any { return list(r, volume(r), "v1", "v2", "v3") })
	set(r, spec, "nodeSelector", func() any { return object{"a": "b"} })
	set(r, spec, "tolerations", func() any { return list(r, func(n string) object { return object{"key": n} }, "t1", "t2") })
	set(r, spec, "securityContext", func() any { return object{"supplementalGroups": []any{1.0, 2.0}} })
	return object{"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
}

// spoil puts directives into a patch that its maker would not.
func spoil(r *rand.Rand, value any) {
	switch v := value.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) { // a seed makes one patch
			child := v[key]
			switch {
			case key[0] == '$':
			case key == "limits" || key == "labels" || key == "nodeSelector": // maps take "$patch" for a key
			case r.Intn(40) == 0:
				v["$patch"] = []string{"delete", "replace", "what"}[r.Intn(3)]
			case r.Intn(40) == 0:
				v[key] = nil
			default:
				spoil(r, child)
			}
		}
	case []any:
		for _, child := range v {
			spoil(r, child)
		}
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func makePatch(t *testing.T, r *rand.Rand, original, modified, current []byte) []byte {
	t.Helper()
	schema, err := strategicpatch.NewPatchMetaFromStruct(core.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var patch []byte
	if r.Intn(2) == 0 {
		patch, err = strategicpatch.CreateThreeWayMergePatch(original, modified, current, schema, true)
	} else {
		patch, err = strategicpatch.CreateTwoWayMergePatch(original, modified, core.Pod{})
	}
	if err != nil {
		return nil
	}
	if r.Intn(3) > 0 {
		return patch
	}
	var tree any
	if err := json.Unmarshal(patch, &tree); err != nil {
		t.Fatal(err)
	}
	spoil(r, tree)
	return encode(t, tree)
}

func TestStrategicPatchesComeOutAsInKubernetes(t *testing.T) {
	f := startFilter(t)
	tried, refused := 0, 0
	for seed := int64(0); seed < 10000; seed++ {
		r := rand.New(rand.NewSource(seed))
		original, modified, current := encode(t, pod(r)), encode(t, pod(r)), encode(t, pod(r))
		patch := makePatch(t, r, original, modified, current)
		if patch == nil {
			continue
		}
		expected, err := strategicpatch.StrategicMergePatch(current, patch, core.Pod{})
		found := f.ask(t, "strategic", "api.core.v1.Pod", string(current), string(patch))
		tried++
		if err != nil {
			refused++ // some nonsense is refused there and taken here
			continue
		}
		// Go's merge leaves nulls and directives in what is new; decoding into the type drops them, or fails.
		var a, b core.Pod
		if json.Unmarshal(expected, &a) != nil {
			refused++
			continue
		}
		if json.Unmarshal([]byte(found), &b) != nil || !equality.Semantic.DeepEqual(a, b) {
			t.Fatalf("seed %d:\ncurrent  %s\npatch    %s\nexpected %s\nfound    %s", seed, current, patch, expected, found)
		}
	}
	t.Logf("%d patches, %d of them refused", tried, refused)
}
