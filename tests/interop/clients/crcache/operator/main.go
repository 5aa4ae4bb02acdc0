// Operator is a controller of a custom resource, as users write them with controller-runtime: for each cron tab NAME it
// adds a finalizer, creates a config map made-NAME and reads it back from the server, applies another, applied-NAME, and
// says so in the status. What it does again and again must come to an end without an error, also where its writes are
// answered and not shown.
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "kubetape.test/operator"

type reconciler struct {
	client.Client
	live client.Reader
}

func main() {
	log.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func cronTab() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"})
	return o
}

func run() error {
	restConfig, err := config.GetConfig()
	if err != nil {
		return err
	}
	m, err := manager.New(restConfig, manager.Options{
		LeaderElection: true, LeaderElectionID: "operator", LeaderElectionNamespace: "default",
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	r := &reconciler{m.GetClient(), m.GetAPIReader()}
	if err := builder.ControllerManagedBy(m).For(cronTab()).Complete(r); err != nil {
		return err
	}
	return m.Start(signals.SetupSignalHandler())
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	of := cronTab()
	if err := r.Get(ctx, request.NamespacedName, of); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := of.DeepCopy()
	if controllerutil.AddFinalizer(of, finalizer) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, of, patch); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.make(ctx, of); err != nil {
		return reconcile.Result{}, err
	}
	applied := corev1ac.ConfigMap("applied-"+of.GetName(), of.GetNamespace()).WithData(map[string]string{"of": of.GetName()})
	if err := r.Apply(ctx, applied, client.FieldOwner("operator"), client.ForceOwnership); err != nil {
		return reconcile.Result{}, err
	}
	if err := unstructured.SetNestedField(of.Object, "Ready", "status", "phase"); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.Status().Update(ctx, of)
}

// What it has created it reads back, from the server and not from its cache, and updates.
func (r *reconciler) make(ctx context.Context, of *unstructured.Unstructured) error {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: of.GetNamespace(), Name: "made-" + of.GetName()}}
	if err := controllerutil.SetControllerReference(of, made, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	found := &corev1.ConfigMap{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(made), found); err != nil {
		return err
	}
	found.Data = map[string]string{"of": string(of.GetUID())}
	return r.Update(ctx, found)
}
