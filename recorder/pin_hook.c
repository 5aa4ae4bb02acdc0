/* pin_hook.c: see pin_hook.h. */
#include "recorder/pin_hook.h"

#include "recorder/push/web_call.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LIMIT_NS         (60 * NS_PER_S)
#define FINISH_LIMIT_NS  (10 * NS_PER_S)
#define MAX_BODY_BYTES   (256u << 10)
#define MAX_ANSWER_BYTES (64u << 10)

struct pin_hook {
	const struct recorder_context *x;
	const char *hook;
	bool runs, is_over;
	struct news *first, **last; /* what is to be told when the one that runs has ended */
	size_t waiting;
	/* A command. */
	uv_process_t process;
	uv_timer_t limit;
	/* A request, on a thread of libuv's. */
	uv_work_t work;
	struct buf body;
	_Atomic int64_t give_up_ns; /* monotonic */
	struct err trouble;
};

/* ---- what is told ---- */

#define FACTS       10
#define WAITING_MAX 16

struct fact {
	const char *variable, *member; /* for a command, in JSON */
	char *value;
};

static void make_facts(const struct pin_facts *f, struct fact facts[FACTS])
{
	const struct event *e = f->event;
	const struct tape_resource *r = f->resource;
	char time[TIME_TEXT_BYTES];
	const struct fact made[FACTS] = {
		{"KUBETAPE_TAPE", "tape", xstrdup(f->tape)},
		{"KUBETAPE_PIN", "pin", xstrdup(f->pin)},
		{"KUBETAPE_WHEN", "when", xstrdup(f->when)},
		{"KUBETAPE_TYPE", "type", xstrdup(event_type_name(e->type))},
		{"KUBETAPE_RESOURCE", "resource",
			xasprintf("%s%s%s", r->resource, *r->apigroup ? "." : "", r->apigroup)},
		{"KUBETAPE_NAMESPACE", "namespace", slice_dup(e->namespace)},
		{"KUBETAPE_NAME", "name", slice_dup(e->name)},
		{"KUBETAPE_UID", "uid", slice_dup(e->uid)},
		{"KUBETAPE_SEQ", "seq", xasprintf("%llu", (unsigned long long)e->seq)},
		{"KUBETAPE_TIME", "time", xstrdup(time_format(time, e->time_ns))},
	};

	memcpy(facts, made, sizeof(made));
}

/* That waits for its turn. */
struct news {
	struct fact facts[FACTS];
	struct news *next;
};

static void news_free(struct news *n)
{
	for (size_t i = 0; i < FACTS; i++)
		free(n->facts[i].value);
	free(n);
}

static struct news *take_first(struct pin_hook *h)
{
	struct news *n = h->first;

	h->first = n->next;
	h->waiting--;
	if (!h->first)
		h->last = &h->first;
	return n;
}

static void start_next(struct pin_hook *h);

static void on_over(struct pin_hook *h)
{
	h->runs = false;
	start_next(h);
}

/* ---- a command ---- */

static void on_closed(uv_handle_t *handle)
{
	on_over(handle->data);
}

static void on_ended(uv_process_t *process, int64_t status, int signal_number)
{
	struct pin_hook *h = process->data;

	uv_timer_stop(&h->limit);
	if (signal_number)
		log_warn("the hook '%s' was ended by signal %d", h->hook, signal_number);
	else if (status)
		log_warn("the hook '%s' ended with exit code %lld", h->hook, (long long)status);
	uv_close((uv_handle_t *)process, on_closed);
}

/* With all that it has started. */
static void on_limit(uv_timer_t *timer)
{
	struct pin_hook *h = timer->data;

	if (h->runs)
		kill(-h->process.pid, SIGKILL);
}

static char **make_environment(const struct fact facts[FACTS])
{
	size_t count = 0;
	char **env;

	while (environ[count])
		count++;
	env = xcalloc(count + FACTS + 1, sizeof(*env));
	for (size_t i = 0; i < FACTS; i++) /* of two equal names getenv takes the first */
		env[i] = xasprintf("%s=%s", facts[i].variable, facts[i].value);
	memcpy(env + FACTS, environ, count * sizeof(*env));
	return env;
}

/* The child says on our stderr why it fails, and nothing else. */
static void start_command(struct pin_hook *h, const struct fact facts[FACTS])
{
	uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE},
		{.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO}};
	char *args[] = {(char *)"sh", (char *)"-c", (char *)h->hook, NULL};
	char **env = make_environment(facts);
	uv_process_options_t options = {.exit_cb = on_ended,
		.file = "sh",
		.args = args,
		.env = env,
		.stdio = stdio,
		.stdio_count = 3,
		.flags = UV_PROCESS_DETACHED}; /* a group of its own, to be ended as a whole */
	int rc = uv_spawn(h->x->loop, &h->process, &options);

	h->process.data = h;
	if (rc) {
		log_warn("'%s' cannot be run: %s", args[0], uv_strerror(rc));
		uv_close((uv_handle_t *)&h->process, on_closed);
	} else {
		uv_timer_start(&h->limit, on_limit, LIMIT_NS / NS_PER_MS, 0);
	}
	for (size_t i = 0; i < FACTS; i++)
		free(env[i]);
	free(env);
}

/* ---- a request ---- */

