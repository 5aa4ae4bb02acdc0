/* aws_keys.c: see aws_keys.h. */
#include "recorder/push/aws_keys.h"

#include "recorder/push/aws_profile.h"
#include "recorder/push/xml_text.h"
#include "schema/base/clock.h"
#include "schema/base/config_file.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"

#include <stdlib.h>

#define RENEW_BEFORE_NS  (300 * NS_PER_S)
#define METADATA_HOST    "http://169.254.169.254"
#define METADATA_LIMIT_S 2 /* where there is no such service, nobody answers */
#define METADATA_PATH    "/latest/meta-data/iam/security-credentials/"
#define CONTAINER_HOST   "http://169.254.170.2"

struct aws {
	struct web *web;
	struct aws_profile profile;
	bool is_chosen; /* the profile counts before the environment */
	struct aws_keys keys;
};

/* What a variable says, NULL when it is empty or not there. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static void keys_release(struct aws_keys *k)
{
	free(k->key_id);
	free(k->secret);
	free(k->token);
	*k = (struct aws_keys){0};
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

int aws_open(struct web *web, const char *profile, struct aws **ret, struct err *err)
{
	struct aws *a = xcalloc(1, sizeof(*a));
	int rc = aws_profile_load(profile, &a->profile, err);

	a->web = web;
	a->is_chosen = profile != NULL;
	if (rc) {
		aws_close(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void aws_close(struct aws *a)
{
	if (!a)
		return;
	aws_profile_release(&a->profile);
	keys_release(&a->keys);
	free(a);
}

const char *aws_region(const struct aws *a)
{
	const char *region = variable("AWS_REGION");

	region = region ? region : variable("AWS_DEFAULT_REGION");
	return region ? region : a->profile.region;
}

const char *aws_endpoint(const struct aws *a)
{
	const char *endpoint = variable("AWS_ENDPOINT_URL_S3");

	endpoint = endpoint ? endpoint : variable("AWS_ENDPOINT_URL");
	return endpoint ? endpoint : a->profile.endpoint;
}

static void swap_texts(char **a, char **b)
{
	char *was = *a;

	*a = *b;
	*b = was;
}

/* Tools write new keys into the file while we run. Region and endpoint stay: others have borrowed them. */
static void read_profile_again(struct aws *a)
{
	struct aws_profile now, *before = &a->profile;

	if (aws_profile_load(before->name, &now, NULL) == 0) {
		swap_texts(&before->key_id, &now.key_id);
		swap_texts(&before->secret, &now.secret);
		swap_texts(&before->token, &now.token);
	}
	aws_profile_release(&now);
}

/* ---- what is at hand: each returns 1 when it had keys, 0 when nothing speaks of that source ---- */

