/* credentials.c: see credentials.h. */
#include "recorder/credentials.h"

#include "recorder/exec_plugin.h"
#include "schema/base/base64.h"
#include "schema/base/limits.h"

#include <assert.h>
#include <stdlib.h>

/* Service account tokens are replaced long before they expire; a look every 10 s is soon enough. */
#define TOKEN_FILE_AGE_NS (10 * NS_PER_S)
/* A plugin's token is renewed that much before it expires, so that no request meets the edge. */
#define EXPIRY_LEEWAY_NS (10 * NS_PER_S)
/* What a plugin gave is used for this long even when it says, or the clocks make it, that it has expired: the
 * server will judge, and the plugin is not run for every request. */
#define MIN_ANSWER_AGE_NS (5 * NS_PER_S)

struct credentials {
	uv_loop_t *loop;
	const struct clock *clock;
	const struct cluster_config *config;
	char *header; /* the Authorization line */
	int64_t token_read_mono_ns;
	bool token_stale;

	struct exec_plugin *running;
	struct exec_answer answer;
	bool has_answer;
	int64_t answered_mono_ns;
	void (*done)(void *context, const struct err *err);
	void *done_context;
};

static bool has_fixed_token(const struct cluster_config *config)
{
	return config->token && !config->token_file;
}

static char *basic_header(const struct cluster_config *config)
{
	char *pair = xasprintf("%s:%s", config->username, config->password ? config->password : "");
	struct buf text;
	char *line;

	buf_init(&text, LIMIT_CONFIG_BYTES);
	if (base64_encode(slice_of(pair), &text, NULL))
		buf_clear(&text);
	line = xasprintf("Authorization: Basic %.*s", (int)text.len, text.ptr ? text.ptr : "");
	buf_release(&text);
	free(pair);
	return line;
}

struct credentials *credentials_new(
	uv_loop_t *loop, const struct clock *clock, const struct cluster_config *config)
{
	struct credentials *c = xcalloc(1, sizeof(*c));

	c->loop = loop;
	c->clock = clock;
	c->config = config;
	c->token_stale = config->token_file != NULL;
	if (has_fixed_token(config))
		c->header = xasprintf("Authorization: Bearer %s", config->token);
	else if (!config->token_file && !config->exec && config->username)
		c->header = basic_header(config);
	return c;
}

void credentials_free(struct credentials *c)
{
	if (!c)
		return;
	exec_plugin_stop(c->running);
	exec_answer_release(&c->answer);
	free(c->header);
	free(c);
}

static bool uses_plugin(const struct credentials *c)
{
	return c->config->exec && !c->config->token && !c->config->token_file;
}

bool credentials_ready(const struct credentials *c)
{
	if (!uses_plugin(c))
		return true;
	if (!c->has_answer)
		return false;
	if (clock_mono_ns(c->clock) - c->answered_mono_ns < MIN_ANSWER_AGE_NS)
		return true;
	return !c->answer.expires_ns || clock_wall_ns(c->clock) < c->answer.expires_ns - EXPIRY_LEEWAY_NS;
}

static void on_answer(void *context, struct exec_answer *answer, const struct err *err)
{
	struct credentials *c = context;
	void (*done)(void *, const struct err *) = c->done;

	c->running = NULL;
	if (!err->code) {
		exec_answer_release(&c->answer);
		c->answer = *answer;
		c->has_answer = true;
		c->answered_mono_ns = clock_mono_ns(c->clock);
		free(c->header);
		c->header = answer->token ? xasprintf("Authorization: Bearer %s", answer->token) : NULL;
	}
	c->done = NULL;
	done(c->done_context, err);
}

void credentials_prepare(
	struct credentials *c, void (*done)(void *context, const struct err *err), void *context)
{
	assert(!c->done);
	c->done = done;
	c->done_context = context;
	c->running = exec_plugin_run(c->loop, c->config, on_answer, c);
}

void credentials_refused(struct credentials *c, int64_t used_mono_ns)
{
	if (c->config->token_file && c->token_read_mono_ns <= used_mono_ns)
		c->token_stale = true;
	if (c->answered_mono_ns <= used_mono_ns)
		c->has_answer = false;
}

static struct slice trim(struct slice s)
{
	while (s.len && (unsigned char)s.ptr[s.len - 1] <= ' ')
		s.len--;
	while (s.len && (unsigned char)s.ptr[0] <= ' ') {
		s.ptr++;
		s.len--;
	}
	return s;
}

static int read_token(struct credentials *c, struct err *err)
{
	struct buf text;
	struct slice token;
	int rc;

	buf_init(&text, LIMIT_CONFIG_BYTES + 1);
	rc = read_config_file(c->config->token_file, &text, err);
	token = trim(buf_slice(&text));
	if (rc == 0 && (token.len == 0 || memchr(token.ptr, '\n', token.len)))
		rc = err_set(err, ERR_DENIED, "token file '%s' holds no token", c->config->token_file);
	if (rc == 0) {
		free(c->header);
		c->header = xasprintf("Authorization: Bearer %.*s", (int)token.len, token.ptr);
		c->token_stale = false;
		c->token_read_mono_ns = clock_mono_ns(c->clock);
	}
	buf_release(&text);
	return rc;
}

/* A line feed would begin another header. */
static bool is_printable(const char *line)
{
	while ((unsigned char)*line >= ' ' && *line != 127)
		line++;
	return *line == 0;
}

int credentials_header(struct credentials *c, const char **ret_line, struct err *err)
{
	bool old = clock_mono_ns(c->clock) - c->token_read_mono_ns > TOKEN_FILE_AGE_NS;
	int rc;

	/* A file that is being replaced may be away for a moment: the token we have is then still good. */
	if (c->config->token_file && (c->token_stale || old) && (rc = read_token(c, err)) && !c->header)
		return rc;
	if (c->header && !is_printable(c->header))
		return err_set(err, ERR_DENIED, "the token holds a character that no header may have");
	*ret_line = c->header;
	return 0;
}

struct slice credentials_certificate(const struct credentials *c)
{
	if (c->has_answer && c->answer.certificate.len)
		return buf_slice(&c->answer.certificate);
	return buf_slice(&c->config->cert_data);
}

struct slice credentials_key(const struct credentials *c)
{
	if (c->has_answer && c->answer.key.len)
		return buf_slice(&c->answer.key);
	return buf_slice(&c->config->key_data);
}