static bool is_url(const char *hook)
{
	return strncasecmp(hook, "https://", 8) == 0 || strncasecmp(hook, "http://", 7) == 0;
}

/* `text` is a sentence for people, which chat programs show. */
static int write_body(const struct fact facts[FACTS], struct buf *to)
{
	struct buf text;
	int rc;

	buf_init(&text, MAX_BODY_BYTES);
	rc = buf_printf(&text, NULL, "%s %s%s%s: %s", facts[4].value, facts[5].value,
		*facts[5].value ? "/" : "", facts[6].value, facts[2].value);
	rc = rc ? rc : buf_printf(to, NULL, "{\"text\": ");
	rc = rc ? rc : json_escape(buf_slice(&text), to, NULL);
	buf_release(&text);
	for (size_t i = 0; i < FACTS && !rc; i++) {
		bool is_number = strcmp(facts[i].member, "seq") == 0;

		rc = buf_printf(to, NULL, ", \"%s\": ", facts[i].member);
		if (!rc)
			rc = is_number ? buf_printf(to, NULL, "%s", facts[i].value)
				       : json_escape(slice_of(facts[i].value), to, NULL);
	}
	return rc ? rc : buf_printf(to, NULL, "}\n");
}

static bool is_over(void *context)
{
	struct pin_hook *h = context;

	return clock_mono_ns(&clock_system) >= atomic_load(&h->give_up_ns);
}

static void post(uv_work_t *work)
{
	struct pin_hook *h = work->data;
	struct web *web = web_new(is_over, h);
	const struct web_request request = {.method = "POST",
		.url = h->hook,
		.headers = {"Content-Type: application/json", "Expect:"},
		.body = {.memory = buf_slice(&h->body)},
		.max_bytes = MAX_ANSWER_BYTES};
	struct web_answer answer;
	int rc = web_call(web, &request, &answer, &h->trouble);

	if (rc == ERR_STOPPED)
		err_set(&h->trouble, rc, "no answer came in time");
	if (rc == 0 && (answer.status < 200 || answer.status > 299))
		err_set(&h->trouble, ERR_FAILED, "it answered %d", answer.status);
	if (rc == 0)
		web_answer_release(&answer);
	web_free(web);
}

static void on_posted(uv_work_t *work, int status)
{
	struct pin_hook *h = work->data;
	char server[WEB_SERVER_BYTES];

	(void)status;
	web_server(h->hook, server);
	if (h->trouble.code)
		log_warn("the hook at '%s' was not told: %s", server, h->trouble.text);
	buf_release(&h->body);
	on_over(h);
}

static void start_request(struct pin_hook *h, const struct fact facts[FACTS])
{
	char server[WEB_SERVER_BYTES];

	h->trouble = (struct err){0};
	atomic_store(&h->give_up_ns, clock_mono_ns(&clock_system) + LIMIT_NS);
	buf_init(&h->body, MAX_BODY_BYTES);
	h->work.data = h;
	if (write_body(facts, &h->body) == 0 && uv_queue_work(h->x->loop, &h->work, post, on_posted) == 0)
		return;
	web_server(h->hook, server);
	log_warn("the hook at '%s' was not told: there is too much to tell", server);
	buf_release(&h->body);
	h->runs = false;
}

/* ---- from outside ---- */

struct pin_hook *pin_hook_new(const struct recorder_context *x, const char *hook)
{
	struct pin_hook *h = xcalloc(1, sizeof(*h));

	h->x = x;
	h->hook = hook;
	h->last = &h->first;
	uv_timer_init(x->loop, &h->limit);
	h->limit.data = h;
	return h;
}

static void start_next(struct pin_hook *h)
{
	while (!h->runs && !h->is_over && h->first) {
		struct news *n = take_first(h);

		h->runs = true;
		if (is_url(h->hook))
			start_request(h, n->facts);
		else
			start_command(h, n->facts);
		news_free(n);
	}
}

void pin_hook_run(struct pin_hook *h, const struct pin_facts *f)
{
	struct news *n;

	if (!h)
		return;
	if (h->waiting == WAITING_MAX) {
		log_warn("the hook was not told of event %llu: %d others wait for one that is still at work",
			(unsigned long long)f->event->seq, WAITING_MAX);
		return;
	}
	n = xcalloc(1, sizeof(*n));
	make_facts(f, n->facts);
	*h->last = n;
	h->last = &n->next;
	h->waiting++;
	start_next(h);
}

void pin_hook_finish(struct pin_hook *h, bool waits)
{
	if (!h)
		return;
	h->is_over = true;
	if (h->waiting)
		log_warn(
			"the recording ended before the hook was told of %zu events that waited for one that is still at work",
			h->waiting);
	if (!h->runs || (is_url(h->hook) && !waits))
		return;
	if (is_url(h->hook))
		atomic_store(&h->give_up_ns, clock_mono_ns(&clock_system) + FINISH_LIMIT_NS);
	else
		uv_timer_start(&h->limit, on_limit, FINISH_LIMIT_NS / NS_PER_MS, 0);
	while (h->runs)
		uv_run(h->x->loop, UV_RUN_ONCE);
}

void pin_hook_free(struct pin_hook *h)
{
	while (h && h->first)
		news_free(take_first(h));
	free(h);
}
