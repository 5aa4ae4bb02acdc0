import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;

/**
 * Follows resources with informers of fabric8, as a user's program does, and reports what their handlers are told, in
 * the form of the package report of the Go clients. A line on stdin asks for what the caches hold; its end ends it.
 */
public class Follow {
	static String identity(HasMetadata o) {
		var m = o.getMetadata();
		return Report.identity(m.getNamespace(), m.getName(), m.getUid(), m.getResourceVersion());
	}

	record Handler<T extends HasMetadata>(String resource) implements ResourceEventHandler<T> {
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

	static SharedIndexInformer<? extends HasMetadata> follow(KubernetesClient client, String name) {
		return switch (name) {
			case "pods" -> client.pods().inAnyNamespace().inform(new Handler<>(name));
			case "configmaps" -> client.configMaps().inAnyNamespace().inform(new Handler<>(name));
			case "leases.coordination.k8s.io" -> client.leases().inAnyNamespace().inform(new Handler<>(name));
			case "crontabs.stable.example.com" -> client.genericKubernetesResources(new ResourceDefinitionContext.Builder()
				.withGroup("stable.example.com").withVersion("v1").withPlural("crontabs").withKind("CronTab")
				.withNamespaced(true).build()).inAnyNamespace().inform(new Handler<>(name));
			default -> throw new IllegalArgumentException(name);
		};
	}

	static void tellCaches(Map<String, SharedIndexInformer<? extends HasMetadata>> informers) {
		informers.forEach((name, informer) -> informer.getStore().list()
			.forEach(o -> Report.line("cache", name, ",\"object\":" + identity(o))));
		Report.line("cached", null, "");
	}

	public static void main(String[] names) {
		Map<String, SharedIndexInformer<? extends HasMetadata>> informers = new LinkedHashMap<>();
		KubernetesClient client = new KubernetesClientBuilder().build();
		for (String name : names) {
			informers.put(name, follow(client, name)); // returns when it has synced
			Report.line("synced", name, "");
		}
		Scanner asked = new Scanner(System.in);
		while (asked.hasNextLine()) {
			asked.nextLine();
			tellCaches(informers);
		}
		System.exit(0);
	}
}