static int from_environment(struct aws *a, struct err *err)
{
	const char *key_id = variable("AWS_ACCESS_KEY_ID"), *secret = variable("AWS_SECRET_ACCESS_KEY");

	if (a->is_chosen || (!key_id && !secret))
		return 0;
	if (!key_id || !secret)
		return err_set(err, ERR_DENIED, "the environment has %s without %s",
			key_id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
			key_id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
	a->keys = (struct aws_keys){
		copy(key_id), copy(secret), copy(variable("AWS_SESSION_TOKEN")), 0, "the environment"};
	return 1;
}

static int from_profile(struct aws *a, struct err *err)
{
	const struct aws_profile *p = &a->profile;

	(void)err;
	if (!p->key_id || !p->secret)
		return 0;
	a->keys = (struct aws_keys){
		copy(p->key_id), copy(p->secret), copy(p->token), 0, "the shared credentials file"};
	return 1;
}

/* ---- what somebody gives: documents ---- */

static int note_expiry(struct aws_keys *k, const char *text, struct err *err)
{
	struct moment when;
	int rc = text ? moment_parse(slice_of(text), &when, err) : 0;

	if (text && !rc && when.form == MOMENT_ABSOLUTE)
		k->expires_ns = when.ns;
	return rc;
}

static char *json_text(struct slice json, const char *path)
{
	struct slice value;
	char *text = NULL;
	struct buf to;

	buf_init(&to, LIMIT_NAME_BYTES);
	if (json_get(json, path, &value, NULL) > 0 && value.len && *value.ptr == '"' &&
		!json_unescape(value, &to, NULL))
		text = slice_dup(buf_slice(&to));
	buf_release(&to);
	return text;
}

static int take_documented(struct aws *a, struct aws_keys *k, char *expiry, struct err *err)
{
	int rc = note_expiry(k, expiry, err);

	free(expiry);
	if (!rc && (!k->key_id || !k->secret))
		rc = err_set(err, ERR_PROTOCOL, "%s gave no keys", k->source);
	if (rc) {
		keys_release(k);
		return rc;
	}
	a->keys = *k;
	return 1;
}

/* ERR_NETWORK for what may be given later. */
static int code_of(int status)
{
	return status == 429 || status >= 500 ? ERR_NETWORK : ERR_DENIED;
}

/* As containers and instances are given them. */
static int take_json(struct aws *a, const struct web_answer *answer, const char *source, struct err *err)
{
	struct slice json = buf_slice(&answer->body);
	struct aws_keys k = {.source = source};

	if (answer->status != 200)
		return err_set(
			err, code_of(answer->status), "%s gave no keys: status %d", source, answer->status);
	k.key_id = json_text(json, "$.AccessKeyId");
	k.secret = json_text(json, "$.SecretAccessKey");
	k.token = json_text(json, "$.Token");
	return take_documented(a, &k, json_text(json, "$.Expiration"), err);
}

static int get(struct aws *a, struct web_request *r, struct web_answer *ret, struct err *err)
{
	r->max_bytes = LIMIT_CONFIG_BYTES;
	r->connect_limit_s = METADATA_LIMIT_S;
	return web_call(a->web, r, ret, err);
}

/* A token changes: it is read anew each time. */
static int read_token(const char *path, struct buf *to, struct err *err)
{
	int rc = read_config_file(path, to, err);

	while (!rc && to->len && strchr(" \r\n", to->ptr[to->len - 1]))
		to->len--;
	return rc;
}

/* ---- the service account of a pod, which is exchanged for keys ---- */

static int role_body(const char *role, const char *token_file, struct buf *body, struct err *err)
{
	const char *session = variable("AWS_ROLE_SESSION_NAME");
	struct buf token;
	char *text;
	int rc;

	buf_init(&token, LIMIT_CONFIG_BYTES);
	rc = read_token(token_file, &token, err);
	text = slice_dup(buf_slice(&token));
	buf_release(&token);
	if (!rc)
		rc = buf_printf(body, err, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=");
	if (!rc)
		rc = web_encode(role, false, body, err);
	if (!rc)
		rc = buf_printf(body, err, "&RoleSessionName=");
	if (!rc)
		rc = web_encode(session ? session : "kubetape", false, body, err);
	if (!rc)
		rc = buf_printf(body, err, "&WebIdentityToken=");
	if (!rc)
		rc = web_encode(text, false, body, err);
	free(text);
	return rc;
}

/* What the service for tokens says with status 400, and takes later. */
static bool is_passing(const char *code)
{
	static const char *const passing[] = {"Throttling", "ThrottlingException", "IDPCommunicationError"};

	for (size_t i = 0; code && i < COUNT_OF(passing); i++) {
		if (strcmp(code, passing[i]) == 0)
			return true;
	}
	return false;
}

static int take_role(struct aws *a, const struct web_answer *answer, struct err *err)
{
	struct slice xml = buf_slice(&answer->body);
	struct aws_keys k = {.source = "the web identity"};
	char *code;
	int rc;

	if (answer->status == 200) {
		k.key_id = xml_text(xml, "AccessKeyId");
		k.secret = xml_text(xml, "SecretAccessKey");
		k.token = xml_text(xml, "SessionToken");
		return take_documented(a, &k, xml_text(xml, "Expiration"), err);
	}
	code = xml_text(xml, "Code");
	rc = err_set(err, is_passing(code) ? ERR_NETWORK : code_of(answer->status),
		"the web identity was not taken for the role: %s (status %d)",
		code ? code : "no reason given", answer->status);
	free(code);
	return rc;
}

/* The regional service, unless a variable names another. */
static char *token_service_url(const struct aws *a)
{
	const char *named = variable("AWS_ENDPOINT_URL_STS"), *region = aws_region(a);

	if (named)
		return xasprintf("%s/", named);
	return region ? xasprintf("https://sts.%s.amazonaws.com/", region)
		      : xstrdup("https://sts.amazonaws.com/");
}

static int from_web_identity(struct aws *a, struct err *err)
{
	const char *file = variable("AWS_WEB_IDENTITY_TOKEN_FILE"), *role = variable("AWS_ROLE_ARN");
	struct web_request r = {.method = "POST",
		.max_bytes = LIMIT_CONFIG_BYTES,
		.headers = {"Content-Type: application/x-www-form-urlencoded"}};
	struct web_answer answer;
	struct buf body;
	char *url;
	int rc;

	file = file && !a->is_chosen ? file : a->profile.token_file;
	role = role && !a->is_chosen ? role : a->profile.role;
	if (!file || !role)
		return 0;
	url = token_service_url(a);
	r.url = url;
	buf_init(&body, 2 * LIMIT_CONFIG_BYTES);
	rc = role_body(role, file, &body, err);
	r.body.memory = buf_slice(&body);
	if (!rc && !(rc = web_call(a->web, &r, &answer, err))) {
		rc = take_role(a, &answer, err);
		web_answer_release(&answer);
	}
	buf_release(&body);
	free(url);
	return rc;
}

/* ---- containers ---- */

static int container_header(char **ret, struct err *err)
{
	const char *file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct buf text;
	int rc = 0;

	*ret = token ? xasprintf("Authorization: %s", token) : NULL;
	if (!file)
		return 0;
	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = read_token(file, &text, err);
	if (!rc) {
		free(*ret);
		*ret = xasprintf("Authorization: %.*s", (int)text.len, text.ptr);
	}
	buf_release(&text);
	return rc;
}

static int from_container(struct aws *a, struct err *err)
{
	const char *whole = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	struct web_answer answer;
	char *url, *header;
	int rc;

	if (!whole && !relative)
		return 0;
	url = whole ? xstrdup(whole) : xasprintf("%s%s", CONTAINER_HOST, relative);
	rc = container_header(&header, err);
	if (!rc && !(rc = get(a, &(struct web_request){.method = "GET", .url = url, .headers = {header}},
			     &answer, err))) {
		rc = take_json(a, &answer, "the container's credential service", err);
		web_answer_release(&answer);
	}
	free(header);
	free(url);
	return rc;
}

/* ---- instances: a token first, then the name of the role, then its keys ---- */

/* Appends what the service says. ERR_BUSY: the service cannot say it now. Other errors: there is no such service, or no such thing. */
static int ask_metadata(
	struct aws *a, const char *method, const char *path, const char *header, struct buf *to)
{
	const char *host = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	char *url = xasprintf("%s%s", host ? host : METADATA_HOST, path);
	struct web_request r = {.method = method, .url = url, .headers = {header}};
	struct web_answer answer;
	int rc = get(a, &r, &answer, NULL);

	free(url);
	if (rc)
		return rc;
	if (answer.status == 200)
		rc = buf_append(to, answer.body.ptr, answer.body.len, NULL);
	else
		rc = code_of(answer.status) == ERR_NETWORK ? ERR_BUSY : ERR_DENIED;
	web_answer_release(&answer);
	return rc;
}

/* Appends the keys' document. */
static int ask_for_keys(struct aws *a, struct buf *json)
{
	char *header = NULL, *path = NULL;
	struct buf token, role;
	int rc;

	buf_init(&token, LIMIT_NAME_BYTES);
	buf_init(&role, LIMIT_NAME_BYTES);
	rc = ask_metadata(
		a, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600", &token);
	if (!rc) {
		header = xasprintf("X-aws-ec2-metadata-token: %.*s", (int)token.len, token.ptr);
		rc = ask_metadata(a, "GET", METADATA_PATH, header, &role);
	}
	if (!rc) {
		struct slice rest = buf_slice(&role), name = slice_cut(&rest, '\n');

		path = xasprintf("%s%.*s", METADATA_PATH, (int)name.len, name.ptr);
		rc = ask_metadata(a, "GET", path, header, json);
	}
	free(header);
	free(path);
	buf_release(&token);
	buf_release(&role);
	return rc;
}

static int take_instance(struct aws *a, struct slice json, struct err *err)
{
	struct aws_keys k = {.key_id = json_text(json, "$.AccessKeyId"),
		.secret = json_text(json, "$.SecretAccessKey"),
		.token = json_text(json, "$.Token"),
		.source = "the instance's metadata"};

	return take_documented(a, &k, json_text(json, "$.Expiration"), err);
}

static int from_instance(struct aws *a, struct err *err)
{
	const char *off = variable("AWS_EC2_METADATA_DISABLED");
	struct buf json;
	int rc;

	if (off && strcmp(off, "true") == 0)
		return 0;
	buf_init(&json, LIMIT_CONFIG_BYTES);
	rc = ask_for_keys(a, &json);
	if (!rc)
		rc = take_instance(a, buf_slice(&json), err);
	else if (rc == ERR_BUSY)
		rc = err_set(err, ERR_NETWORK, "the instance's metadata service is busy");
	else
		rc = 0;
	buf_release(&json);
	return rc;
}

/* ---- all of them ---- */

static int refuse_way(struct aws *a, struct err *err)
{
	const struct aws_profile *p = &a->profile;

	if (!p->unsupported)
		return 0;
	return err_set(err, ERR_DENIED,
		"no credentials for the store: profile '%s' has '%s', which is not supported here; put the keys that the AWS "
		"tools get by it into the environment",
		p->name, p->unsupported);
}

/* Whose keys the machine itself has is not asked where a profile says how to get others. */
static int (*const sources[])(struct aws *a, struct err *err) = {
	from_environment, from_web_identity, from_profile, refuse_way, from_container, from_instance};

static int refuse_without_keys(const struct aws *a, struct err *err)
{
	return err_set(err, ERR_DENIED,
		"no credentials for the store: none in the environment (AWS_ACCESS_KEY_ID, "
		"AWS_WEB_IDENTITY_TOKEN_FILE), in profile '%s', or from the machine's metadata",
		a->profile.name);
}

static int look_for_keys(struct aws *a, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(sources) && !rc; i++)
		rc = sources[i](a, err);
	if (!rc)
		return refuse_without_keys(a, err);
	return rc < 0 ? rc : 0;
}

/* While a source of new keys fails, those before are good until they end. */
static int renew_keys(struct aws *a, struct err *err)
{
	struct aws_keys before = a->keys;
	int rc;

	a->keys = (struct aws_keys){0};
	rc = look_for_keys(a, err);
	if (rc && before.key_id && clock_wall_ns(&clock_system) < before.expires_ns) {
		a->keys = before;
		return 0;
	}
	keys_release(&before);
	return rc;
}

int aws_keys_get(struct aws *a, bool renew, const struct aws_keys **ret, struct err *err)
{
	const struct aws_keys *k = &a->keys;
	bool ends = k->expires_ns && clock_wall_ns(&clock_system) > k->expires_ns - RENEW_BEFORE_NS;
	int rc = 0;

	if (renew) {
		keys_release(&a->keys);
		read_profile_again(a);
	}
	if (!k->key_id || ends)
		rc = renew_keys(a, err);
	if (rc)
		return rc;
	*ret = k;
	return 0;
}
