/* exec_plugin.c: see exec_plugin.h. */
#include "recorder/exec_plugin.h"

#include "schema/base/base64.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_RUN_MS 60000

extern char **environ;

struct exec_plugin {
	uv_process_t process;
	uv_pipe_t out;
	uv_timer_t limit;
	unsigned open_handles;
	bool exited, eof, timed_out, too_large, stopped;
	int64_t exit_status;
	int signal;
	struct buf text;
	char block[8192];
	const struct exec_config *config;
	void (*done)(void *context, struct exec_answer *answer, const struct err *err);
	void *context;
};

void exec_answer_release(struct exec_answer *a)
{
	free(a->token);
	buf_release(&a->certificate);
	buf_release(&a->key);
	*a = (struct exec_answer){0};
}

/* Appends the text of the string at `path`; nothing when there is none. */
static int text_at(struct slice json, const char *path, struct buf *to, struct err *err)
{
	struct slice value;
	int rc = json_get(json, path, &value, err);

	if (rc <= 0 || value.len < 2 || value.ptr[0] != '"')
		return rc < 0 ? rc : 0;
	return json_unescape(value, to, err);
}

/* What is beyond our years never comes. */
static int parse_expiry(struct slice text, int64_t *ret_ns, struct err *err)
{
	struct moment when;
	int rc = moment_parse(text, &when, err);

	if (rc)
		return rc;
	if (when.form != MOMENT_ABSOLUTE)
		return err_set(err, ERR_USAGE, "bad expirationTimestamp '%.*s': expected a date and time",
			(int)text.len, text.ptr);
	if (when.ns < INT64_MAX)
		*ret_ns = when.ns;
	return 0;
}

static int parse_status(struct slice json, struct exec_answer *a, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = text_at(json, "$.status.token", &text, err);
	if (rc == 0 && text.len)
		a->token = slice_dup(buf_slice(&text));
	buf_clear(&text);
	if (rc == 0)
		rc = text_at(json, "$.status.expirationTimestamp", &text, err);
	if (rc == 0 && text.len)
		rc = parse_expiry(buf_slice(&text), &a->expires_ns, err);
	buf_release(&text);
	if (rc == 0)
		rc = text_at(json, "$.status.clientCertificateData", &a->certificate, err);
	if (rc == 0)
		rc = text_at(json, "$.status.clientKeyData", &a->key, err);
	return rc;
}

static int check_version(struct slice json, const char *wanted, struct err *err)
{
	struct slice value;
	int rc = json_get(json, "$.kind", &value, err);

	if (rc < 0)
		return rc;
	if (rc == 0 || !slice_is(value, "\"ExecCredential\""))
		return err_set(err, ERR_PROTOCOL, "answer of the credential plugin is no ExecCredential");
	rc = json_get(json, "$.apiVersion", &value, err);
	if (rc < 0)
		return rc;
	if (rc == 0 || value.len < 2)
		return err_set(err, ERR_PROTOCOL, "answer of the credential plugin has no apiVersion");
	value = (struct slice){value.ptr + 1, value.len - 2};
	if (wanted && !slice_is(value, wanted))
		return err_set(err, ERR_PROTOCOL,
			"credential plugin answered with apiVersion '%.*s', not '%s'", (int)value.len,
			value.ptr, wanted);
	return 0;
}

/* The answer in the JSON that the program printed. */
static int parse_answer(struct slice json, const char *api_version, struct exec_answer *ret, struct err *err)
{
	struct exec_answer a = {0};
	int rc = check_version(json, api_version, err);

	buf_init(&a.certificate, LIMIT_CONFIG_BYTES);
	buf_init(&a.key, LIMIT_CONFIG_BYTES);
	if (rc == 0)
		rc = parse_status(json, &a, err);
	if (rc == 0 && !a.token && !a.certificate.len)
		rc = err_set(err, ERR_PROTOCOL, "credential plugin gave neither a token nor a certificate");
	if (rc == 0 && !a.certificate.len != !a.key.len)
		rc = err_set(
			err, ERR_PROTOCOL, "credential plugin gave a certificate without key, or a key only");
	if (rc) {
		exec_answer_release(&a);
		return rc;
	}
	*ret = a;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct exec_plugin *p = handle->data;

	if (--p->open_handles)
		return;
	buf_release(&p->text);
	free(p);
}

