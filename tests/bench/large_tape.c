/*
 * large_tape.c: large_tape OUT.tape PODS NODES RATE SECONDS: the tape of a large cluster: a list of so many pods
 * of 9 kB and of nodes, and two seconds later RATE changes a second. A pod is made of its number and its
 * version anew each time, so that nothing of it is kept; a tenth of it no compression can shrink, as names,
 * ids and digests of real ones.
 */
#include "schema/base/clock.h"
#include "schema/tape/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define BEGIN_NS       INT64_C(1800000000000000000)
#define LEAD_NS        (2 * NS_PER_S)
#define FIRST_RV       100000
#define APPS           400
#define CONTAINERS     4
#define NOTES          14
#define FLUSH_EVENTS   2000
#define PODS_OF_A_NODE 30

struct large {
	struct tape_writer *writer;
	uint32_t pods, nodes; /* streams */
	uint32_t *versions;   /* of each pod */
	uint64_t rv, unflushed;
	struct buf text;
};

static struct err err;

static void must(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "large_tape: %s\n", err.text);
	exit(EXIT_FAILURE);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void put_hex(struct buf *to, uint64_t *random, int digits)
{
	for (; digits > 0; digits -= 16)
		must(buf_printf(to, &err, "%0*llx", digits < 16 ? digits : 16,
			(unsigned long long)(next_random(random) >> (digits < 16 ? 64 - 4 * digits : 0))));
}

static void put_uid(struct buf *to, uint64_t *random)
{
	static const int parts[] = {8, 4, 4, 4, 12};

	for (int i = 0; i < 5; i++) {
		must(buf_printf(to, &err, i ? "-" : ""));
		put_hex(to, random, parts[i]);
	}
}

static void put_container(struct buf *to, unsigned app, int number)
{
	must(buf_printf(to, &err,
		"%s{\"name\":\"c%d\",\"image\":\"registry.example.com/team-%u/app-%u:v1.%u.%d\",\"ports\":[{\"name\":\"http\","
		"\"containerPort\":%d,\"protocol\":\"TCP\"}],\"env\":[",
		number ? "," : "", number, app % 40, app, app % 17, number, 8080 + number));
	for (unsigned i = 0; i < 12; i++)
		must(buf_printf(to, &err,
			"%s{\"name\":\"SETTING_%u_%d\",\"value\":\"svc-%u.ns-%u.svc.cluster.local:%u\"}",
			i ? "," : "", i, number, app * 7 + i, app % 100, 1024 + app * 13 % 60000));
	must(buf_printf(to, &err,
		"],\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"%uMi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},"
		"\"volumeMounts\":[{\"name\":\"config\",\"readOnly\":true,\"mountPath\":\"/etc/app-%u\"}],\"livenessProbe\":{"
		"\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\",\"scheme\":\"HTTP\"},\"timeoutSeconds\":3,\"periodSeconds\":10},"
		"\"terminationMessagePath\":\"/dev/termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}",
		256 + app % 8 * 64, app));
}

static void put_metadata(struct large *l, uint32_t number, unsigned app, uint64_t *random)
{
	struct buf *to = &l->text;

	must(buf_printf(to, &err,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"app-%u-%06x\",\"generateName\":\"app-%u-\","
		"\"namespace\":\"ns-%u\",\"uid\":\"",
		app, number, app, app % 100));
	put_uid(to, random);
	must(buf_printf(to, &err,
		"\",\"resourceVersion\":\"%llu\",\"creationTimestamp\":\"2027-01-14T%02u:%02u:%02uZ\",\"labels\":{"
		"\"app.kubernetes.io/name\":\"app-%u\",\"app.kubernetes.io/part-of\":\"team-%u\",\"pod-template-hash\":\"%08x\"},"
		"\"annotations\":{",
		(unsigned long long)l->rv, number % 24, number / 24 % 60, number / 1440 % 60, app, app % 40,
		app * 2654435761u));
	for (int i = 0; i < NOTES; i++) {
		must(buf_printf(to, &err, "%s\"example.com/digest-%d\":\"", i ? "," : "", i));
		put_hex(to, random, 64);
		must(buf_printf(to, &err, "\""));
	}
	must(buf_printf(to, &err,
		"},\"managedFields\":[{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
		"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{"));
	for (int i = 0; i < 24; i++)
		must(buf_printf(to, &err, "%s\"f:field%d\":{\".\":{},\"f:reason\":{},\"f:status\":{}}",
			i ? "," : "", i));
	must(buf_printf(to, &err, "}},\"subresource\":\"status\"}]}"));
}

static void put_status(struct large *l, uint32_t number, uint64_t *random)
{
	struct buf *to = &l->text;
	uint32_t version = l->versions[number];

	must(buf_printf(to, &err,
		",\"status\":{\"phase\":\"Running\",\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.%u.%u.%u\",\"conditions\":[{\"type\":"
		"\"Ready\",\"status\":\"%s\",\"lastTransitionTime\":\"2027-01-15T08:%02u:%02uZ\"}],\"containerStatuses\":[",
		number % 200, number % 250, number % 64, number / 64 % 250, number % 250,
		version % 2 ? "False" : "True", version / 60 % 60, version % 60));
	for (int i = 0; i < CONTAINERS; i++) {
		must(buf_printf(to, &err,
			"%s{\"name\":\"c%d\",\"ready\":true,\"restartCount\":%u,\"containerID\":\"containerd://",
			i ? "," : "", i, version));
		put_hex(to, random, 64);
		must(buf_printf(to, &err, "\"}"));
	}
	must(buf_printf(to, &err, "]}}"));
}

