// Cainjector is that of cert-manager without leader election and without Certificates, which are another program's: its own main is
// in a module that cannot be built from outside.
package main

import (
	"os"

	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/util"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func check(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}

func main() {
	ctrl.SetLogger(zap.New())
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		check(add(known))
	}
	// By its user agent it names itself as the manager of fields.
	mgr, err := ctrl.NewManager(util.RestConfigWithUserAgent(ctrl.GetConfigOrDie(), "cainjector"), ctrl.Options{
		Scheme:  known,
		Metrics: server.Options{BindAddress: "0"},
		// As its own main does it: of Secrets only the metadata are watched.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	check(err)
	ctx := ctrl.SetupSignalHandler()
	check(cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{EnabledReconcilersFor: map[string]bool{
		cainjector.MutatingWebhookConfigurationName:   true,
		cainjector.ValidatingWebhookConfigurationName: true,
		cainjector.APIServiceName:                     true,
		cainjector.CustomResourceDefinitionName:       true,
	}}))
	check(mgr.Start(ctx))
}