static void close_all(struct exec_plugin *p)
{
	uv_handle_t *handles[] = {
		(uv_handle_t *)&p->process, (uv_handle_t *)&p->out, (uv_handle_t *)&p->limit};

	for (size_t i = 0; i < COUNT_OF(handles); i++) {
		if (!uv_is_closing(handles[i]))
			uv_close(handles[i], on_closed);
	}
}

static int exec_plugin_judge(struct exec_plugin *p, struct exec_answer *a, struct err *err)
{
	const char *command = p->config->command;
	int rc;

	if (p->timed_out)
		return err_set(err, ERR_DENIED, "credential plugin '%s' took longer than %d s", command,
			MAX_RUN_MS / 1000);
	if (p->too_large)
		return err_set(err, ERR_TOO_LARGE, "credential plugin '%s' prints more than %u bytes",
			command, LIMIT_CONFIG_BYTES);
	if (p->exit_status || p->signal)
		return err_set(err, ERR_DENIED, "credential plugin '%s' ended with %s %d", command,
			p->signal ? "signal" : "exit code", p->signal ? p->signal : (int)p->exit_status);
	rc = parse_answer(buf_slice(&p->text), p->config->api_version, a, err);
	if (rc)
		return err_prefix(err, rc, "credential plugin '%s'", command);
	return 0;
}

static void finish_when_done(struct exec_plugin *p)
{
	struct exec_answer answer = {0};
	struct err err = {0};

	if (p->stopped || !p->exited || !p->eof)
		return;
	p->stopped = true;
	close_all(p);
	err.code = exec_plugin_judge(p, &answer, &err);
	p->done(p->context, &answer, &err);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
	struct exec_plugin *p = process->data;

	p->exited = true;
	p->exit_status = status;
	p->signal = signal;
	finish_when_done(p);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct exec_plugin *p = handle->data;

	(void)suggested;
	*ret = uv_buf_init(p->block, sizeof(p->block));
}

/* Nothing more is expected of it: whether it was killed for that or not, it is over when it has exited. */
static void give_up(struct exec_plugin *p)
{
	p->eof = true;
	if (p->exited)
		finish_when_done(p);
	else
		uv_process_kill(&p->process, SIGKILL);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *block)
{
	struct exec_plugin *p = stream->data;

	if (n == 0 || (n > 0 && buf_append(&p->text, block->base, (size_t)n, NULL) == 0))
		return;
	uv_read_stop(stream);
	if (n > 0) {
		p->too_large = true;
		give_up(p);
		return;
	}
	p->eof = true;
	finish_when_done(p);
}

static void on_limit(uv_timer_t *timer)
{
	struct exec_plugin *p = timer->data;

	p->timed_out = true;
	give_up(p);
}

/* Why a program did not start, told from the loop like every other outcome. */
static void on_not_started(uv_timer_t *timer)
{
	struct exec_plugin *p = timer->data;
	struct exec_answer none = {0};
	struct err err;

	if (p->stopped)
		return;
	p->stopped = true;
	err_set(&err, ERR_DENIED, "credential plugin '%s' cannot be run: %s%s%s", p->config->command,
		uv_strerror((int)p->exit_status), p->config->install_hint ? "; " : "",
		p->config->install_hint ? p->config->install_hint : "");
	close_all(p);
	p->done(p->context, &none, &err);
}

static int append_json_member(struct buf *to, const char *key, struct slice value, struct err *err)
{
	int rc;

	if (!value.len)
		return 0;
	rc = buf_printf(to, err, ",\"%s\":", key);
	return rc ? rc : json_escape(value, to, err);
}

/* The certificates of those who may sign the server's one, from the kubeconfig or the file it names. */
static int append_authority(struct buf *json, const struct cluster_config *config, struct err *err)
{
	struct buf file, text;
	int rc = 0;

	buf_init(&file, LIMIT_CONFIG_BYTES);
	buf_init(&text, LIMIT_CONFIG_BYTES);
	if (config->ca_data.len)
		rc = base64_encode(buf_slice(&config->ca_data), &text, err);
	else if (config->ca_file && read_config_file(config->ca_file, &file, NULL) == 0)
		rc = base64_encode(buf_slice(&file), &text, err);
	if (rc == 0)
		rc = append_json_member(json, "certificate-authority-data", buf_slice(&text), err);
	buf_release(&file);
	buf_release(&text);
	return rc;
}

