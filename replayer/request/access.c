/* access.c: see access.h. */
#include "replayer/request/access.h"

#include "replayer/wire/peer.h"
#include "schema/base/count_of.h"
#include "schema/base/log.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TOKEN_BYTES     32
#define TOKEN_MAX_BYTES 4096
#define HOST_NAME_BYTES 256

enum access_mode {
	ACCESS_OURS,  /* without a token, our own processes */
	ACCESS_TOKEN, /* nobody without the token */
	ACCESS_ALL,   /* everybody */
};

struct access {
	const struct access_options *options;
	enum access_mode mode;
	char *token, *control_token, *key; /* key: of the tokens that are given out */
	char machine[HOST_NAME_BYTES];     /* its name; "" when it is not known */
	bool cannot_tell;                  /* the system does not say whose local processes are */
	bool told;                         /* the log says that somebody was refused */
};

/* ---- opening ---- */

static char *hex_of(const unsigned char *bytes, size_t count)
{
	char *text = xmalloc(2 * count + 1);

	for (size_t i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

static char *make_token(void)
{
	unsigned char random[TOKEN_BYTES];

	if (RAND_bytes(random, sizeof(random)) != 1)
		abort(); /* without chance there is no secret */
	return hex_of(random, sizeof(random));
}

/* A token that no header could carry, or that two readers could read differently, is none. */
static int check_token(const char *path, struct slice token, struct err *err)
{
	if (token.len == 0)
		return err_set(err, ERR_USAGE, "no token in '%s'", path);
	for (size_t i = 0; i < token.len; i++) {
		if (!isgraph((unsigned char)token.ptr[i]))
			return err_set(err, ERR_USAGE,
				"bad token in '%s': expected printable characters without blanks, found byte 0x%02x",
				path, (unsigned char)token.ptr[i]);
	}
	return 0;
}

static struct slice trim_end(struct slice text)
{
	while (text.len && isspace((unsigned char)text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static int read_token(const char *path, char **ret, struct err *err)
{
	char bytes[TOKEN_MAX_BYTES + 1];
	FILE *file = fopen(path, "re");
	struct slice token;
	int rc;

	if (!file)
		return err_set_errno(err, errno, "cannot read '%s'", path);
	token = (struct slice){bytes, fread(bytes, 1, sizeof(bytes), file)};
	rc = ferror(file) ? err_set_errno(err, errno, "cannot read '%s'", path) : 0;
	fclose(file);
	if (rc == 0 && token.len > TOKEN_MAX_BYTES)
		rc = err_set(
			err, ERR_USAGE, "the token in '%s' has more than %d bytes", path, TOKEN_MAX_BYTES);
	token = trim_end(token);
	if (rc == 0)
		rc = check_token(path, token, err);
	if (rc == 0)
		*ret = slice_dup(token);
	return rc;
}

static enum access_mode mode_of(const struct access_options *o)
{
	if (o->token_file)
		return ACCESS_TOKEN;
	return o->anonymous || !peer_is_loopback_address(o->host) ? ACCESS_ALL : ACCESS_OURS;
}

int access_open(const struct access_options *options, struct access **ret, struct err *err)
{
	struct access *a = xcalloc(1, sizeof(*a));
	int rc = options->token_file ? read_token(options->token_file, &a->token, err) : 0;

	if (rc) {
		free(a);
		return rc;
	}
	a->options = options;
	a->mode = mode_of(options);
	if (!a->token)
		a->token = make_token();
	a->control_token = make_token();
	a->key = make_token();
	if (gethostname(a->machine, sizeof(a->machine) - 1))
		a->machine[0] = '\0';
	a->cannot_tell = a->mode == ACCESS_OURS && !peer_can_be_found();
	*ret = a;
	return 0;
}

void access_free(struct access *a)
{
	if (!a)
		return;
	OPENSSL_cleanse(a->token, strlen(a->token));
	OPENSSL_cleanse(a->control_token, strlen(a->control_token));
	OPENSSL_cleanse(a->key, strlen(a->key));
	free(a->token);
	free(a->control_token);
	free(a->key);
	free(a);
}

void access_warn(const struct access *a)
{
	if (a->mode == ACCESS_ALL && !a->options->anonymous)
		log_warn(
			"everybody who reaches '%s' can read this tape and write to this replay: "
			"--token-file lets in only clients with a token, --anonymous says that all are welcome",
			a->options->host);
	else if (a->cannot_tell)
		log_warn(
			"everybody on this machine can read this tape and write to this replay, because the system "
			"does not tell whose connections are whose: --token-file lets in only clients with a token");
}

const char *access_token(const struct access *a)
{
	return a->token;
}

const char *access_control_token(const struct access *a)
{
	return a->control_token;
}

/* ---- tokens ---- */

/* In time that does not tell how much of it is right. */
static bool is_token(struct slice found, const char *token)
{
	return found.len == strlen(token) && CRYPTO_memcmp(found.ptr, token, found.len) == 0;
}

/* ID.PROOF, where nobody without the key can tell the proof. */
static char *token_of(const struct access *a, struct slice id)
{
	unsigned char proof[TOKEN_BYTES];
	unsigned len = 0;
	char *hex, *token;

	if (!HMAC(EVP_sha256(), a->key, (int)strlen(a->key), (const unsigned char *)id.ptr, id.len, proof,
		    &len))
		abort();
	hex = hex_of(proof, len);
	token = xasprintf("%.*s.%s", (int)id.len, id.ptr, hex);
	free(hex);
	return token;
}

char *access_make_token(const struct access *a, const char *id)
{
	return token_of(a, slice_of(id));
}

/* The replay's, or one that it has given out. */
static bool is_known_token(const struct access *a, struct slice found)
{
	const char *dot = found.len ? memrchr(found.ptr, '.', found.len) : NULL;
	char *given;
	bool is_given;

	if (is_token(found, a->token))
		return true;
	if (!dot || found.len > TOKEN_MAX_BYTES)
		return false;
	given = token_of(a, (struct slice){found.ptr, (size_t)(dot - found.ptr)});
	is_given = is_token(found, given);
	free(given);
	return is_given;
}

/* What stands after "Bearer " in the header; empty when nothing does, as an empty variable in a script
 * leaves it. */
static struct slice bearer_of(const struct http_request *r)
{
	static const char scheme[] = "bearer";
	struct slice value = http_header_find(r, "Authorization"), word = slice_cut(&value, ' ');

	if (!value.ptr || !slice_equal_nocase(word, slice_of(scheme)))
		return (struct slice){NULL, 0};
	return slice_trim(value);
}

/* ---- names ---- */

static bool ends_with(struct slice name, const char *end)
{
	size_t len = strlen(end);

	return name.len > len &&
	       slice_equal_nocase((struct slice){name.ptr + name.len - len, len}, slice_of(end));
}

/* A Host without its port, brackets and final dot. */
static struct slice host_name(struct slice host)
{
	const char *colon = host.len ? memrchr(host.ptr, ':', host.len) : NULL;
	const char *bracket = host.len ? memchr(host.ptr, ']', host.len) : NULL;

	if (bracket && host.ptr[0] == '[')
		return (struct slice){host.ptr + 1, (size_t)(bracket - host.ptr) - 1};
	if (colon)
		host.len = (size_t)(colon - host.ptr);
	if (host.len > 1 && host.ptr[host.len - 1] == '.')
		host.len--;
	return host;
}

static bool is_address(struct slice name)
{
	char text[INET6_ADDRSTRLEN], bytes[16];

	if (name.len >= sizeof(text))
		return false;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* Names that no site of the internet has, so that no page of one is led here under them. */
static bool is_private_name(struct slice name)
{
	static const char *const ends[] = {".localhost", ".internal", ".svc", ".cluster.local"};

	if (!memchr(name.ptr, '.', name.len))
		return true;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		if (ends_with(name, ends[i]))
			return true;
	}
	return false;
}

static bool is_our_name(const struct access *a, struct slice host)
{
	struct slice name = host_name(host);

	if (name.len == 0 || is_address(name) || is_private_name(name) ||
		slice_equal_nocase(name, slice_of(a->options->host)) ||
		slice_equal_nocase(name, slice_of(a->machine)))
		return true;
	for (size_t i = 0; i < a->options->name_count; i++) {
		if (slice_equal_nocase(name, slice_of(a->options->names[i])))
			return true;
	}
	return false;
}

static int check_host(const struct access *a, const struct http_request *r, struct status *st)
{
	for (size_t i = 0; i < r->header_count; i++) {
		struct slice host = r->headers[i].value;

		if (slice_equal_nocase(r->headers[i].name, slice_of("Host")) && !is_our_name(a, host))
			return status_set(st, 421, NULL,
				"this replay is not known as '%.*s': 'kubetape replay --host NAME' gives it a name",
				(int)(host.len < HOST_NAME_BYTES ? host.len : HOST_NAME_BYTES), host.ptr);
	}
	return 0;
}

/* ---- web pages ---- */

/* The origin of pages that come from this replay itself. */
static bool is_our_origin(const struct http_request *r, struct slice origin)
{
	const char *scheme = r->peer->is_secure ? "https://" : "http://";

	return slice_skip(&origin, scheme) && slice_equal_nocase(origin, http_header_find(r, "Host"));
}

static int check_page(const struct http_request *r, struct status *st)
{
	struct slice site = http_header_find(r, "Sec-Fetch-Site");
	bool foreign = slice_is(site, "cross-site") || slice_is(site, "same-site");

	for (size_t i = 0; i < r->header_count && !foreign; i++)
		foreign = slice_equal_nocase(r->headers[i].name, slice_of("Origin")) &&
			  !is_our_origin(r, r->headers[i].value);
	if (!foreign)
		return 0;
	return status_set(st, 403, "Forbidden", "forbidden: a page of another site asks, without the token");
}

/* ---- who asks ---- */

static int access_refuse(struct access *a, const struct http_request *r, struct status *st)
{
	struct peer *p = r->peer;

	if (!a->told && peer_find(p) == PEER_LOCAL)
		log_warn("a request of user %u was refused: it does not have the token of the kubeconfig",
			(unsigned)p->uid);
	else if (!a->told)
		log_warn("a request was refused: it does not have the right token");
	a->told = true;
	return status_set(st, 401, "Unauthorized", "Unauthorized");
}

static bool may_enter(struct access *a, const struct http_request *r)
{
	if (a->mode != ACCESS_OURS)
		return a->mode == ACCESS_ALL;
	if (bearer_of(r).len)
		return false;
	return peer_is_ours(r->peer) || (a->cannot_tell && peer_find(r->peer) == PEER_NOBODY);
}

static bool may_control(const struct access *a, const struct http_request *r, const struct query *q)
{
	return is_token(query_get(q, "token"), a->control_token) || is_token(bearer_of(r), a->control_token);
}

static int refuse_control(struct access *a, struct status *st)
{
	if (!a->told)
		log_warn("a control request was refused: it does not have the token of the control address");
	a->told = true;
	return status_set(st, 401, "Unauthorized",
		"Unauthorized: control takes the token of the control address that the replay prints");
}

int access_check(struct access *a, const struct http_request *r, const struct query *q, bool is_control,
	struct status *st)
{
	int rc;

	if (r->peer->beside) {
		if (!peer_is_ours(r->peer))
			return access_refuse(a, r, st);
		return is_control ? 0 : status_no_resource(st);
	}
	if (is_control ? may_control(a, r, q) : is_known_token(a, bearer_of(r)))
		return 0;
	rc = check_host(a, r, st);
	if (rc == 0)
		rc = check_page(r, st);
	if (rc == 0 && is_control)
		return refuse_control(a, st);
	if (rc == 0 && !may_enter(a, r))
		rc = access_refuse(a, r, st);
	return rc;
}