static void make_pod(struct large *l, uint32_t number)
{
	unsigned app = number % APPS;
	uint64_t random = number;
	struct buf *to = &l->text;

	l->rv++;
	buf_clear(to);
	put_metadata(l, number, app, &random);
	must(buf_printf(to, &err,
		",\"spec\":{\"nodeName\":\"node-%u\",\"volumes\":[{\"name\":\"config\"}],\"containers\":[",
		number / PODS_OF_A_NODE));
	for (int i = 0; i < CONTAINERS; i++)
		put_container(to, app, i);
	must(buf_printf(to, &err, "],\"restartPolicy\":\"Always\",\"schedulerName\":\"default-scheduler\"}"));
	put_status(l, number, &random);
}

static void make_node(struct large *l, uint32_t number)
{
	uint64_t random = ~(uint64_t)number;

	l->rv++;
	buf_clear(&l->text);
	must(buf_printf(&l->text, &err,
		"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"node-%u\",\"uid\":\"",
		number));
	put_uid(&l->text, &random);
	must(buf_printf(&l->text, &err, "\",\"resourceVersion\":\"%llu\"},\"status\":{\"images\":[",
		(unsigned long long)l->rv));
	for (unsigned i = 0; i < 40; i++)
		must(buf_printf(&l->text, &err,
			"%s{\"names\":[\"registry.example.com/team-%u/app-%u\"],\"sizeBytes\":%u}",
			i ? "," : "", (number + i) % 40, (number + i) % APPS,
			50000000 + (number + i) % APPS * 4099));
	must(buf_printf(&l->text, &err, "]}}"));
}

static void put_event(
	struct large *l, uint32_t stream, int64_t time_ns, enum event_type type, enum event_origin origin)
{
	const struct event e = {.time_ns = time_ns, .type = type, .origin = origin, .stream = stream};

	must(tape_writer_append(l->writer, &e, buf_slice(&l->text), NULL, &err));
	if (++l->unflushed < FLUSH_EVENTS && !tape_writer_is_full(l->writer))
		return;
	must(tape_writer_flush(l->writer, &err));
	l->unflushed = 0;
}

static uint32_t add_stream(struct large *l, char *resource, char *kind, bool namespaced)
{
	const struct tape_resource r = {.apigroup = "",
		.version = "v1",
		.resource = resource,
		.kind = kind,
		.namespaced = namespaced};
	struct tape_stream stream = {.namespace = "", .label_selector = "", .field_selector = ""};
	uint32_t id;

	must(tape_writer_resource(l->writer, &r, &stream.resource, &err));
	must(tape_writer_stream(l->writer, &stream, &id, &err));
	return id;
}

static void put_list_mark(struct large *l, uint32_t stream)
{
	char rv[24];
	struct tape_mark mark = {.time_ns = BEGIN_NS, .kind = MARK_LIST, .stream = stream};

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)l->rv);
	mark.rv = slice_of(rv);
	must(tape_writer_mark(l->writer, &mark, &err));
}

static void put_lists(struct large *l, uint32_t pods, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++) {
		make_node(l, i);
		put_event(l, l->nodes, BEGIN_NS, EVENT_ADDED, ORIGIN_LIST);
	}
	for (uint32_t i = 0; i < pods; i++) {
		make_pod(l, i);
		put_event(l, l->pods, BEGIN_NS, EVENT_ADDED, ORIGIN_LIST);
	}
	put_list_mark(l, l->nodes);
	put_list_mark(l, l->pods);
}

static void put_changes(struct large *l, uint32_t pods, uint32_t rate, uint32_t seconds)
{
	uint64_t random = 1;

	for (uint64_t i = 0; i < (uint64_t)rate * seconds; i++) {
		uint32_t number = (uint32_t)(next_random(&random) % pods);

		l->versions[number]++;
		make_pod(l, number);
		put_event(l, l->pods, BEGIN_NS + LEAD_NS + (int64_t)(i * (uint64_t)NS_PER_S / rate),
			EVENT_MODIFIED, ORIGIN_WATCH);
	}
}

int main(int argc, char **argv)
{
	const struct tape_writer_options options = {.segment_bytes = UINT64_MAX};
	struct large l = {.rv = FIRST_RV};
	uint32_t numbers[4];

	if (argc != 6) {
		fprintf(stderr, "usage: large_tape OUT.tape PODS NODES RATE SECONDS\n");
		return 2;
	}
	for (int i = 0; i < 4; i++)
		numbers[i] = (uint32_t)strtoul(argv[i + 2], NULL, 10);
	l.versions = xcalloc(numbers[0] + 1, sizeof(*l.versions));
	buf_init(&l.text, 1u << 20);
	must(tape_writer_open(argv[1], &options, &l.writer, &err));
	l.pods = add_stream(&l, "pods", "Pod", true);
	l.nodes = add_stream(&l, "nodes", "Node", false);
	put_lists(&l, numbers[0], numbers[1]);
	put_changes(&l, numbers[0], numbers[2], numbers[3]);
	must(tape_writer_close(l.writer, &err));
	buf_release(&l.text);
	free(l.versions);
	return 0;
}
