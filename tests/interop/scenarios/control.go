package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// control does to the replay what `kubetape ctl` does: it asks beside the port.
func (p *program) control(word string) error {
	at, err := url.Parse(p.config.Host)
	if err != nil {
		return err
	}
	beside := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", "@kubetape-control-"+at.Port())
	}
	client := http.Client{Transport: &http.Transport{DialContext: beside, DisableKeepAlives: true}}
	answer, err := client.Post("http://localhost/kubetape/v1/"+word, "", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("'%s' was answered with %s", word, answer.Status)
	}
	return nil
}

// until waits for a condition.
func (p *program) until(what string, is func() bool) error {
	for !is() {
		if p.ctx.Err() != nil {
			return errors.New("waited in vain for " + what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// seeks lets the server fall behind its reflector again and again.
func (p *program) seeks() error {
	pods := cache.NewListWatchFromClient(p.client.CoreV1().RESTClient(), "pods", "", fields.Everything())
	reflector := cache.NewReflectorWithOptions(pods, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc),
		cache.ReflectorOptions{Backoff: &wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1, Steps: 1000}})
	go reflector.RunWithContext(p.ctx)
	at := func(version string) error {
		tell("at", version)
		return p.until("version "+version, func() bool { return reflector.LastSyncResourceVersion() == version })
	}
	if err := at("140"); err != nil {
		return err
	}
	for _, version := range []string{"110", "120"} {
		if err := p.back(at); err != nil {
			return err
		}
		for seen := "100"; seen != version; {
			if err := p.control("step?count=1"); err != nil {
				return err
			}
			seen = map[string]string{"100": "110", "110": "120"}[seen]
			if err := at(seen); err != nil {
				return err
			}
		}
	}
	return p.back(at)
}

func (p *program) back(at func(string) error) error {
	for _, word := range []string{"pause", "seek?to=pods@100"} {
		if err := p.control(word); err != nil {
			return err
		}
	}
	return at("100")
}

// resync has two handlers, one of which wants to be told of everything each second, the other each hour.
func (p *program) resync() error {
	informer := informers.NewSharedInformerFactory(p.client, time.Hour).Core().V1().Pods().Informer()
	again, last := make(chan struct{}, 1000), make(chan struct{}, 2)
	handler := func(who string) cache.ResourceEventHandlerFuncs {
		return cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) {
				if pod := o.(*corev1.Pod); pod.Name == "last" {
					last <- struct{}{}
				}
			},
			UpdateFunc: func(old, now any) {
				from, to := old.(*corev1.Pod), now.(*corev1.Pod)
				if from.ResourceVersion != to.ResourceVersion {
					tell(who, "OnUpdate", to.Name, from.ResourceVersion+"->"+to.ResourceVersion)
					return
				}
				tell(who, "again", to.Name)
				again <- struct{}{}
			},
			DeleteFunc: func(o any) { tell(who, "OnDelete", o.(cache.DeletedFinalStateUnknown).Key) },
		}
	}
	if _, err := informer.AddEventHandler(handler("each hour:")); err != nil {
		return err
	}
	if _, err := informer.AddEventHandlerWithResyncPeriod(handler("each second:"), time.Second); err != nil {
		return err
	}
	go informer.RunWithContext(p.ctx)
	select {
	case <-again: // from here on the informer knows who wants it
	case <-p.ctx.Done():
		return errors.New("nothing was told again")
	}
	if err := p.control("resume"); err != nil {
		return err
	}
	<-last
	<-last
	return nil
}

// idle is `shutdown` with an impatient transport: connections that are not in use are closed after a second.
func (p *program) idle() error {
	p.config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		inner := rt
		for wrapped, is := inner.(utilnet.RoundTripperWrapper); is; wrapped, is = inner.(utilnet.RoundTripperWrapper) {
			inner = wrapped.WrappedRoundTripper()
		}
		inner.(*http.Transport).IdleConnTimeout = time.Second
		return rt
	})
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return err
	}
	p.client = client
	f, err := p.follow()
	if err != nil {
		return err
	}
	f.stop()
	f.factory.Shutdown()
	var kept atomic.Bool
	p.ctx = httptrace.WithClientTrace(p.ctx, &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { kept.Store(c.Reused) }})
	if err := p.create(); err != nil {
		return err
	}
	tell("created on the kept connection:", kept.Load())
	for kept.Load() && p.ctx.Err() == nil {
		time.Sleep(1200 * time.Millisecond)
		if _, err := p.client.CoreV1().Pods("").List(p.ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	tell("listed on a new one:", !kept.Load())
	return nil
}

// counted is a lock that tells when it was renewed three times.
type counted struct {
	resourcelock.Interface
	renewals int
	enough   func()
}

func (c *counted) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := c.Interface.Update(ctx, record)
	if c.renewals++; c.renewals == 3 {
		c.enough()
	}
	return err
}

// lead becomes the leader, stays it for three renewals, and then writes its lease at a version that is over.
func (p *program) lead() error {
	ctx, stop := context.WithCancel(p.ctx)
	leases := p.client.CoordinationV1()
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "lock"}, Client: leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &counted{Interface: lock, enough: stop}, LeaseDuration: time.Minute, RenewDeadline: 30 * time.Second,
		RetryPeriod: 100 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(who string) { tell("leader:", who) },
		}})
	lease, err := leases.Leases("default").Get(p.ctx, "lock", metav1.GetOptions{})
	if err != nil {
		return err
	}
	write := func(seconds int32) error {
		changed := lease.DeepCopy()
		changed.Spec = coordinationv1.LeaseSpec{HolderIdentity: lease.Spec.HolderIdentity, LeaseDurationSeconds: &seconds}
		_, err := leases.Leases("default").Update(p.ctx, changed, metav1.UpdateOptions{})
		return err
	}
	if err := write(20); err != nil {
		return err
	}
	tell("a stale version is a conflict:", apierrors.IsConflict(write(30)))
	return nil
}

// discover asks for all resources, in the old way or in the new one.
func (p *program) discover(legacy bool) error {
	client, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return err
	}
	client.UseLegacyDiscovery = legacy
	groups, resources, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	for _, list := range resources {
		for _, one := range list.APIResources {
			if one.Name == "pods" {
				tell("pods", list.GroupVersion, one.Kind)
			}
		}
	}
	tell("groups:", len(groups) > 0)
	return nil
}
