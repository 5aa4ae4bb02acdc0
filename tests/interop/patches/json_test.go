package patches

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// The API server's library follows the RFC in most and not in all: what it takes, kubetape takes.

func randomJSON(r *rand.Rand, depth int) any {
	switch n := r.Intn(10); {
	case depth > 0 && n < 4:
		object := map[string]any{}
		for range r.Intn(4) {
			object[string("abc"[r.Intn(3)])] = randomJSON(r, depth-1)
		}
		return object
	case depth > 0 && n < 7:
		array := []any{}
		for range r.Intn(4) {
			array = append(array, randomJSON(r, depth-1))
		}
		return array
	case n < 9:
		return r.Intn(3)
	default:
		return "x"
	}
}

func randomPath(r *rand.Rand) string {
	tokens := []string{"a", "b", "c", "a", "b", "c", "0", "1", "2", "-", "-1", "-2", "01"}
	path := ""
	for range 1 + r.Intn(3) {
		path += "/" + tokens[r.Intn(len(tokens))]
	}
	return path
}

func randomOperations(r *rand.Rand) []map[string]any {
	operations := []map[string]any{}
	for range 1 + r.Intn(3) {
		op := []string{"add", "remove", "replace", "move", "copy", "test", "fly"}[r.Intn(20)*6/19]
		o := map[string]any{"op": op, "path": randomPath(r)}
		if op == "move" || op == "copy" {
			o["from"] = randomPath(r)
		}
		if r.Intn(8) == 0 {
			o["value"] = nil
		} else if op == "test" || r.Intn(4) > 0 {
			o["value"] = randomJSON(r, 2)
		}
		operations = append(operations, o)
	}
	return operations
}

// applied is what Go makes of it; ok is false where it panics, as it does for some nulls.
func applied(document, patch []byte) (text string, ok bool) {
	defer func() { ok = recover() == nil }()
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return "error", true
	}
	made, err := operations.Apply(document)
	if err != nil {
		return "error", true
	}
	return sorted(made), true
}

func sorted(text []byte) string {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Sprintf("no JSON: %s", text)
	}
	made, _ := json.Marshal(value)
	return string(made)
}

func TestRandomJSONPatchesComeOutAsInTheAPIServer(t *testing.T) {
	f := startFilter(t)
	r := rand.New(rand.NewSource(6902))
	compared, done := 0, 0
	for range 100000 {
		document, _ := json.Marshal(map[string]any{"a": randomJSON(r, 3), "b": randomJSON(r, 2)})
		patch, _ := json.Marshal(randomOperations(r))
		want, ok := applied(document, patch)
		if !ok {
			continue
		}
		got := f.ask(t, "json", string(document), string(patch))
		if strings.HasPrefix(got, "error: ") {
			got = "error"
		} else {
			got = sorted([]byte(got))
		}
		if got != want {
			t.Fatalf("%s patched with %s: kubetape %s, Go %s", document, patch, got, want)
		}
		compared++
		if want != "error" {
			done++
		}
	}
	if compared < 50000 || done < 5000 {
		t.Fatalf("%d compared, %d of them without an error", compared, done)
	}
}
