/* aws_profile.c: see aws_profile.h. */
#include "recorder/push/aws_profile.h"

#include "schema/base/config_file.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdlib.h>

static const struct setting {
	const char *name;
	size_t offset;
} settings[] = {
	{"aws_access_key_id", offsetof(struct aws_profile, key_id)},
	{"aws_secret_access_key", offsetof(struct aws_profile, secret)},
	{"aws_session_token", offsetof(struct aws_profile, token)},
	{"region", offsetof(struct aws_profile, region)},
	{"endpoint_url", offsetof(struct aws_profile, endpoint)},
	{"services", offsetof(struct aws_profile, services)},
	{"role_arn", offsetof(struct aws_profile, role)},
	{"web_identity_token_file", offsetof(struct aws_profile, token_file)},
};

/* Ways to credentials that are not followed. */
static const char *const unsupported[] = {
	"source_profile", "credential_source", "credential_process", "sso_session", "sso_start_url"};

static struct slice trim(struct slice s)
{
	while (s.len && strchr(" \t\r", *s.ptr))
		s = (struct slice){s.ptr + 1, s.len - 1};
	while (s.len && strchr(" \t\r", s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/* "[profile NAME]", or "[NAME]" if `kind` is empty. */
static bool names_section(struct slice line, const char *kind, const char *name)
{
	struct slice inside = {line.ptr + 1, line.len - 1};
	struct slice section = trim(slice_cut(&inside, ']'));

	return slice_skip(&section, kind) && slice_is(trim(section), name);
}

/* "[profile NAME]" of the one file, "[NAME]" of the other; the default profile is [default] in both. */
static bool is_section_of(struct slice line, bool is_config, const char *name)
{
	return names_section(line, is_config && strcmp(name, "default") != 0 ? "profile " : "", name);
}

static void take_setting(struct slice line, struct aws_profile *p)
{
	struct slice rest = line, name = trim(slice_cut(&rest, '='));

	for (size_t i = 0; rest.ptr && i < COUNT_OF(settings); i++) {
		char **field = (char **)(void *)((char *)p + settings[i].offset);

		if (slice_is(name, settings[i].name) && !*field)
			*field = slice_dup(trim(rest));
	}
	for (size_t i = 0; rest.ptr && i < COUNT_OF(unsupported); i++) {
		if (slice_is(name, unsupported[i]))
			p->unsupported = unsupported[i];
	}
}

/* [services NAME]
 * s3 =
 *   endpoint_url = https://...
 * It counts before the endpoint of the profile. */
static void read_services(struct slice text, struct aws_profile *p)
{
	bool inside = false, of_s3 = false;

	while (text.len) {
		struct slice whole = slice_cut(&text, '\n'), line = trim(whole), rest = line;
		struct slice name = trim(slice_cut(&rest, '='));

		if (!line.len || strchr("#;", *line.ptr))
			continue;
		if (*line.ptr == '[')
			inside = names_section(line, "services ", p->services);
		else if (!strchr(" \t", *whole.ptr))
			of_s3 = inside && slice_is(name, "s3");
		else if (inside && of_s3 && slice_is(name, "endpoint_url") && rest.ptr) {
			free(p->endpoint);
			p->endpoint = slice_dup(trim(rest));
		}
	}
}

void aws_profile_read(struct slice text, bool is_config, struct aws_profile *ret)
{
	struct slice all = text;
	bool inside = false;

	while (text.len) {
		struct slice whole = slice_cut(&text, '\n'), line = trim(whole);

		if (line.len && *line.ptr == '[') {
			inside = is_section_of(line, is_config, ret->name);
			ret->found |= inside;
		} else if (inside && line.len && !strchr("#;", *line.ptr) && !strchr(" \t", *whole.ptr)) {
			take_setting(line, ret); /* what is indented belongs to a setting of several lines */
		}
	}
	if (is_config && ret->services)
		read_services(all, ret);
}

/* The path of a file: the value of the variable, else a file in the home directory; NULL without one. */
static char *file_path(const char *variable, const char *name)
{
	const char *path = getenv(variable), *home = getenv("HOME");

	if (path && *path)
		return xstrdup(path);
	return home && *home ? xasprintf("%s/.aws/%s", home, name) : NULL;
}

static int read_file(
	const char *variable, const char *name, bool is_config, struct aws_profile *p, struct err *err)
{
	char *path = file_path(variable, name);
	struct buf text;
	int rc;

	if (!path)
		return 0;
	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = read_config_file(path, &text, err);
	if (!rc)
		aws_profile_read(buf_slice(&text), is_config, p);
	buf_release(&text);
	free(path);
	return rc == ERR_NOT_FOUND ? 0 : rc;
}

int aws_profile_load(const char *name, struct aws_profile *ret, struct err *err)
{
	const char *chosen = name ? name : getenv("AWS_PROFILE");
	bool is_named = chosen && *chosen;
	int rc;

	*ret = (struct aws_profile){.name = xstrdup(is_named ? chosen : "default")};
	if ((rc = read_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", false, ret, err)) ||
		(rc = read_file("AWS_CONFIG_FILE", "config", true, ret, err)))
		return rc;
	if (is_named && !ret->found)
		return err_set(err, ERR_NOT_FOUND,
			"no profile '%s' in the files of credentials and configuration of the AWS tools",
			ret->name);
	return 0;
}

void aws_profile_release(struct aws_profile *p)
{
	for (size_t i = 0; i < COUNT_OF(settings); i++)
		free(*(char **)(void *)((char *)p + settings[i].offset));
	free(p->name);
	*p = (struct aws_profile){0};
}
