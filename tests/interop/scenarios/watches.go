package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

// naive is the loop of most first programs. A closed channel gives zero events for ever.
func (p *program) naive(goOn bool) error {
	w, err := p.client.CoreV1().Pods("").Watch(p.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var closed int
	var since time.Time
	for {
		event, open := <-w.ResultChan()
		if open {
			pod := event.Object.(*corev1.Pod)
			tellEvent(string(event.Type), pod)
			if pod.Name == "last" {
				return nil
			}
			continue
		}
		if closed++; closed == 1 {
			tell("watch channel closed")
			since = time.Now()
		}
		if !goOn {
			return nil
		}
		if time.Since(since) > time.Second {
			tell("and closed again:", map[bool]string{true: "very often", false: fmt.Sprint(closed)}[closed > 1000])
			return nil
		}
	}
}

// rewatch mends that as it is mended most often.
func (p *program) rewatch() error {
	believed := map[string]bool{}
	for !believed["last"] {
		w, err := p.client.CoreV1().Pods("").Watch(p.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for event := range w.ResultChan() {
			pod := event.Object.(*corev1.Pod)
			tellEvent(string(event.Type), pod)
			believed[pod.Name] = true
			if event.Type == watch.Deleted {
				delete(believed, pod.Name)
			}
			if pod.Name == "last" {
				break
			}
		}
		w.Stop()
		if !believed["last"] {
			tell("watch channel closed, watching again in a moment")
			time.Sleep(300 * time.Millisecond)
		}
	}
	real, err := p.client.CoreV1().Pods("").List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	tell(append([]any{"believes in"}, sorted(believed)...)...)
	names := map[string]bool{}
	for _, pod := range real.Items {
		names[pod.Name] = true
	}
	tell(append([]any{"there are"}, sorted(names)...)...)
	return nil
}

func sorted(names map[string]bool) []any {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	var words []any
	for _, name := range all {
		words = append(words, name)
	}
	return words
}

func (p *program) cast() error {
	w, err := p.client.CoreV1().Pods("").Watch(p.ctx, metav1.ListOptions{ResourceVersion: "95"})
	if err != nil {
		return err
	}
	for event := range w.ResultChan() {
		pod, is := event.Object.(*corev1.Pod)
		if !is {
			status := event.Object.(*metav1.Status)
			tell("error casting Status", status.Code)
			continue
		}
		tellEvent(string(event.Type), pod)
	}
	tell("watch channel closed")
	return nil
}

func (p *program) pages() error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return p.client.CoreV1().Pods("").List(ctx, o)
	})
	pages.PageSize = 1
	list, _, err := pages.List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, pod := range list.(*corev1.PodList).Items {
		names[pod.Name] = true
	}
	tell(append([]any{"there are"}, sorted(names)...)...)
	return nil
}

func (p *program) retryWatcher() error {
	pods := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return p.client.CoreV1().Pods("").Watch(ctx, o)
	}}
	w, err := watchtools.NewRetryWatcherWithContext(p.ctx, "95", pods)
	if err != nil {
		return err
	}
	for event := range w.ResultChan() {
		switch o := event.Object.(type) {
		case *corev1.Pod:
			tellEvent(string(event.Type), o)
			if o.Name == "last" {
				w.Stop()
			}
		case *metav1.Status:
			tell("ERROR", o.Code, o.Reason)
		}
	}
	tell("stopped for ever")
	return nil
}
