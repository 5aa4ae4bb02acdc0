// Manager is a small controller, as users write them with controller-runtime, with leader election: for each config
// map NAME it keeps another, seen-NAME, which says what NAME's UID is.
//
//	manager [-naive]
//
// With -naive it takes a config map for the same as long as nobody told it that it was deleted: a bug that shows only
// where a deletion and a new creation are missed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const prefix = "seen-"

type reconciler struct {
	client.Client
	naive bool
	known sync.Map // key: UID, of the naive one
}

func main() {
	naive := flag.Bool("naive", false, "know config maps by their names")
	flag.Parse()
	log.SetLogger(zap.New())
	if err := run(*naive); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(naive bool) error {
	restConfig, err := config.GetConfig()
	if err != nil {
		return err
	}
	m, err := manager.New(restConfig, manager.Options{
		LeaderElection: true, LeaderElectionID: "seen", LeaderElectionNamespace: "default",
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: m.GetClient(), naive: naive}
	seen := predicate.NewPredicateFuncs(func(o client.Object) bool { return !strings.HasPrefix(o.GetName(), prefix) })
	forget := predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		r.known.Delete(client.ObjectKeyFromObject(e.Object))
		return true
	}}
	err = builder.ControllerManagedBy(m).For(&corev1.ConfigMap{}).WithEventFilter(predicate.And(forget, seen)).Complete(r)
	if err != nil {
		return err
	}
	return m.Start(signals.SetupSignalHandler())
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var of corev1.ConfigMap
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: prefix + request.Name}}
	if err := r.Get(ctx, request.NamespacedName, &of); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, client.IgnoreNotFound(r.Delete(ctx, made))
	}
	uid := of.UID
	if r.naive {
		first, _ := r.known.LoadOrStore(request.NamespacedName, uid)
		uid = first.(types.UID)
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, made, func() error {
		made.Data = map[string]string{"uid": string(uid)}
		return nil
	})
	return reconcile.Result{}, err
}
