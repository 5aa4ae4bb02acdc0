import io.kubernetes.client.common.KubernetesListObject;
import io.kubernetes.client.common.KubernetesObject;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1Lease;
import io.kubernetes.client.openapi.models.V1LeaseList;
import io.kubernetes.client.openapi.models.V1Pod;
import io.kubernetes.client.openapi.models.V1PodList;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;

/**
 * Follows resources with informers of the official Java client, as a user's program does, and reports what their
 * handlers are told, in the form of the package report of the Go clients. A line on stdin asks for what the caches
 * hold; its end ends it.
 */
public class Follow {
	static String identity(KubernetesObject o) {
		var m = o.getMetadata();
		return Report.identity(m.getNamespace(), m.getName(), m.getUid(), m.getResourceVersion());
	}

	record Handler<T extends KubernetesObject>(String resource) implements ResourceEventHandler<T> {
		@Override
		public void onAdd(T o) {
			Report.added(resource, identity(o));
		}

		@Override
		public void onUpdate(T old, T now) {
			Report.updated(resource, identity(old), identity(now));
		}

		@Override
		public void onDelete(T o, boolean unknown) {
			Report.deleted(resource, identity(o), unknown);
		}
	}

	static <T extends KubernetesObject, L extends KubernetesListObject> SharedIndexInformer<T> inform(
			SharedInformerFactory factory, String name, Class<T> type, GenericKubernetesApi<T, L> api) {
		SharedIndexInformer<T> informer = factory.sharedIndexInformerFor(api, type, 0);
		informer.addEventHandler(new Handler<>(name));
		return informer;
	}

	static SharedIndexInformer<? extends KubernetesObject> follow(SharedInformerFactory factory, ApiClient client,
			String name) {
		return switch (name) {
			case "pods" -> inform(factory, name, V1Pod.class,
				new GenericKubernetesApi<>(V1Pod.class, V1PodList.class, "", "v1", "pods", client));
			case "configmaps" -> inform(factory, name, V1ConfigMap.class,
				new GenericKubernetesApi<>(V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", client));
			case "leases.coordination.k8s.io" -> inform(factory, name, V1Lease.class,
				new GenericKubernetesApi<>(V1Lease.class, V1LeaseList.class, "coordination.k8s.io", "v1", "leases", client));
			case "crontabs.stable.example.com" -> inform(factory, name, DynamicKubernetesObject.class,
				new DynamicKubernetesApi("stable.example.com", "v1", "crontabs", client));
			default -> throw new IllegalArgumentException(name);
		};
	}

	static void tellCaches(Map<String, SharedIndexInformer<? extends KubernetesObject>> informers) {
		informers.forEach((name, informer) -> informer.getIndexer().list()
			.forEach(o -> Report.line("cache", name, ",\"object\":" + identity(o))));
		Report.line("cached", null, "");
	}

	static void tellWhenSynced(String name, SharedIndexInformer<?> informer) {
		try {
			while (!informer.hasSynced()) {
				Thread.sleep(20);
			}
			Report.line("synced", name, "");
		} catch (InterruptedException err) {
			throw new IllegalStateException(err);
		}
	}

	public static void main(String[] names) throws Exception {
		ApiClient client = Config.defaultClient();
		client.setReadTimeout(0);
		SharedInformerFactory factory = new SharedInformerFactory(client);
		Map<String, SharedIndexInformer<? extends KubernetesObject>> informers = new LinkedHashMap<>();
		for (String name : names) {
			informers.put(name, follow(factory, client, name));
		}
		factory.startAllRegisteredInformers();
		informers.forEach((name, informer) -> new Thread(() -> tellWhenSynced(name, informer)).start());
		Scanner asked = new Scanner(System.in);
		while (asked.hasNextLine()) {
			asked.nextLine();
			tellCaches(informers);
		}
		System.exit(0);
	}
}
