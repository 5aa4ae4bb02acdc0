package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// following is a running informer of pods.
type following struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	last     chan struct{} // closed when the pod `last` was seen
}

// follow starts an informer and waits for its first state, however long that takes.
func (p *program) follow() (*following, error) {
	ctx, stop := context.WithCancel(p.ctx)
	f := &following{factory: informers.NewSharedInformerFactory(p.client, 0), stop: stop, last: make(chan struct{})}
	f.informer = f.factory.Core().V1().Pods().Informer()
	if err := f.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { tellError(err) }); err != nil {
		return nil, err
	}
	if _, err := f.informer.AddEventHandler(f.handler()); err != nil {
		return nil, err
	}
	f.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), f.informer.HasSynced) {
		return nil, errors.New("never synchronised")
	}
	return f, nil
}

func tellError(err error) {
	text := err.Error()
	if errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(text, "connection refused") {
		text = "connection refused"
	}
	tell("informer:", text)
}

func (f *following) handler() cache.ResourceEventHandlerDetailedFuncs {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			pod := o.(*corev1.Pod)
			tellEvent(map[bool]string{true: "initial", false: "OnAdd"}[initial], pod)
			if pod.Name == "last" {
				close(f.last)
			}
		},
		UpdateFunc: func(old, now any) {
			from, to := old.(*corev1.Pod), now.(*corev1.Pod)
			tell("OnUpdate", to.Name, string(from.UID)+"->"+string(to.UID), from.ResourceVersion+"->"+to.ResourceVersion)
		},
		DeleteFunc: func(o any) {
			if unknown, is := o.(cache.DeletedFinalStateUnknown); is {
				tellEvent("OnDelete(DeletedFinalStateUnknown)", unknown.Obj.(*corev1.Pod))
				return
			}
			tellEvent("OnDelete", o.(*corev1.Pod))
		},
	}
}

// end waits for the pod `last` and prints the cache.
func (p *program) end(f *following) error {
	select {
	case <-f.last:
	case <-p.ctx.Done():
		return errors.New("the pod 'last' was never seen")
	}
	held := map[string]bool{}
	for _, o := range f.informer.GetStore().List() {
		pod := o.(*corev1.Pod)
		held[pod.Name+"="+string(pod.UID)] = true
	}
	tell(append([]any{"cache:"}, sorted(held)...)...)
	return nil
}

func (p *program) informer() error {
	f, err := p.follow()
	if err != nil {
		return err
	}
	tell("synchronised")
	return p.end(f)
}

func (p *program) shutdown() error {
	f, err := p.follow()
	if err != nil {
		return err
	}
	f.stop()
	f.factory.Shutdown()
	tell("shut down")
	if err := p.create(); err != nil {
		return err
	}
	tell("created")
	return nil
}

// reachable tells whether somebody listens.
func (p *program) reachable() bool {
	server, err := url.Parse(p.config.Host)
	if err != nil {
		return false
	}
	c, err := net.DialTimeout("tcp", server.Host, time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}

func (p *program) waitFor(reachable bool) error {
	for p.reachable() != reachable {
		if p.ctx.Err() != nil {
			return fmt.Errorf("waited in vain for the server to be reachable=%t", reachable)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func (p *program) cutShutdown() error {
	f, err := p.follow()
	if err != nil {
		return err
	}
	if err := p.waitFor(false); err != nil {
		return err
	}
	f.stop()
	f.factory.Shutdown()
	tell("shut down")
	if err := p.waitFor(true); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // a reflector would have been back by now
	tell("nothing more happened")
	return nil
}

func (p *program) cutCreate() error {
	f, err := p.follow()
	if err != nil {
		return err
	}
	if err := p.waitFor(false); err != nil {
		return err
	}
	if err := p.create(); errors.Is(err, syscall.ECONNREFUSED) {
		tell("create: connection refused")
	} else {
		tell("create:", err)
	}
	return p.end(f)
}
