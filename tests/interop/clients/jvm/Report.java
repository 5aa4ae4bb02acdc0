/** What clients for Java are told, in the form of the package report of the Go clients. */
final class Report {
	private Report() {}

	static synchronized void line(String kind, String resource, String more) {
		System.out.println("{\"kind\":\"" + kind + "\"" + (resource == null ? "" : ",\"resource\":\"" + resource + "\"")
			+ more + "}");
	}

	static String identity(String namespace, String name, String uid, String version) {
		String key = namespace == null ? name : namespace + "/" + name;
		return "{\"key\":\"" + key + "\",\"uid\":\"" + uid + "\",\"rv\":\"" + version + "\"}";
	}

	static void added(String resource, String one) {
		line("add", resource, ",\"object\":" + one);
	}

	/** A relist is told as updates of everything to itself: those are left out. */
	static void updated(String resource, String was, String is) {
		if (!was.equals(is)) {
			line("update", resource, ",\"object\":" + is + ",\"old\":" + was);
		}
	}

	static void deleted(String resource, String one, boolean unknown) {
		line("delete", resource, ",\"object\":" + one + (unknown ? ",\"unknown\":true" : ""));
	}
}
