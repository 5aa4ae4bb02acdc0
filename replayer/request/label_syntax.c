/* label_syntax.c: see label_syntax.h. */
#include "replayer/request/label_syntax.h"

#include <stdio.h>

#define NAME_MAX_BYTES   63
#define PREFIX_MAX_BYTES 253

/* The regular expressions appear in messages only; is_name and is_subdomain do the work. */
#define NAME_RULE                                                                                            \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "          \
	"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " \
	"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE                                                                                           \
	"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " \
	"must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "   \
	"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define PREFIX_RULE                                                                                          \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "    \
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "         \
	"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name(struct slice s)
{
	if (s.len == 0 || !is_alphanumeric(s.ptr[0]) || !is_alphanumeric(s.ptr[s.len - 1]))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_alphanumeric(s.ptr[i]) && (!s.ptr[i] || !strchr("-_.", s.ptr[i])))
			return false;
	}
	return true;
}

static bool is_lower_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Labels of lower-case letters, digits and inner hyphens, joined by dots. */
static bool is_subdomain(struct slice s)
{
	bool at_edge = true;

	for (size_t i = 0; i < s.len; i++) {
		bool before_edge = i + 1 == s.len || s.ptr[i + 1] == '.';

		if (s.ptr[i] == '.') {
			if (at_edge)
				return false;
			at_edge = true;
			continue;
		}
		if (!is_lower_alphanumeric(s.ptr[i]) && (s.ptr[i] != '-' || at_edge || before_edge))
			return false;
		at_edge = false;
	}
	return !at_edge;
}

static void add_problem(char *to, size_t *len, const char *text)
{
	int n = snprintf(to + *len, LABEL_PROBLEM_MAX - *len, "%s%s", *len ? "; " : "", text);

	if (n > 0)
		*len += (size_t)n < LABEL_PROBLEM_MAX - *len ? (size_t)n : LABEL_PROBLEM_MAX - *len - 1;
}

static void check_prefix(struct slice prefix, char *to, size_t *len)
{
	if (prefix.len == 0) {
		add_problem(to, len, "prefix part must be non-empty");
		return;
	}
	if (prefix.len > PREFIX_MAX_BYTES)
		add_problem(to, len, "prefix part must be no more than 253 bytes");
	if (!is_subdomain(prefix))
		add_problem(to, len, "prefix part " PREFIX_RULE);
}

bool label_key_problem(struct slice key, char ret[LABEL_PROBLEM_MAX])
{
	const char *slash = memchr(key.ptr, '/', key.len);
	size_t prefix_len = slash ? (size_t)(slash - key.ptr) : 0;
	struct slice name = key;
	size_t len = 0;

	ret[0] = 0;
	if (slash) {
		check_prefix((struct slice){key.ptr, prefix_len}, ret, &len);
		name = (struct slice){slash + 1, key.len - prefix_len - 1};
	}
	if (memchr(name.ptr, '/', name.len)) {
		snprintf(ret, LABEL_PROBLEM_MAX, "a valid label key %s%s", NAME_RULE,
			" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
		return true;
	}
	if (name.len == 0)
		add_problem(ret, &len, "name part must be non-empty");
	else if (name.len > NAME_MAX_BYTES)
		add_problem(ret, &len, "name part must be no more than 63 bytes");
	if (!is_name(name))
		add_problem(ret, &len, "name part " NAME_RULE);
	return len > 0;
}

const char *label_value_problem(struct slice value)
{
	if (value.len == 0)
		return NULL;
	if (value.len > NAME_MAX_BYTES && !is_name(value))
		return "must be no more than 63 bytes; " VALUE_RULE;
	if (value.len > NAME_MAX_BYTES)
		return "must be no more than 63 bytes";
	return is_name(value) ? NULL : VALUE_RULE;
}