static int append_cluster(struct buf *json, const struct cluster_config *config, struct err *err)
{
	int rc = buf_printf(json, err, ",\"cluster\":{\"insecure-skip-tls-verify\":%s",
		config->insecure ? "true" : "false");

	if (rc == 0)
		rc = append_json_member(json, "server", slice_of(config->server), err);
	if (rc == 0)
		rc = append_json_member(json, "tls-server-name", slice_of(config->tls_server_name), err);
	if (rc == 0)
		rc = append_json_member(json, "proxy-url", slice_of(config->proxy_url), err);
	if (rc == 0)
		rc = append_authority(json, config, err);
	return rc ? rc : buf_append(json, "}", 1, err);
}

/* KUBERNETES_EXEC_INFO: what the plugin may know of us and of the cluster. */
static char *exec_info(const struct cluster_config *config)
{
	const struct exec_config *e = config->exec;
	struct buf json;
	struct err err;
	char *line;
	int rc;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	rc = buf_printf(&json, &err,
		"KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"spec\":{"
		"\"interactive\":%s",
		e->api_version ? e->api_version : "client.authentication.k8s.io/v1",
		isatty(STDIN_FILENO) ? "true" : "false");
	if (rc == 0 && e->cluster_info)
		rc = append_cluster(&json, config, &err);
	if (rc == 0)
		rc = buf_printf(&json, &err, "}}");
	line = rc ? xstrdup("KUBERNETES_EXEC_INFO=") : slice_dup(buf_slice(&json));
	buf_release(&json);
	return line;
}

/* Our environment, the kubeconfig's additions over it, and KUBERNETES_EXEC_INFO. `*ret_info` and the array
 * are the caller's, the other strings borrowed. */
static char **make_environment(const struct cluster_config *config, char **ret_info)
{
	char **added = config->exec->env, **env;
	size_t count = 0, n = 0;

	while (environ[count])
		count++;
	for (char **a = added; a && *a; a++)
		count++;
	env = xcalloc(count + 2, sizeof(*env));
	/* Of two equal names getenv takes the first. */
	for (char **a = added; a && *a; a++)
		env[n++] = *a;
	env[n++] = *ret_info = exec_info(config);
	for (char **e = environ; *e; e++)
		env[n++] = *e;
	return env;
}

/* A command with a slash that is not absolute belongs to the kubeconfig's directory. */
static char *command_path(const struct exec_config *e)
{
	if (*e->command == '/' || !strchr(e->command, '/'))
		return xstrdup(e->command);
	return xasprintf("%s/%s", e->directory, e->command);
}

static int spawn(uv_loop_t *loop, struct exec_plugin *p, const struct cluster_config *config)
{
	const struct exec_config *e = config->exec;
	char *info, **env = make_environment(config, &info), *file = command_path(e), **args;
	uv_stdio_container_t stdio[3] = {
		{.flags = isatty(STDIN_FILENO) ? UV_INHERIT_FD : UV_IGNORE, .data.fd = STDIN_FILENO},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->out},
		{.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
	};
	uv_process_options_t options = {
		.exit_cb = on_exit_status, .file = file, .env = env, .stdio_count = 3, .stdio = stdio};
	size_t count = 0;
	int rc;

	while (e->args && e->args[count])
		count++;
	args = xcalloc(count + 2, sizeof(*args));
	args[0] = file;
	if (count)
		memcpy(args + 1, e->args, count * sizeof(*args));
	options.args = args;
	rc = uv_spawn(loop, &p->process, &options);
	free(args);
	free(file);
	free(env);
	free(info);
	return rc;
}

struct exec_plugin *exec_plugin_run(uv_loop_t *loop, const struct cluster_config *config,
	void (*done)(void *context, struct exec_answer *answer, const struct err *err), void *context)
{
	struct exec_plugin *p = xcalloc(1, sizeof(*p));
	int rc;

	p->config = config->exec;
	p->done = done;
	p->context = context;
	buf_init(&p->text, LIMIT_CONFIG_BYTES);
	uv_timer_init(loop, &p->limit);
	uv_pipe_init(loop, &p->out, 0);
	rc = spawn(loop, p, config);
	p->process.data = p->out.data = p->limit.data = p;
	p->open_handles = 3;
	if (rc) {
		p->exit_status = rc;
		uv_timer_start(&p->limit, on_not_started, 0, 0);
		return p;
	}
	uv_timer_start(&p->limit, on_limit, MAX_RUN_MS, 0);
	uv_read_start((uv_stream_t *)&p->out, on_room, on_output);
	return p;
}

void exec_plugin_stop(struct exec_plugin *p)
{
	if (!p || p->stopped)
		return;
	p->stopped = true;
	if (!p->exited && p->process.pid > 0)
		uv_process_kill(&p->process, SIGKILL);
	close_all(p);
}
