// Package report writes what an informer told its handler, one JSON line for each call, and what its cache holds
// at the end. It depends on no Kubernetes module, so that client programs of different versions can share it.
package report

import (
	"encoding/json"
	"io"
	"sync"
)

// Object is what identifies one version of one object.
type Object struct {
	Key             string `json:"key"` // namespace/name, or name
	UID             string `json:"uid"`
	ResourceVersion string `json:"rv"`
}

// line is one line of output. Kind is `add`, `update` or `delete` for a call of the handler, `synced` when the
// initial state has been handed over, `cache` for one object of a cache, `end` (or `cached`) after the last of those.
type line struct {
	Kind     string  `json:"kind"`
	Resource string  `json:"resource,omitempty"`
	Object   *Object `json:"object,omitempty"`
	Old      *Object `json:"old,omitempty"`     // update: what the cache held before
	Initial  bool    `json:"initial,omitempty"` // add: part of the initial state
	Unknown  bool    `json:"unknown,omitempty"` // delete: wrapped in DeletedFinalStateUnknown
}

// Writer may be used by several goroutines; each line is written in one piece.
type Writer struct {
	mutex sync.Mutex
	out   *json.Encoder
}

func New(w io.Writer) *Writer {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &Writer{out: encoder}
}

func (w *Writer) write(l line) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err := w.out.Encode(l); err != nil {
		panic(err) // the reader of our output is gone: nothing can be reported any more
	}
}

func (w *Writer) Add(resource string, o Object, initial bool) {
	w.write(line{Kind: "add", Resource: resource, Object: &o, Initial: initial})
}

func (w *Writer) Update(resource string, old, now Object) {
	w.write(line{Kind: "update", Resource: resource, Object: &now, Old: &old})
}

func (w *Writer) Delete(resource string, o Object, unknown bool) {
	w.write(line{Kind: "delete", Resource: resource, Object: &o, Unknown: unknown})
}

func (w *Writer) Synced(resource string) { w.write(line{Kind: "synced", Resource: resource}) }
func (w *Writer) Cache(resource string, o Object) {
	w.write(line{Kind: "cache", Resource: resource, Object: &o})
}

// Cached ends what was asked for on stdin.
func (w *Writer) Cached() { w.write(line{Kind: "cached"}) }
func (w *Writer) End()    { w.write(line{Kind: "end"}) }
